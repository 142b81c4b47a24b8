// The form as a whole: the parts of it in their order, for a definition in the native form; and what stands in its place for other forms.
import {useEffect, useRef, useState} from 'preact/hooks';
import {edit, type Opened, type Opening} from '../../lib/definition';
import {agentOf, mainPath, passwordOf, setAgent} from '../../lib/initial';
import {adopted, isConvertible, useNative, type Native} from '../../lib/native';
import type {TypedAddress} from '../../lib/nics';
import {recordWithout, without} from '../../lib/paths';
import {remarkAt, sentence, warningAt} from '../../lib/remarks';
import {discAt, discName, preparedOf, setDisc} from '../../lib/source';
import {answersOf, fileOf} from '../../lib/sysprep';
import type {Tree} from '../../lib/tree';
import type {Diagnostic, Image, Settings} from '../../lib/types';
import type {ComposeData, Work, Working} from '../../lib/work';
import texts from '../../texts/compose.json';
import {Button} from '../button';
import {Lost} from '../former';
import {Notice} from '../notice';
import {AttachmentsFold} from './attached';
import {mismatch} from './authentication';
import {FormProvider, type Form} from './controls';
import {Delivery} from './delivery';
import {General} from './general';
import {Initial} from './initial';
import {Disks, Files, Software, Users} from './items';
import {RunOptionsPart, ThisRun} from './runonce';
import {Unfit} from './unfit';

/** What the form needs of its page. */
export interface DefinitionProps {
  data: ComposeData;
  images: Image[];
  opening: Opening;
  working: Working;
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

/** The form, or what to do about a definition that it does not fit. One run of a machine has the form in any case: over a conversion of the definition. */
export function DefinitionForm(props: DefinitionProps) {
  const {opening, working: {work, put}, data} = props;
  const run = data.mode === 'run';
  const {native, problem, again} = useNative(work.documents, run && isConvertible(opening));
  const lent = !opening.ok && native?.of === work.documents ? native : undefined;
  const opened = opening.ok ? opening.opened : lent?.opened;
  // The component stays the same when the run takes the conversion: the key stroke that did it keeps its field.
  if (opened) return <Parts {...props} opened={opened} lent={lent} dataSource={props.dataSource || (native?.opened.tree.text('spec.dataSource') ?? '')} />;
  if (opening.ok || !run) return opening.ok ? null : <Unfit {...props} opening={opening} />;
  if (isConvertible(opening) && problem === undefined) return <p class="muted" role="status">{texts.loading}</p>;
  return (
    <div class="definition">
      <Unfit {...props} opening={opening} problem={problem} onAgain={again} />
      <RunOptionsPart options={work.run} onOptions={(o) => put((w) => ({...w, run: o}))} reads={!work.run.noSeed}>
        <Delivery mode="run" settings={work.settings} onSettings={(settings) => put((w) => ({...w, settings}))} version={data.version} />
      </RunOptionsPart>
    </div>
  );
}

/** What the form is of: a machine in the native form, and where that is not the form of the documents, the conversion that it is lent from. */
interface PartsProps extends DefinitionProps { opened: Opened; lent: Native | undefined }

function useFormOf({opened, lent, working: {work, put, replace}, diagnostics, attempted, held, onHold}: PartsProps): Form {
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const tree = opened.tree;
  const main = mainPath(tree);
  const [cd, setCd] = useState<string | null>(); // by its name; null when the user has taken it away
  const disc = discAt(tree, cd);
  const said = lent ? [] : diagnostics; // which are about documents of another form
  const change = (how: (tree: Tree) => void, more: (work: Work) => Partial<Work> = () => ({})) => {
    if (lent) replace('run', (w) => adopted(w, lent), lent.diagnostics);
    put((w) => ({...w, documents: edit(w.documents, opened.file, how), ...more(w)}));
  };
  return {
    tree, change,
    error: (path) => {
      if (!attempted && !touched.has(path)) return undefined;
      if (held.has(path)) return held.get(path);
      if (path === 'verify') return texts.errors.verify;
      if (path === 'metadata.name' && !tree.text(path)) return texts.errors.name;
      const remark = remarkAt(said, path) ?? (path === `${main}.password` && passwordOf(tree, main).kind === 'hash' ? remarkAt(said, `${main}.passwordHash`) : undefined);
      return remark && sentence(remark);
    },
    warning: (path) => {
      const remark = attempted || touched.has(path) ? warningAt(said, path) : undefined;
      return remark && sentence(remark);
    },
    touch: (path) => setTouched((t) => (t.has(path) ? t : new Set([...t, path]))),
    remove: (list, at) => {
      change((t) => t.remove(`${list}[${at}]`), (w) => ({addresses: recordWithout(w.addresses ?? {}, list, at)}));
      setTouched((t) => new Set([...t].flatMap((path) => without(path, list, at) ?? [])));
    },
    typed: (path) => work.addresses?.[path],
    type: (path, how) => {
      let typed: TypedAddress | undefined; // which the change tells before more is asked
      change((t) => { typed = how(t); }, (w) => {
        const {[path]: _, ...rest} = w.addresses ?? {};
        return {addresses: typed ? {...rest, [path]: typed} : rest};
      });
    },
    hold: onHold,
    disc,
    attach: (path) => {
      setCd(path === undefined ? null : discName(tree, disc));
      change((t) => setDisc(t, path, disc));
    },
  };
}

function Parts(props: PartsProps) {
  const {data, images, working, lent, dataSource} = props;
  const {work, put} = working;
  const form = useFormOf(props);
  const tree = form.tree;
  const run = data.mode === 'run';
  const prepared = preparedOf(tree) !== undefined;
  const windows = agentOf(tree) === 'sysprep';
  const source = tree.text('spec.dataSource') !== 'none' || windows;
  const on = source && !prepared && !(run && work.run.noSeed);
  const told = on && !windows;
  const setOn = (yes: boolean) => {
    if (run) put((w) => ({...w, run: {...w.run, noSeed: !yes}}));
    if (run ? yes && !source : !windows) form.change((t) => t.set('spec.dataSource', yes ? (agentOf(t) === 'ignition' ? 'ignition' : '') : 'none'));
  };
  return (
    <FormProvider value={form}>
      <div class="definition">
        {run && <OwnForm lent={lent} working={working} />}
        {run && <ThisRun images={images} dataSource={dataSource} />}
        {!run && <GeneralPart {...props} />}
        {!prepared && <>
          <Switched form={form} />
          <Initial mode={data.mode} on={on} onOn={setOn} work={work.password} onWork={(password) => put((w) => ({...w, password}))} />
        </>}
        <section class="part" aria-labelledby="part-more">
          <h2 id="part-more">{texts.more}</h2>
          <div>
            {told && <><Users /><Files /></>}
            <Disks mounted={told} />
            {!run && <AttachmentsFold images={images} dataSource={dataSource} />}
            {told && <Software />}
          </div>
        </section>
        {run && <RunOptionsPart options={work.run} onOptions={(o) => put((w) => ({...w, run: o}))} reads={on} />}
        {run && <GeneralPart {...props} />}
      </div>
    </FormProvider>
  );
}

function GeneralPart({data, working: {work, put}, images}: DefinitionProps) {
  return <General mode={data.mode} settings={work.settings} onSettings={(settings: Settings) => put((w) => ({...w, settings}))} templates={data.templates} images={images} version={data.version} />;
}

/** OwnForm tells of a run whose machine is defined in another form what the fields are, what of the definition they do not have, and the way back. */
function OwnForm({lent, working: {former, back}}: {lent: Native | undefined; working: Working}) {
  const said = lent?.diagnostics ?? (former?.why === 'run' ? former.diagnostics ?? [] : undefined);
  if (!said) return null;
  return (
    <Notice kind={said.some((d) => d.severity === 'warning') ? 'warn' : 'info'} end={!lent && <Button small onClick={back}>{texts.former.action.run}</Button>}>
      {texts.run.ownForm}
      <Lost diagnostics={said} />
    </Notice>
  );
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
