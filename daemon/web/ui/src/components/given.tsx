import {useState} from 'preact/hooks';
import {useLast} from '../lib/last';
import type {Machine} from '../lib/types';
import texts from '../texts/preview.json';
import {CheckField} from './field';
import {Icon} from './icons';
import {Notice, problemText} from './notice';
import {SeedView} from './seedview';

/** The files that the guest of a machine was given at its last start, to be read only. */
export default function Given({machine}: {machine: Machine}) {
  const [reveal, setReveal] = useState(false);
  const {last, asked, error} = useLast(machine, reveal);
  return (
    <section class="preview" aria-label={texts.given.title}>
      <header class="preview__head">
        <h2>{texts.given.title}</h2>
        {last && <div class="preview__options"><CheckField label={texts.reveal} checked={reveal} onValue={setReveal} /></div>}
      </header>
      {!asked && <p class="muted" role="status">{texts.loading}</p>}
      {error !== undefined && <Notice kind="bad">{problemText(error)}</Notice>}
      {asked && !last && error === undefined && <div class="empty"><Icon name="file" /><h3>{texts.given.none}</h3><p class="empty__text">{texts.given.noneText}</p></div>}
      {last && <SeedView seed={last} />}
    </section>
  );
}
