// The fold "Authentication" of Initial Run: the default user, its password and keys, and the keys of the SSH server.
import {agentOf, isHash, keysPath, mainPath, passwordOf, restorePassword, setPassword, setUserName, type Password} from '../../lib/initial';
import {counted} from '../../lib/words';
import type {PasswordWork} from '../../lib/work';
import texts from '../../texts/compose.json';
import {CheckField, TextField} from '../field';
import {Check, Fold, Line, TextList, useForm} from './controls';

/** What the fold needs beside the form. */
export interface AuthenticationProps {
  work: PasswordWork;
  onWork: (work: PasswordWork) => void;
  open?: boolean;
}

/** isTyped reports whether the password of a definition is the one that was typed here. */
export const isTyped = ({kind, text}: Password, work: PasswordWork): boolean => kind !== 'elsewhere' && text === work.typed;

/** mismatch reports whether the two passwords differ. A hash is pasted and not typed, so it is not asked for twice. */
export const mismatch = (password: Password, work: PasswordWork): boolean => isTyped(password, work) && !isHash(work.typed) && work.typed !== work.verify;

/** The fold "Authentication". */
export function Authentication({work, onWork, open}: AuthenticationProps) {
  const {tree, change} = useForm();
  const main = mainPath(tree);
  const cloudInit = agentOf(tree) === 'cloud-init';
  const keys = keysPath(tree);
  const count = tree.count(keys);
  const password = passwordOf(tree, main);
  const has = password.kind;
  const came = !isTyped(password, work);
  const storable = came || work.stored !== undefined;
  const hint = [tree.text(`${main}.name`), has !== 'none' && texts.auth.hint.password, counted(count, texts.auth.hint.keys)];
  return (
    <Fold title={texts.auth.title} name="authentication" open={open ?? true} hint={hint.filter(Boolean).join(', ')}>
      <div class="form">
        <Line path={`${main}.name`} wide={!storable} label={texts.auth.user} help={texts.auth.userHelp} maxLength={32} onText={(name) => change((t) => setUserName(t, name))} />
        {storable && <CheckField label={texts.auth.stored} checked={came} onValue={(keep) => {
          if (keep && work.stored) change((t) => restorePassword(t, work.stored ?? {}));
          else if (!keep) {
            onWork({typed: '', verify: '', stored: {password: tree.get(`${main}.password`), passwordHash: tree.get(`${main}.passwordHash`)}});
            change((t) => restorePassword(t, {}));
          }
        }} />}
        <PasswordFields work={work} onWork={onWork} />
        {cloudInit && (has !== 'none' || tree.get('spec.ssh.passwordAuth') !== undefined) && <Check path="spec.ssh.passwordAuth" wide label={texts.auth.passwordAuth} />}
        <TextList path={keys} by="lines" wide mono rows={3} label={texts.auth.keys} help={texts.auth.keysHelp} placeholder="ssh-ed25519 AAAA… you@example.org" />
        {cloudInit && <Check path="spec.ssh.deleteHostKeys" without wide label={texts.auth.regenerate} help={texts.auth.regenerateHelp} />}
      </div>
    </Fold>
  );
}

function PasswordFields({work, onWork}: Omit<AuthenticationProps, 'open'>) {
  const {tree, change, error, touch} = useForm();
  const main = mainPath(tree);
  const password = passwordOf(tree, main);
  const keep = !isTyped(password, work);
  const hashed = isHash(work.typed);
  const ignition = agentOf(tree) === 'ignition';
  return <>
    <TextField type="password" autocomplete="new-password" label={ignition ? texts.auth.hashed : texts.auth.password} help={ignition ? texts.auth.hashedHelp : texts.auth.passwordHelp}
      disabled={keep} value={keep ? '' : work.typed} data-field={`${main}.password`} error={error(`${main}.password`)} onBlur={() => touch(`${main}.password`)}
      onValue={(typed) => {
        onWork({...work, typed});
        change((t) => setPassword(t, typed));
      }} />
    <TextField type="password" autocomplete="new-password" label={texts.auth.verify} disabled={keep || hashed} value={keep || hashed ? '' : work.verify} data-field="verify"
      error={mismatch(password, work) ? error('verify') : undefined} onValue={(verify) => onWork({...work, verify})} onBlur={() => touch('verify')} />
  </>;
}
