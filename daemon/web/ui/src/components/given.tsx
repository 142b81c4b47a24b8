import {useState} from 'preact/hooks';
import {hasFiles, useGiven, useKept} from '../lib/last';
import type {Machine} from '../lib/types';
import texts from '../texts/preview.json';
import {CheckField} from './field';
import {Icon} from './icons';
import {Notice} from './notice';
import {problemText} from '../lib/problem';
import {SeedView} from './seedview';

/** The files that the guest of a machine was given at its last start, without their secrets when it has stopped; where they are not kept, those of its
 * next start. */
export default function Given({machine}: {machine: Machine}) {
  const [reveal, setReveal] = useState(false);
  const {seed, asked, error, maskedOnly} = useGiven(machine, reveal);
  const gone = asked && seed !== undefined && !hasFiles(seed);
  const next = useKept(gone ? machine : undefined, '', reveal);
  const shown = gone ? next.seed : seed;
  return (
    <section class="preview" aria-label={texts.given.title}>
      <header class="preview__head">
        <h2>{texts.given.title}</h2>
        {shown && (gone || !maskedOnly) && <div class="preview__options"><CheckField label={texts.reveal} checked={reveal} onValue={setReveal} /></div>}
      </header>
      {(!asked || gone && !next.asked) && <p class="muted" role="status">{texts.loading}</p>}
      {(error ?? next.error) !== undefined && <Notice kind="bad">{problemText(error ?? next.error)}</Notice>}
      {asked && !seed && error === undefined && <div class="empty"><Icon name="file" /><h3>{texts.given.none}</h3><p class="empty__text">{texts.given.noneText}</p></div>}
      {maskedOnly && !gone && <Notice>{texts.given.masked}</Notice>}
      {gone && <Notice>{texts.given.gone}</Notice>}
      {shown && <SeedView seed={shown} />}
    </section>
  );
}
