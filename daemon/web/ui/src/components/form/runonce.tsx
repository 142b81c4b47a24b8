// The parts of Run Once that are about the run and not about the machine: what is attached to it, and whether first boot runs again.
import {useState} from 'preact/hooks';
import {discOf, isDisc, nameForImage, preparedOf, setDisc, setPrepared} from '../../lib/source';
import type {Image} from '../../lib/types';
import texts from '../../texts/compose.json';
import {CheckField, SelectField} from '../field';
import {Line, useForm} from './controls';

/** How the run begins and ends. */
export interface RunOptions { initialize: boolean; newGeneration: boolean; volatile: boolean; noSeed: boolean }

/** The part "This run". */
export function ThisRun({images, options, onOptions, dataSource}: {
  images: Image[]; options: RunOptions; onOptions: (options: RunOptions) => void;
  /** The data source of the machine's own definition. */
  dataSource: string;
}) {
  const {tree, change} = useForm();
  const disc = discOf(tree);
  const prepared = preparedOf(tree);
  return (
    <section class="part" aria-labelledby="part-run">
      <h2 id="part-run">{texts.run.title}</h2>
      <div class="form">
        <CheckField label={texts.run.attachCD} checked={disc !== undefined} onValue={(on) => change((t) => setDisc(t, on ? '' : undefined))} data-field="cd" />
        {disc === undefined ? <div class="form__gap" /> : <File field="spec.disks" label={texts.run.cd} pathLabel={texts.run.cdPath} images={images.filter(isDisc)} path={disc} onPath={(p) => change((t) => setDisc(t, p))} />}
        <CheckField label={texts.run.prepared} help={texts.run.preparedHelp} checked={prepared !== undefined} data-field="prepared"
          onValue={(on) => change((t) => setPrepared(t, on ? '' : undefined, dataSource))} />
        {prepared === undefined ? <div class="form__gap" /> : <File field="spec.media" label={texts.run.preparedPath} pathLabel={texts.run.preparedPath} help={texts.run.preparedPathHelp} images={images} path={prepared}
          onPath={(p) => change((t) => setPrepared(t, p))} />}
        {prepared === undefined && !options.noSeed && <>
          <CheckField label={texts.run.initialize} help={texts.run.initializeHelp} checked={options.initialize} onValue={(initialize) => onOptions({...options, initialize})} />
          <CheckField label={texts.run.again} help={texts.run.againHelp} checked={options.newGeneration} onValue={(newGeneration) => onOptions({...options, newGeneration})} />
        </>}
        <CheckField wide label={texts.run.volatile} help={texts.run.volatileHelp} checked={options.volatile} onValue={(volatile) => onOptions({...options, volatile})} />
      </div>
    </section>
  );
}

/** File picks an image of the repository, or a path on the daemon's host. */
function File({field, label, pathLabel, help, images, path, onPath}: {
  field: string; label: string; pathLabel: string; help?: string; images: Image[]; path: string; onPath: (path: string) => void;
}) {
  const paths = images.map(nameForImage);
  const [other, setOther] = useState(images.length === 0);
  const free = other || (path !== '' && !paths.includes(path));
  return (
    <div class="stack stack--tight">
      {images.length > 0 && <SelectField label={label} value={free ? 'other' : path} onValue={(v) => {
        setOther(v === 'other');
        onPath(v === 'other' ? '' : v);
      }}>
        <option value="" disabled>{texts.run.choose}</option>
        {images.map((i) => <option key={i.id} value={nameForImage(i)}>{i.name}</option>)}
        <option value="other">{texts.run.other}</option>
      </SelectField>}
      {free && <Line path={field} value={path} mono label={pathLabel} help={images.length === 0 ? help ?? texts.run.cdNone : help} placeholder="/srv/images/tools.iso" onText={onPath} />}
    </div>
  );
}
