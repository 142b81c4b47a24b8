import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {added, edited, renamed, withRole} from '../lib/documents';
import {copy, download, readFiles} from '../lib/files';
import {isPlain, kindOf} from '../lib/language';
import {diagnosticsOf, documentOf, worst} from '../lib/places';
import {ask, toast} from '../lib/shout';
import type {placed} from '../lib/spans';
import {fill} from '../lib/texts';
import type {Diagnostic, Doc, Settings} from '../lib/types';
import {version} from '../lib/version';
import texts from '../texts/editor.json';
import {Button} from './button';
import {ConvertDialog, formName} from './convert';
import {Diagnostics, tally} from './diagnostics';
import Editor, {type Place} from './editor';
import {Field, SelectField} from './field';
import {Icon} from './icons';
import {Menu, type MenuItem} from './menu';
import {Tabs} from './tabs';

const words = texts.documents;

/** What the documents' editor needs of its page. */
export interface DocumentsProps {
  value: Doc[];
  /** What screen readers call them, where there are several of it. */
  label?: string;
  /** Called with all documents after each change by the user; without it they can only be read. */
  onChange?: ((documents: Doc[]) => void) | undefined;
  /** Called with all documents when converted ones take the place of others. */
  onReplace?: ((documents: Doc[], diagnostics: readonly Diagnostic[]) => void) | undefined;
  /** What the last rendering said; range.file is a document's name. */
  diagnostics?: readonly Diagnostic[] | undefined;
  /** They go along when documents are converted. */
  settings?: Settings | undefined;
  /** A remark to go to: its document is opened, and its place shown. */
  at?: Place | undefined;
}

/** Several named documents: edited, added by typing, pasting, dropping or picking files, removed, and converted to other forms. */
export default function Documents({value, label = words.label, onChange, onReplace, diagnostics: said = none, settings, at}: DocumentsProps) {
  const shown = value.length ? value : blank;
  const diagnostics = usePlaced(said, shown);
  const [open, setOpen] = useState(0);
  const [place, setPlace] = useState<Place>();
  const active = Math.min(open, shown.length - 1);
  const goTo = (d: Diagnostic) => {
    const index = documentOf(d, shown);
    if (index < 0) return;
    setOpen(index);
    setPlace((before) => ({diagnostic: d, turn: (before?.turn ?? 0) + 1}));
  };
  useEffect(() => {
    if (!at || granted.has(at)) return;
    granted.add(at);
    goTo(at.diagnostic);
  }, [at?.turn]);
  const latest = useRef({value, onChange}); // reading files takes its time, in which others are typed in
  latest.current = {value, onChange};
  const add = (more: Doc[]) => {
    if (!more.length) return;
    const next = added(latest.current.value, more);
    latest.current.onChange?.(next);
    setOpen(next.length - more.length);
  };
  const drop = useDrop(onChange && (async (files) => add(await taken(files))));
  const own = useMemo(() => diagnosticsOf(diagnostics, shown, active), [diagnostics, shown, active]);
  const doc = shown[active]!;
  const name = doc.name || fill(words.untitled, {n: active + 1});
  const tabs = shown.map((d, i) => ({id: String(i), label: <TabLabel name={d.name || fill(words.untitled, {n: i + 1})} diagnostics={diagnosticsOf(diagnostics, shown, i)} />}));
  return (
    <section class={`documents ${drop.over ? 'is-over' : ''}`} aria-label={label} {...drop.handlers}>
      <Actions {...{value: shown, settings, onChange, onReplace, active, setOpen, add}} />
      <Tabs label={words.label} tabs={tabs} active={String(active)} onChange={(id) => { setOpen(Number(id)); setPlace(undefined); }}>
        <About {...{documents: shown, active, onChange}} />
        <Editor key={active} value={doc.text} label={fill(words.editor, {name})} diagnostics={own} at={place} placeholder={onChange && words.placeholder}
          onChange={onChange && ((text) => onChange(edited(shown, active, text)))} />
        <div class="documents__remarks">
          {said !== none && <p class="muted small" role="status">{tally(own)}</p>}
          <Diagnostics diagnostics={own} onPlace={goTo} noFile />
        </div>
      </Tabs>
      {drop.over && <div class="documents__drop"><Icon name="download" />{words.drop}</div>}
    </section>
  );
}

/** The wishes that were granted: who comes back to the documents is not taken to the same place again. */
const granted = new WeakSet<Place>();

const none: Diagnostic[] = [];
const blank: Doc[] = [{text: ''}];

/** usePlaced finds places for remarks by their fields, as soon as the library that reads YAML is there. */
function usePlaced(diagnostics: readonly Diagnostic[], documents: readonly Doc[]): readonly Diagnostic[] {
  const [find, setFind] = useState<typeof placed>();
  useEffect(() => { import('../lib/spans').then((m) => setFind(() => m.placed), () => undefined); }, []);
  return useMemo(() => (find ? find(diagnostics, documents) : diagnostics), [find, diagnostics]);
}

function TabLabel({name, diagnostics}: {name: string; diagnostics: Diagnostic[]}) {
  const severity = worst(diagnostics);
  return <><span class="documents__name" title={name}>{name}</span>{severity && severity !== 'note' && <span class={`documents__mark documents__mark--${severity}`} title={tally(diagnostics)}><Icon name="alert" label={fill(words.errorsIn, {tally: tally(diagnostics)})} /></span>}</>;
}

/** What a document was recognised as, what it is called where that tells it from others, and for plain files what they are for. */
function About({documents, active, onChange}: {documents: Doc[]; active: number; onChange: DocumentsProps['onChange']}) {
  const doc = documents[active]!;
  const kind = kindOf(doc.text);
  const [name, setName] = useState(doc.name ?? '');
  useEffect(() => setName(doc.name ?? ''), [doc.name, active]);
  const plain = isPlain(kind);
  const word = words.kinds[kind];
  if (doc.text === '') return null;
  return (
    <div class="documents__about">
      {onChange && (plain || documents.length > 1) && (
        <Field label={words.name}>
          {(control) => <input {...control} type="text" class="input input--mono" spellcheck={false} autocomplete="off" value={name}
            onInput={(e) => setName(e.currentTarget.value)} onChange={() => onChange(renamed(documents, active, name))} />}
        </Field>
      )}
      {onChange && plain && (
        <SelectField label={words.role} value={doc.role ?? ''} onValue={(role) => onChange(withRole(documents, active, role))}>
          {Object.entries(words.roles).map(([role, label]) => <option key={role} value={role}>{label}</option>)}
        </SelectField>
      )}
      {word && <p class="documents__kind"><span class="tag">{word}</span></p>}
    </div>
  );
}

interface ActionsProps {
  value: Doc[];
  settings: Settings | undefined;
  onChange: DocumentsProps['onChange'];
  onReplace: DocumentsProps['onReplace'];
  active: number;
  setOpen: (index: number) => void;
  add: (more: Doc[]) => void;
}

/** The menus above the documents, and the dialog that converts them. */
function Actions({value, settings, onChange, onReplace, active, setOpen, add}: ActionsProps) {
  const picker = useRef<HTMLInputElement>(null);
  const [to, setTo] = useState<string>();
  const [forms, setForms] = useState<{targets: string[]; readable: string[]}>({targets: [], readable: []});
  useEffect(() => { version().then((v) => setForms({targets: v.targets, readable: [...v.forms, 'cloud-init', 'butane']}), () => undefined); }, []);
  const doc = value[active]!;
  const empty = value.every((d) => d.text.trim() === '');
  const addItems = (): MenuItem[] => [
    {label: words.files, icon: 'upload', onSelect: () => picker.current?.click()},
    {label: words.empty, icon: 'file', onSelect: () => { onChange?.([...value.filter((d) => d.text !== ''), {text: ''}]); setOpen(value.filter((d) => d.text !== '').length); }},
  ];
  const remove = async () => {
    const {go} = doc.text.trim() === '' ? {go: true} : await ask({...words.removeAsk, title: fill(words.removeAsk.title, {name: doc.name ?? ''}), danger: true});
    if (go) onChange?.(value.filter((_, i) => i !== active));
  };
  const more = (): MenuItem[] => [
    {label: words.copy, icon: 'copy', onSelect: () => void copy(doc.text)},
    {label: words.download, icon: 'download', onSelect: () => download(doc.name ?? 'document', doc.text)},
    ...(onChange ? ['line' as const, {label: words.remove, icon: 'trash' as const, danger: true, onSelect: () => void remove()}] : []),
  ];
  return (
    <div class="documents__actions">
      {onChange && <>
        <input ref={picker} type="file" multiple hidden onChange={async (e) => { const files = [...e.currentTarget.files ?? []]; e.currentTarget.value = ''; add(await taken(files)); }} />
        {empty ? <Button small icon="upload" onClick={() => picker.current?.click()}>{words.files}</Button> : <Menu small label={words.add} items={addItems} />}
      </>}
      {!empty && forms.targets.length > 0 && <Menu small label={words.convert} items={() => forms.targets.map((t) => ({label: formName(t), onSelect: () => setTo(t)}))} />}
      {!empty && <Menu small kind="ghost" icon="more" label={words.more} items={more} />}
      {to && <ConvertDialog documents={value.filter((d) => d.text.trim() !== '')} settings={settings} to={to} onClose={() => setTo(undefined)}
        onUse={onReplace && forms.readable.includes(to) ? (documents, diagnostics) => { setTo(undefined); setOpen(0); onReplace(added([], documents), diagnostics); } : undefined} />}
    </div>
  );
}

/** taken reads files, and says of those that are no documents why. */
export async function taken(files: Iterable<File>): Promise<Doc[]> {
  const out: Doc[] = [];
  for (const f of await readFiles(files)) {
    if ('text' in f) out.push({name: f.name, text: f.text});
    else toast({kind: 'bad', title: fill(words[f.refused], {name: f.name}), text: f.refused === 'large' ? words.largeHelp : words.binaryHelp});
  }
  return out;
}

/** useDrop takes files that are dropped or pasted anywhere on an element, before the editor in it sees them. */
function useDrop(take: ((files: File[]) => void) | undefined) {
  const [over, setOver] = useState(false);
  const files = (e: DragEvent) => Boolean(take && e.dataTransfer?.types.includes('Files'));
  const stop = (e: Event) => { e.preventDefault(); e.stopPropagation(); };
  return {over, handlers: {
    onDragEnterCapture: (e: DragEvent) => { if (files(e)) { stop(e); setOver(true); } },
    onDragOverCapture: (e: DragEvent) => { if (files(e)) { stop(e); setOver(true); } },
    onDragLeaveCapture: (e: DragEvent) => { if (!(e.currentTarget as Element).contains(e.relatedTarget as Node | null)) setOver(false); },
    onDropCapture: (e: DragEvent) => { setOver(false); if (files(e)) { stop(e); take?.([...e.dataTransfer!.files]); } },
    onPasteCapture: (e: ClipboardEvent) => { const got = [...e.clipboardData?.files ?? []]; if (take && got.length && !e.clipboardData?.types.includes('text/plain')) { stop(e); take(got); } },
  }};
}
