// The fold "Authentication" of Initial Run: the default user, its password and keys, and the keys of the SSH server.
import {agentOf, isHash, keysPath, mainPath, passwordOf, restorePassword, setPassword, setUserName} from '../../lib/initial';
import {counted} from '../../lib/counted';
import texts from '../../texts/compose.json';
import {CheckField, TextField} from '../field';
import {Check, Fold, Line, TextList, useForm, useTyped} from './controls';

/** What a machine's definition said of the default user's password before it was opened here. */
export interface Stored { password?: unknown; passwordHash?: unknown }

/** What the user has typed about the password that the definition does not hold. */
export interface PasswordWork {
  /** The second time. */
  verify: string;
  /** The password of the definition stays as it was. */
  keep: boolean;
}

/** What the fold needs beside the form. */
export interface AuthenticationProps {
  stored: Stored | undefined;
  work: PasswordWork;
  onWork: (work: PasswordWork) => void;
  open?: boolean;
}

/** The fold "Authentication". */
export function Authentication({stored, work, onWork, open}: AuthenticationProps) {
  const {tree, change} = useForm();
  const main = mainPath(tree);
  const cloudInit = agentOf(tree) === 'cloud-init';
  const keys = keysPath(tree);
  const count = tree.count(keys);
  const has = passwordOf(tree, main).kind;
  const hint = [tree.text(`${main}.name`), has !== 'none' && texts.auth.hint.password, counted(count, texts.auth.hint.keys)];
  return (
    <Fold title={texts.auth.title} name="authentication" open={open ?? true} hint={hint.filter(Boolean).join(', ')}>
      <div class="form">
        <Line path={`${main}.name`} label={texts.auth.user} help={texts.auth.userHelp} maxLength={32} onText={(name) => change((t) => setUserName(t, name))} />
        {!stored ? <div class="form__gap" /> : <CheckField label={texts.auth.stored} checked={work.keep} onValue={(keep) => {
          onWork({keep, verify: ''});
          change((t) => (keep ? restorePassword(t, stored) : restorePassword(t, {})));
        }} />}
        <PasswordFields stored={stored} work={work} onWork={onWork} />
        {cloudInit && (has !== 'none' || tree.get('spec.ssh.passwordAuth') !== undefined) && <Check path="spec.ssh.passwordAuth" label={texts.auth.passwordAuth} />}
        <TextList path={keys} by="lines" wide mono rows={3} label={texts.auth.keys} help={texts.auth.keysHelp} placeholder="ssh-ed25519 AAAA… you@example.org" />
        {cloudInit && <Check path="spec.ssh.deleteHostKeys" without label={texts.auth.regenerate} help={texts.auth.regenerateHelp} />}
      </div>
    </Fold>
  );
}

/** mismatch reports whether the two passwords differ. A hash is pasted and not typed, so it is not asked for twice. */
export function mismatch(text: string, work: PasswordWork, stored: Stored | undefined): boolean {
  return !(stored && work.keep) && !isHash(text) && text !== work.verify;
}

function PasswordFields({stored, work, onWork}: Omit<AuthenticationProps, 'open'>) {
  const {tree, change, error, touch} = useForm();
  const main = mainPath(tree);
  const {kind, text} = passwordOf(tree, main);
  const [typed, setTyped] = useTyped(text, (t) => t);
  const keep = Boolean(stored && work.keep);
  const hashed = isHash(text);
  const ignition = agentOf(tree) === 'ignition';
  const differs = mismatch(text, work, stored) ? error('verify') : undefined;
  if (kind === 'elsewhere' && !keep) return <p class="field__help form__wide">{texts.auth.elsewhere}</p>;
  return <>
    <TextField type="password" autocomplete="new-password" label={ignition ? texts.auth.hashed : texts.auth.password} help={ignition ? texts.auth.hashedHelp : texts.auth.passwordHelp}
      disabled={keep} value={keep ? '' : typed} data-field={`${main}.password`} error={error(`${main}.password`)}
      onValue={(t) => { setTyped(t); change((tree) => setPassword(tree, t)); }} onBlur={() => touch(`${main}.password`)} />
    <TextField type="password" autocomplete="new-password" label={texts.auth.verify} disabled={keep || hashed} value={keep || hashed ? '' : work.verify} data-field="verify"
      error={differs} onValue={(verify) => onWork({...work, verify})} onBlur={() => touch('verify')} />
  </>;
}
