import {useState} from 'preact/hooks';
import {machinePath} from '../lib/linked';
import type {Machine} from '../lib/types';
import {useDocuments} from '../lib/usemachine';
import texts from '../texts/machine.json';
import {around} from './around';
import {Button, ButtonLink} from './button';
import Documents from './documents';
import {Icon} from './icons';
import {Notice} from './notice';

const words = texts.definition;

/** The documents that a machine is made of, to be read. They hold its secrets, so they are shown when somebody asks. */
export default function Definition({machine: m, changes}: {machine: Machine; /** Counts the changes of the machine. */ changes: number}) {
  const [asked, ask] = useState(false);
  const {value, error, retry} = useDocuments(m, asked, changes);
  if (!asked) {
    return (
      <div class="empty"><Icon name="key" /><h2>{words.of}</h2><p class="empty__text">{words.hidden}</p>
        <Button icon="show" onClick={() => ask(true)}>{words.show}</Button></div>
    );
  }
  return (
    <section class="stack">
      {m.runOnce && <Notice>{around(words.run, <a href="#files">{texts.tabs.files}</a>)}</Notice>}
      {error !== undefined && <Notice kind="bad" title={words.failed} actions={<Button small onClick={retry}>{texts.log.again}</Button>}>{error}</Notice>}
      <div class="row row--between"><p class="muted">{words.of}</p><ButtonLink icon="edit" href={machinePath(m.id, '/edit')}>{words.edit}</ButtonLink></div>
      {value && <Documents value={value} />}
    </section>
  );
}
