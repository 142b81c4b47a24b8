// The form as a whole: the parts of it in their order, for a definition in the native form; and what stands in its place for other forms.
import {useEffect, useRef, useState} from 'preact/hooks';
import {convert} from '../../lib/api';
import {edit, type Opened, type Opening} from '../../lib/definition';
import {agentOf, mainPath, passwordOf, setAgent} from '../../lib/initial';
import {remarkAt, sentence} from '../../lib/remarks';
import {preparedOf} from '../../lib/source';
import {answersOf, fileOf} from '../../lib/sysprep';
import {isNameless} from '../../lib/submit';
import {fill} from '../../lib/texts';
import type {Tree} from '../../lib/tree';
import type {Diagnostic, Image, Settings} from '../../lib/types';
import type {ComposeData, Work, Working} from '../../lib/work';
import texts from '../../texts/compose.json';
import {Button} from '../button';
import {Notice} from '../notice';
import {problemText} from '../../lib/problem';
import {mismatch} from './authentication';
import {FormProvider, type Form} from './controls';
import {General} from './general';
import {Initial} from './initial';
import {Disks, Files, Software, Users} from './items';
import {ThisRun} from './runonce';
import {BesideDocuments} from './settings';

/** What the form needs of its page. */
export interface DefinitionProps {
  data: ComposeData;
  images: Image[];
  opening: Opening;
  work: Work;
  put: (change: (work: Work) => Work) => void;
  /** Puts other work into the place of this one, which can be brought back. */
  replace: Working['replace'];
  /** What the last rendering, or the last attempt, said. */
  diagnostics: readonly Diagnostic[];
  /** The user has tried to go on: everything that is wrong is shown. */
  attempted: boolean;
  /** The data source of the machine's own definition. */
  dataSource: string;
  /** Why something that a control shows cannot be said yet, by field. */
  held: Map<string, string>;
  onHold: (path: string, why: string | undefined) => void;
  onDocuments: () => void;
}

/** The form, or what to do about a definition that it does not fit. */
export function DefinitionForm(props: DefinitionProps) {
  const {opening} = props;
  return opening.ok ? <Parts {...props} opened={opening.opened} /> : <Unfit {...props} opening={opening} />;
}

function useFormOf({opened, put, diagnostics, attempted, held, onHold}: DefinitionProps & {opened: Opened}): Form {
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const tree = opened.tree;
  const main = mainPath(tree);
  return {
    tree,
    change: (change: (tree: Tree) => void) => put((w) => ({...w, documents: edit(w.documents, opened.file, change)})),
    error: (path) => {
      if (!attempted && !touched.has(path)) return undefined;
      if (held.has(path)) return held.get(path);
      if (path === 'verify') return texts.errors.verify;
      if (path === 'metadata.name' && !tree.text(path)) return texts.errors.name;
      const remark = remarkAt(diagnostics, path) ?? (path === `${main}.password` && passwordOf(tree, main).kind === 'hash' ? remarkAt(diagnostics, `${main}.passwordHash`) : undefined);
      return remark && sentence(remark);
    },
    touch: (path) => setTouched((t) => (t.has(path) ? t : new Set([...t, path]))),
    hold: onHold,
  };
}

function Parts(props: DefinitionProps & {opened: Opened}) {
  const {data, images, work, put, dataSource, opened} = props;
  const form = useFormOf(props);
  const tree = opened.tree;
  const run = data.mode === 'run';
  const prepared = preparedOf(tree) !== undefined;
  const windows = agentOf(tree) === 'sysprep';
  const on = run ? !work.run.noSeed && !prepared : tree.text('spec.dataSource') !== 'none' || windows;
  const setOn = (yes: boolean) => {
    if (run) put((w) => ({...w, run: {...w.run, noSeed: !yes}}));
    else form.change((t) => t.set('spec.dataSource', yes ? (agentOf(t) === 'ignition' ? 'ignition' : '') : 'none'));
  };
  return (
    <FormProvider value={form}>
      <div class="definition">
        {run && <ThisRun images={images} options={work.run} onOptions={(o) => put((w) => ({...w, run: o}))} dataSource={dataSource} />}
        {!run && <GeneralPart {...props} />}
        {!(run && prepared) && <>
          <Switched form={form} />
          <Initial mode={data.mode} on={on} onOn={setOn} work={work.password} onWork={(password) => put((w) => ({...w, password}))} />
        </>}
        {on && !windows && <section class="part" aria-labelledby="part-more">
          <h2 id="part-more">{texts.more}</h2>
          <div><Users /><Files /><Disks /><Software /></div>
        </section>}
        {run && <GeneralPart {...props} />}
      </div>
    </FormProvider>
  );
}

function GeneralPart({data, work, put, images}: DefinitionProps) {
  return <General mode={data.mode} settings={work.settings} onSettings={(settings: Settings) => put((w) => ({...w, settings}))} templates={data.templates} images={images} version={data.version} />;
}

/** Switched tells that an Ignition config has made the machine one for Ignition, and takes that back. */
function Switched({form}: {form: Form}) {
  const agent = agentOf(form.tree);
  const before = useRef(agent);
  const [shown, show] = useState(false);
  useEffect(() => {
    show(before.current === 'cloud-init' && agent === 'ignition' && form.tree.count('spec.ignition') > 0);
    before.current = agent;
  }, [agent]);
  if (!shown || agent !== 'ignition') return null;
  const back = () => form.change((t) => {
    const config = t.get('spec.ignition[0]');
    t.remove('spec.ignition');
    setAgent(t, 'cloud-init');
    t.set('spec.userData.layers', [config]);
  });
  return <Notice kind="info" actions={<Button small onClick={back}>{texts.initial.switchedBack}</Button>}>{texts.initial.switched}</Notice>;
}

/** mismatched reports whether the two passwords of the form differ. */
export function mismatched(opening: Opening, work: Work): boolean {
  if (!opening.ok) return false;
  const tree = opening.opened.tree;
  if (agentOf(tree) !== 'sysprep') return mismatch(passwordOf(tree, mainPath(tree)), work.password);
  return mismatch({kind: 'clear', text: answersOf(fileOf(tree)?.text ?? '').root_password}, work.password);
}

/** Unfit says why the form does not fit, and offers to convert what is of another form. */
function Unfit({opening, work, put, replace, data, onDocuments, images, attempted}: DefinitionProps & {opening: Opening & {ok: false}}) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const latest = useRef(work.documents);
  latest.current = work.documents;
  useEffect(() => setProblem(undefined), [work.documents]);
  const nameless = isNameless({...work, settings: {}});
  const go = async () => {
    setBusy(true);
    try {
      const {pick: _, template, image, ...settings} = work.settings;
      const result = await convert({...settings, ...(image ? {image} : {}), documents: work.documents, to: 'native'});
      const wrong = result.diagnostics.find((d) => d.severity === 'error');
      const documents = result.documents.map((d) => ({...d, name: d.name ?? 'machine.yaml'}));
      // What was typed while the daemon converted is not in its answer.
      if (latest.current !== work.documents) setProblem(texts.unfit.moved);
      else if (wrong) setProblem(sentence(wrong));
      else replace('converted', (w) => (w.documents === work.documents ? {...w, documents, settings: template ? {template} : {}} : w), result.diagnostics);
    } catch (e) {
      setProblem(problemText(e));
    }
    setBusy(false);
  };
  return (
    <div class="stack">
      <Notice kind="info" actions={<>
        {opening.why === 'other' && <Button kind="secondary" busy={busy} onClick={() => void go()}>{texts.actions.useForm}</Button>}
        <Button kind="ghost" onClick={onDocuments}>{texts.actions.toDocuments}</Button>
      </>}>{fill(texts.unfit[opening.why], {line: opening.line ?? 1})}</Notice>
      {problem && <Notice kind="bad">{problem}</Notice>}
      {data.mode === 'new' && <BesideDocuments nameless={nameless} error={nameless && attempted && !work.settings.name ? texts.errors.name : undefined} settings={work.settings} templates={data.templates} images={images} version={data.version} onSettings={(settings) => put((w) => ({...w, settings}))} />}
    </div>
  );
}
