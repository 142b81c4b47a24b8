import {useRef, useState} from 'preact/hooks';
import {running} from '../lib/actions';
import {useRan} from '../lib/last';
import {linkedPlace, machinePath} from '../lib/linked';
import {problemText} from '../lib/problem';
import type {Machine, RunResult} from '../lib/types';
import {useDocuments} from '../lib/usemachine';
import texts from '../texts/machine.json';
import preview from '../texts/preview.json';
import {around} from './around';
import {Button, ButtonLink} from './button';
import Documents from './documents';
import type {Place} from './editor';
import {CheckField} from './field';
import {Icon} from './icons';
import {Notice} from './notice';

const words = texts.definition;

/** What the tab is of. */
interface DefinitionProps {
  machine: Machine;
  /** Counts the changes of the machine. */
  changes: number;
}

/** The documents that a machine is made of, to be read; and above them those that its run was started with, where they are others. */
export default function Definition(props: DefinitionProps) {
  const [reveal, setReveal] = useState(false);
  const {value, asked, error} = useRan(props.machine, reveal);
  const last = useRef(value); // stays while its secrets are asked for
  const ready = useRef(!props.machine.started);
  if (asked) [last.current, ready.current] = [value, true];
  if (!ready.current) return <p class="muted" role="status">{preview.loading}</p>;
  return (
    <div class="stack">
      {error !== undefined && <Notice kind="bad" title={words.ran.failed}>{problemText(error)}</Notice>}
      {last.current && <Ran machine={props.machine} ran={last.current} reveal={reveal} onReveal={setReveal} />}
      <Kept {...props} />
    </div>
  );
}

/** What the current or last run was started with, if that was given for it alone, or if the address names a line of it. */
function Ran({machine: m, ran, reveal, onReveal}: {machine: Machine; ran: RunResult; reveal: boolean; onReveal: (reveal: boolean) => void}) {
  const [at] = useState<Place | undefined>(() => {
    const diagnostic = linkedPlace(location.hash);
    return diagnostic && {diagnostic, turn: 1};
  });
  if (!ran.own && !at) return null;
  const title = words.ran.title[running(m.status) ? 'now' : 'over'];
  return (
    <div class="stack">
      <div class="row row--between">
        <div><h2>{title}</h2><p class="muted">{ran.own ? words.ran.own : words.ran.before} {ran.maskedOnly && words.ran.masked}</p></div>
        {!ran.maskedOnly && <CheckField label={preview.reveal} checked={reveal} onValue={onReveal} />}
      </div>
      {ran.documents.length > 0 ? <Documents label={title} value={ran.documents} at={at} /> : <p>{around(words.ran.large, <a href="#files">{texts.tabs.files}</a>)}</p>}
    </div>
  );
}

/** The machine's own definition. It holds its secrets, so it is shown when somebody asks. */
function Kept({machine: m, changes}: DefinitionProps) {
  const [asked, ask] = useState(false);
  const {value, error, retry} = useDocuments(m, asked, changes);
  if (!asked) {
    return (
      <div class="empty"><Icon name="key" /><h2>{words.of}</h2><p class="empty__text">{words.hidden}</p>
        <Button icon="show" onClick={() => ask(true)}>{words.show}</Button></div>
    );
  }
  return (
    <div class="stack">
      {error !== undefined && <Notice kind="bad" title={words.failed} actions={<Button small onClick={retry}>{texts.log.again}</Button>}>{error}</Notice>}
      <div class="row row--between"><div><h2>{words.of}</h2><p class="muted">{words.secrets}</p></div><ButtonLink icon="edit" href={machinePath(m.id, '/edit')}>{words.edit}</ButtonLink></div>
      {value && <Documents label={words.of} value={value} />}
    </div>
  );
}
