// What is attached to a machine beside its disks: a CD, and a seed that is made already.
import {useEffect, useRef, useState} from 'preact/hooks';
import {discOf, isDisc, nameForImage, preparedAt, preparedOf, setPrepared} from '../../lib/source';
import type {Image} from '../../lib/types';
import texts from '../../texts/compose.json';
import {CheckField, SelectField} from '../field';
import {Fold, Line, useForm} from './controls';

/** What is to be known for it. */
export interface AttachmentsProps {
  images: Image[];
  /** The data source of the machine's own definition, to which it returns without a prepared seed. */
  dataSource: string;
}

/** A CD and a prepared seed. */
export function Attachments({images, dataSource}: AttachmentsProps) {
  const {tree, change, disc, attach} = useForm();
  const named = images.filter(nameForImage);
  const before = useRef(dataSource === 'none' ? '' : dataSource);
  const prepare = (path: string | undefined) => {
    if (preparedOf(tree) === undefined) before.current = tree.text('spec.dataSource');
    change((t) => setPrepared(t, path, before.current));
  };
  return (
    <div class="form">
      <Attached field={`spec.disks[${disc}].source.path`} name="cd" label={texts.run.attachCD} choice={texts.run.cd} pathLabel={texts.run.cdPath} pathHelp={texts.run.cdNone}
        missing={texts.run.cdMissing} images={named.filter(isDisc)} path={discOf(tree, disc)} onPath={attach} />
      <Attached field={`spec.media[${preparedAt(tree)}].path`} name="prepared" label={texts.run.prepared} help={texts.run.preparedHelp} choice={texts.run.preparedSeed}
        pathLabel={texts.run.preparedPath} pathHelp={texts.run.preparedPathHelp} missing={texts.run.preparedMissing} images={named} path={preparedOf(tree)} onPath={prepare} />
    </div>
  );
}

/** The fold with both, for a machine's own definition. */
export function AttachmentsFold(props: AttachmentsProps) {
  const {tree, disc} = useForm();
  const some = [disc >= 0 && texts.run.cd, preparedOf(tree) !== undefined && texts.run.preparedSeed].filter(Boolean);
  const open = useRef(false); // and stays so when the last one is taken away, by a control in it
  open.current ||= some.length > 0;
  return <Fold title={texts.run.attachments} name="attached" open={open.current} hint={some.join(', ')}><Attachments {...props} /></Fold>;
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
  const [other, setOther] = useState(false);
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
        if (path !== undefined) onPath(undefined);
      }} />
      {active && images.length > 0 && <SelectField label={choice} value={free ? 'other' : path ?? ''} error={free ? undefined : error(name)} onValue={(v) => {
        setOther(v === 'other');
        setOn(true);
        if (v !== 'other' || path !== undefined) onPath(v === 'other' ? undefined : v);
      }}>
        <option value="" disabled>{texts.run.choose}</option>
        {images.map((i) => <option key={i.id} value={nameForImage(i)}>{i.name}</option>)}
        <option value="other">{texts.run.other}</option>
      </SelectField>}
      {active && free && <Line path={lacking ? name : field} value={path ?? ''} mono label={pathLabel} help={pathHelp} placeholder="/srv/images/tools.iso" onText={(t) => { setOn(true); onPath(t || undefined); }} />}
    </div>
  );
}
