// New, Edit and Run Once: a definition as a form and as documents, and beside it what the guest will read.
import {useCallback, useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {around} from '../components/around';
import {Button, buttonClass} from '../components/button';
import {sorted, tally} from '../components/diagnostics';
import Documents, {taken} from '../components/documents';
import type {Place} from '../components/editor';
import {DefinitionForm, mismatched} from '../components/form/definition';
import {FormerWork} from '../components/former';
import {Notice} from '../components/notice';
import {problemText} from '../lib/problem';
import Preview from '../components/preview';
import {Tabs} from '../components/tabs';
import {RelativeTime} from '../components/time';
import {act, why} from '../lib/actions';
import {get} from '../lib/api';
import {added} from '../lib/documents';
import {counted} from '../lib/words';
import {forPreview, fresh, open} from '../lib/definition';
import {giveUp, useIncoming, usePlaces, useUntilDown} from '../lib/composing';
import {machinePath} from '../lib/linked';
import {useMedia} from '../lib/media';
import {capital, fieldOf} from '../lib/remarks';
import {preparedOf} from '../lib/source';
import {useEnded} from '../lib/session';
import {documentsOf, firstSettings, lacksName, useSubmit} from '../lib/submit';
import {fill} from '../lib/texts';
import type {Diagnostic, Doc, Image, Machine, RenderResult} from '../lib/types';
import {begin, replaced, useWork, type ComposeData, type Work, type Working} from '../lib/work';
import actions from '../texts/actions.json';
import texts from '../texts/compose.json';

/** The page: the definition is loaded first where there is one. */
export default function Page({data}: {data: ComposeData}) {
  const [documents, setDocuments] = useState<Doc[] | undefined>(data.mode === 'new' ? [fresh()] : undefined);
  const [problem, setProblem] = useState<string>();
  const load = () => {
    setProblem(undefined);
    documentsOf(data.machine?.id ?? '').then(setDocuments, (e: unknown) => setProblem(problemText(e)));
  };
  useEffect(() => {
    if (data.mode !== 'new') load();
  }, []);
  if (documents) return <Composer data={data} documents={documents} />;
  return <>
    <Head data={data} />
    {problem ? <Notice kind="bad" title={texts.errors.loadFailed} actions={<Button onClick={load}>{texts.actions.retry}</Button>}>{problem}</Notice> : <p class="muted">{texts.loading}</p>}
  </>;
}

function Head({data}: {data: ComposeData}) {
  return (
    <div class="page__head">
      <div><h1>{fill(texts.title[data.mode], {name: data.machine?.name ?? ''})}</h1><p class="muted">{texts.lead[data.mode]}</p></div>
    </div>
  );
}

/** Where the preview has room beside the form, as in compose.css. */
const room = '(min-width: 1100px)';

const none: readonly Diagnostic[] = [];

type View = 'form' | 'documents' | 'preview';

function Composer({data: written, documents}: {data: ComposeData; documents: Doc[]}) {
  const [data, setData] = useState(written);
  const initial = useMemo(() => begin(documents, firstSettings(data)), []);
  const working = useWork(data.mode + (data.machine ? ':' + data.machine.id : ''), data.draftKey, initial, data.machine?.revision);
  const [view, setView] = useState<View>('form');
  const [images, setImages] = useState<Image[]>([]);
  useEffect(() => {
    get<{items: Image[]}>('/images').then((r) => setImages(r.items), () => undefined);
  }, []);
  const ended = useEnded(working?.dirty ?? false);
  if (!working) return <Head data={data} />;
  return <>
    <Head data={data} />
    {working.restored && working.dirty && <Notice kind="info" end={<Button small onClick={working.discard}>{texts.actions.discard}</Button>}>
      {around(texts.draft.restored, <RelativeTime time={working.restored.toISOString()} />)} {working.outdated && texts.draft.outdated}
    </Notice>}
    {ended && <Notice kind="bad" title={texts.draft.ended}>{around(texts.draft.endedText, <a href="/login" target="_blank" rel="noopener">{texts.draft.login}</a>)}</Notice>}
    {working.volatile && <Notice kind="warn">{texts.draft.none}</Notice>}
    {working.former?.why !== 'run' && <FormerWork working={working} />}
    <Desk key={working.turn} {...{data, documents, images, working, view, setView}} onMachine={(machine) => setData((d) => ({...d, machine}))} />
  </>;
}

interface DeskProps {
  data: ComposeData;
  documents: Doc[];
  images: Image[];
  working: Working;
  view: View;
  setView: (view: View) => void;
  onMachine: (machine: Machine) => void;
}

/** Desk is what is worked at: the form, the documents, and the preview beside them where there is room. */
function Desk({data, documents, images, working, view: chosen, setView, onMachine}: DeskProps) {
  const {work, put, replace} = working;
  const wide = useMedia(room);
  const view = wide && chosen === 'preview' ? 'form' : chosen;
  const [rendered, setRendered] = useState<readonly Diagnostic[]>([]);
  const [place, setPlace] = useState<Place>();
  const [held, setHeld] = useState<Map<string, string>>(new Map());
  const opening = useMemo(() => open(work.documents), [work.documents]);
  const shown = useMemo(() => forPreview(work.documents, opening), [work.documents, opening]);
  const own = useMemo(() => { const o = open(documents); return o.ok ? o.opened.tree.text('spec.dataSource') : ''; }, []);
  const onResult = useCallback((r: RenderResult) => setRendered(r.diagnostics), []);
  const toPlace = useCallback((diagnostic: Diagnostic) => {
    setView('documents');
    setPlace((p) => ({diagnostic, turn: (p?.turn ?? 0) + 1}));
  }, []);
  const withDocuments = (w: Work, d: Doc[]): Work => (data.mode === 'new' ? replaced(w, d) : {...w, documents: d});
  const more = (d: Doc[]) => {
    if (d.length === 0) return;
    put((w) => withDocuments(w, added(w.documents, d)));
    setView('documents');
  };
  const over = useIncoming((files) => void taken(files).then(more), (text) => more([{text}]));
  const root = useRef<HTMLDivElement>(null);
  const goTo = usePlaces(root, setView, toPlace);
  const toRemarks = (first: Diagnostic) => {
    if (work.documents.length > 1) toPlace(first);
    setTimeout(() => showRemarks(root.current)); // of the document that is shown by then
  };
  const noSeed = data.mode === 'run' && work.run.noSeed && !(opening.ok && preparedOf(opening.opened.tree) !== undefined);
  const submit = useSubmit({data, working, opening, rendered: noSeed ? none : rendered, held, mismatch: mismatched(opening, work), onMachine});
  const preview = noSeed ? <section class="preview"><h2>{texts.previewTitle}</h2><p class="muted">{texts.previewNone}</p></section>
    : <Preview documents={shown} settings={work.settings} machine={data.machine} generation={data.mode === 'run' && work.run.newGeneration ? 1 : undefined}
      initialize={data.mode === 'run' && work.run.initialize} quiet={view === 'documents'} onResult={onResult} onPlace={toPlace} />;
  const tabs = [{id: 'form', label: texts.tabs.form}, {id: 'documents', label: texts.tabs.documents}, ...(wide ? [] : [{id: 'preview', label: texts.tabs.preview}])];
  return <>
    <div class={over ? 'desk is-over' : 'desk'} ref={root}>
      <div class="desk__work">
        <Tabs label={texts.tabs.label} tabs={tabs} active={view} onChange={(id) => setView(id as View)}>
          <form id={formName} hidden={view !== 'form'} noValidate onKeyDown={keepEnter} onSubmit={(e) => { e.preventDefault(); void submit.go(primary(data)); }}>
            <DefinitionForm data={data} images={images} opening={opening} working={working} diagnostics={submit.diagnostics} attempted={submit.attempted} dataSource={own}
              held={held} onHold={(path, why) => setHeld((h) => heldAfter(h, path, why))} onDocuments={() => setView('documents')} />
          </form>
          {view === 'documents' && <Strip lacksName={lacksName({data, opening, working})} diagnostics={submit.diagnostics} onName={() => goTo({field: 'metadata.name'})} onRemarks={toRemarks} />}
          {view === 'documents' && <Documents value={work.documents} diagnostics={submit.diagnostics} settings={work.settings} at={place} onChange={(d) => put((w) => withDocuments(w, d))}
            onReplace={(d, said) => replace('used', (w) => withDocuments(w, d), said)} />}
          {!wide && <div hidden={view !== 'preview'}>{preview}</div>}
        </Tabs>
      </div>
      {wide && <aside class="desk__preview">{preview}</aside>}
    </div>
    <Foot data={data} submit={submit} onGo={goTo} onLeave={(to) => void giveUp(working, to)} />
  </>;
}

/** The form that Enter in a field submits, with the primary button of the foot. */
const formName = 'definition';

const primary = (data: ComposeData) => (data.mode === 'new' ? 'start' : 'plain');

/** keepEnter keeps Enter on a check box from submitting: it is no line that ends there. */
function keepEnter(e: KeyboardEvent): void {
  if (e.key === 'Enter' && e.target instanceof HTMLInputElement && e.target.type === 'checkbox') e.preventDefault();
}

function heldAfter(held: Map<string, string>, path: string, why: string | undefined): Map<string, string> {
  if (held.get(path) === why) return held;
  const next = new Map(held);
  if (why) next.set(path, why);
  else next.delete(path);
  return next;
}

function showRemarks(desk: HTMLElement | null): void {
  const remarks = desk?.querySelector<HTMLElement>('.documents__remarks');
  remarks?.scrollIntoView({block: 'center'});
  remarks?.querySelector<HTMLElement>('a, button')?.focus({preventScroll: true});
}

/** Strip is the line over the documents: what of the form is still to be filled in, and how much there is to remark below the editor. */
function Strip({lacksName: lacks, diagnostics, onName, onRemarks}: {lacksName: boolean; diagnostics: readonly Diagnostic[]; onName: () => void; onRemarks: (first: Diagnostic) => void}) {
  const first = sorted(diagnostics)[0];
  return (
    <p class="strip">
      {lacks && <span>{around(texts.strip.name, <button type="button" class="link" onClick={onName}>{texts.strip.give}</button>)}</span>}
      {first ? <button type="button" class="link" title={texts.strip.remarks} onClick={() => onRemarks(first)}>{tally(diagnostics)}</button> : <span class="muted">{tally(diagnostics)}</span>}
    </p>
  );
}

/** Running says that a machine has to be shut down before it can be started with other data. */
function Running({machine}: {machine: Machine}) {
  const now = useUntilDown(machine);
  if (!now || now.status === 'down') return null;
  const down = !why('shutdown', now) && <Button small onClick={() => void act('shutdown', [now])}>{actions.shutdown}</Button>;
  return <Notice kind="warn" end={down}>{fill(now.status === 'powering_down' ? texts.errors.leaving : texts.errors.running, {name: now.name})}</Notice>;
}

/** Foot has the buttons, and over them what keeps the work from being done. */
function Foot({data, submit, onGo, onLeave}: {data: ComposeData; submit: ReturnType<typeof useSubmit>; onLeave: (to: string) => void; onGo: (w: {field?: string; diagnostic?: Diagnostic}) => void}) {
  const back = data.machine ? machinePath(data.machine.id) : '/machines';
  const {wrong, problem, busy, conflict} = submit;
  return (
    <div class="foot">
      <div class="foot__said" role="status">
        {data.mode === 'run' && data.machine && !problem && <Running machine={data.machine} />}
        {conflict && !problem && <Notice kind="warn" title={texts.conflict.title} actions={<>
          <Button small busy={busy === 'load'} onClick={() => void submit.load()}>{texts.conflict.load}</Button>
          <Button small busy={busy === 'plain'} onClick={() => void submit.overwrite()}>{texts.conflict.save}</Button>
        </>}>{texts.conflict.text}</Notice>}
        {problem && <Notice kind="bad" title={texts.errors.head}>{capital(problem)}</Notice>}
        {wrong.length > 0 && <Notice kind="bad" title={counted(wrong.length, texts.errors.wrong)}>
          <ul class="foot__list">{wrong.slice(0, 5).map((w, i) => <li key={i}><button type="button" class="link" onClick={() => onGo(w)}>{w.field && w.diagnostic && <><code>{fieldOf(w.field)}</code>{' '}</>}{w.text}</button></li>)}</ul>
        </Notice>}
      </div>
      <div class="foot__buttons">
        {data.mode === 'new' && <>
          <Button kind="primary" type="submit" form={formName} icon="play" busy={busy === 'start'}>{texts.actions.createStart}</Button>
          <Button busy={busy === 'plain'} onClick={() => void submit.go('plain')}>{texts.actions.create}</Button>
        </>}
        {data.mode === 'edit' && <Button kind="primary" type="submit" form={formName} busy={busy === 'plain'}>{texts.actions.save}</Button>}
        {data.mode === 'run' && <Button kind="primary" type="submit" form={formName} icon="play" busy={busy !== undefined}>{texts.actions.run}</Button>}
        <a class={buttonClass('ghost')} href={back} onClick={(e) => {
          if (e.ctrlKey || e.metaKey || e.shiftKey) return;
          e.preventDefault();
          onLeave(back);
        }}>{texts.actions.cancel}</a>
      </div>
    </div>
  );
}
