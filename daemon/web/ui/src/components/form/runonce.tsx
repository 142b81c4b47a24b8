// The parts of Run Once that are about the run and not about the machine: what is attached to it, and whether first boot runs again.
import type {ComponentChildren} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import {discOf, isDisc, nameForImage, preparedOf, setDisc, setPrepared} from '../../lib/source';
import type {Image} from '../../lib/types';
import type {RunOptions} from '../../lib/work';
import texts from '../../texts/compose.json';
import {CheckField, SelectField} from '../field';
import {Line, useForm} from './controls';

/** The part "This run": what is attached to it. */
export function ThisRun({images, dataSource}: {
  images: Image[];
  /** The data source of the machine's own definition. */
  dataSource: string;
}) {
  const {tree, change} = useForm();
  const named = images.filter(nameForImage);
  return (
    <section class="part" aria-labelledby="part-run">
      <h2 id="part-run">{texts.run.title}</h2>
      <div class="form">
        <Attached field="spec.disks" name="cd" label={texts.run.attachCD} choice={texts.run.cd} pathLabel={texts.run.cdPath} pathHelp={texts.run.cdNone} missing={texts.run.cdMissing}
          images={named.filter(isDisc)} path={discOf(tree)} onPath={(p) => change((t) => setDisc(t, p))} />
        <Attached field="spec.media" name="prepared" label={texts.run.prepared} help={texts.run.preparedHelp} choice={texts.run.preparedPath} pathLabel={texts.run.preparedPath} pathHelp={texts.run.preparedPathHelp}
          missing={texts.run.preparedMissing} images={named} path={preparedOf(tree)} onPath={(p) => change((t) => setPrepared(t, p, dataSource))} />
      </div>
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

/** What can be attached, and how it is picked. */
interface AttachedProps {
  /** Where it stands in the definition, and what the control is called beside that. */
  field: string; name: string;
  label: string; help?: string; choice: string; pathLabel: string; pathHelp: string; missing: string;
  images: Image[];
  path: string | undefined;
  onPath: (path: string | undefined) => void;
}

/** Attached switches something attached on, and picks it: an image of the repository, or a path on the daemon's host. The definition has it when it is picked. */
function Attached({field, name, label, help, choice, pathLabel, pathHelp, missing, images, path, onPath}: AttachedProps) {
  const {hold, error} = useForm();
  const [on, setOn] = useState(path !== undefined);
  const [other, setOther] = useState(images.length === 0);
  const active = on || path !== undefined;
  const lacking = active && !path;
  useEffect(() => {
    hold(name, lacking ? missing : undefined);
    return () => hold(name, undefined);
  }, [lacking]);
  const free = other || images.length === 0 || (path !== undefined && !images.some((i) => nameForImage(i) === path));
  return (
    <div class="stack stack--tight" data-field={name}>
      <CheckField label={label} help={active ? help : undefined} checked={active} onValue={(yes) => {
        setOn(yes);
        onPath(undefined);
      }} />
      {active && images.length > 0 && <SelectField label={choice} value={free ? 'other' : path ?? ''} error={free ? undefined : error(name)} onValue={(v) => {
        setOther(v === 'other');
        onPath(v === 'other' ? undefined : v);
      }}>
        <option value="" disabled>{texts.run.choose}</option>
        {images.map((i) => <option key={i.id} value={nameForImage(i)}>{i.name}</option>)}
        <option value="other">{texts.run.other}</option>
      </SelectField>}
      {active && free && <Line path={lacking ? name : field} value={path ?? ''} mono label={pathLabel} help={pathHelp} placeholder="/srv/images/tools.iso" onText={(t) => onPath(t || undefined)} />}
    </div>
  );
}
