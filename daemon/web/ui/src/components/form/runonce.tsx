// The parts of Run Once that are about the run and not about the machine: what is attached to it, and whether first boot runs again.
import type {ComponentChildren} from 'preact';
import type {RunOptions} from '../../lib/work';
import texts from '../../texts/compose.json';
import {CheckField} from '../field';
import {Attachments, type AttachmentsProps} from './attached';

/** The part "This run": what is attached to it. */
export function ThisRun(props: AttachmentsProps) {
  return (
    <section class="part" aria-labelledby="part-run">
      <h2 id="part-run">{texts.run.title}</h2>
      <Attachments {...props} />
    </section>
  );
}

/** What the part needs. */
export interface RunOptionsProps {
  options: RunOptions;
  onOptions: (options: RunOptions) => void;
  /** The guest is given something to read that the daemon makes. */
  reads: boolean;
  children?: ComponentChildren;
}

/** The part "How it runs": whether first boot runs again, and how long the run lasts. */
export function RunOptionsPart({options, onOptions, reads, children}: RunOptionsProps) {
  const option = (name: keyof RunOptions, label: string, help: string) => <CheckField wide label={label} help={help} checked={options[name]} onValue={(on) => onOptions({...options, [name]: on})} />;
  return (
    <section class="part" aria-labelledby="part-how">
      <h2 id="part-how">{texts.run.how}</h2>
      <div class="form">
        {reads && option('initialize', texts.run.initialize, texts.run.initializeHelp)}
        {reads && option('newGeneration', texts.run.again, texts.run.againHelp)}
        {option('volatile', texts.run.volatile, texts.run.volatileHelp)}
        {children}
      </div>
    </section>
  );
}
