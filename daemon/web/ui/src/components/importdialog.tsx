import {useEffect, useId, useRef, useState} from 'preact/hooks';
import {post} from '../lib/api';
import {problemText} from '../lib/problem';
import {toast} from '../lib/shout';
import {nameTrouble, suggestName} from '../lib/storage';
import {fill} from '../lib/texts';
import type {Image, StorageDomain} from '../lib/types';
import components from '../texts/components.json';
import texts from '../texts/images.json';
import {Button} from './button';
import {Dialog} from './dialog';
import {SelectField, TextField} from './field';
import {Notice} from './notice';

/** What an import needs to know. */
export interface ImportProps {
  image: Image;
  domains: StorageDomain[];
  /** The names that templates have. */
  taken: string[];
  onClose: () => void;
  /** Called with the job of the import when it has begun. */
  onBegun: (job: string) => void;
}

/** Asks what an image becomes, and has it made. */
export function ImportDialog({image, domains, taken, onClose, onBegun}: ImportProps) {
  const targets = domains.filter((d) => d.type === 'data');
  const [disk, setDisk] = useState(false);
  const [name, setName] = useState(() => suggestName(image));
  const [target, setTarget] = useState(targets[0]?.id ?? '');
  const [busy, setBusy] = useState(false);
  const [asked, setAsked] = useState(false);
  const [problem, setProblem] = useState('');
  const open = useRef(true);
  useEffect(() => () => { open.current = false; }, []);
  const trouble = nameTrouble(name, disk ? [] : taken);
  const submit = async (e: Event) => {
    e.preventDefault();
    setAsked(true);
    if (trouble || busy) return;
    setBusy(true);
    try {
      const {job} = await post<{job: string}>('/imports', {image: image.id, disk, name: name.trim(), ...(target && {target})});
      onBegun(job);
      if (open.current) onClose();
    } catch (error) {
      // Who has closed the dialog meanwhile is told elsewhere.
      if (!open.current) toast({kind: 'bad', title: fill(texts.undone, {what: name.trim()}), text: problemText(error)});
      setProblem(problemText(error));
      setBusy(false);
    }
  };
  const actions = <>
    <Button onClick={onClose}>{components.cancel}</Button>
    <Button kind="primary" type="submit" form="import" busy={busy}>{texts.importDo}</Button>
  </>;
  return (
    <Dialog title={fill(texts.importTitle, {name: image.name})} onClose={onClose} actions={actions} keep>
      <form id="import" class="stack" onSubmit={(e) => void submit(e)} noValidate>
        {problem && <Notice kind="bad">{problem}</Notice>}
        <fieldset class="stack stack--tight">
          <legend class="field__label">{texts.importAs}</legend>
          <Choice label={texts.asTemplate} help={texts.asTemplateHelp} checked={!disk} onChoose={() => setDisk(false)} />
          <Choice label={texts.asDisk} help={texts.asDiskHelp} checked={disk} onChoose={() => setDisk(true)} />
        </fieldset>
        <TextField label={texts.importName} value={name} onValue={setName} error={trouble && (asked || trouble === 'nameTaken') ? texts[trouble] : undefined} autofocus />
        {targets.length > 1 && <SelectField label={texts.domain} value={target} onValue={setTarget}>{targets.map((d) => <option key={d.id} value={d.id}>{d.name}</option>)}</SelectField>}
      </form>
    </Dialog>
  );
}

function Choice({label, help, checked, onChoose}: {label: string; help: string; checked: boolean; onChoose: () => void}) {
  const id = useId();
  return (
    <div class="check">
      <input type="radio" name="as" id={id} aria-describedby={`${id}-help`} checked={checked} onChange={onChoose} />
      <div class="check__text"><label for={id}>{label}</label><div class="field__help" id={`${id}-help`}>{help}</div></div>
    </div>
  );
}
