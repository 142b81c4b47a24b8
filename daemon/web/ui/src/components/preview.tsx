import type {ComponentChildren} from 'preact';
import {useEffect, useMemo, useState} from 'preact/hooks';
import {againOf, type Again} from '../lib/again';
import {useBase, type Base} from '../lib/last';
import {useRender, type Question, type Rendering} from '../lib/render';
import {changes, compared, groupsOf} from '../lib/seedtree';
import {fill} from '../lib/texts';
import type {Diagnostic, Doc, Machine, RenderResult, Seed, Settings} from '../lib/types';
import {version} from '../lib/version';
import texts from '../texts/preview.json';
import {Diagnostics, tally} from './diagnostics';
import {CheckField} from './field';
import {Icon, type IconName} from './icons';
import {Notice} from './notice';
import {problemText} from '../lib/problem';
import {SeedView} from './seedview';
import {Tabs} from './tabs';

/** What the preview is a preview of. */
export interface PreviewProps {
  /** With a machine and without documents, those that it has. */
  documents?: Doc[] | undefined;
  settings?: Settings | undefined;
  /** The machine that the documents are rendered for; its last boot is what they are compared with. */
  machine?: Machine | undefined;
  /** Is added to the machine's own generation: 1 shows a start at which cloud-init runs as on a first boot. */
  generation?: number | undefined;
  /** The start asks for changed data to take effect, so the files are those of a first boot when they have changed. */
  initialize?: boolean | undefined;
  /** Called with the answer to each rendering that is still asked for, with the diagnostics of one that was refused, and with none when there is nothing to render. */
  onResult?: ((result: RenderResult) => void) | undefined;
  /** Goes to the place of a diagnostic; without it they are text only. */
  onPlace?: ((diagnostic: Diagnostic) => void) | undefined;
  /** The diagnostics stand elsewhere on the page. */
  quiet?: boolean;
}

/** The files that a guest would read, while its definition is typed. */
export default function Preview({documents, settings, machine, generation, initialize, onResult, onPlace, quiet}: PreviewProps) {
  const [source, setSource] = useState('');
  const [reveal, setReveal] = useState(false);
  const [compare, setCompare] = useState(true);
  const [takes, setTakes] = useState(false);
  const full = useMemo(() => documents?.filter((d) => d.text.trim() !== ''), [documents]);
  const asked = question(full, {settings, machine, source, reveal, generation: generation || (initialize && takes && machine?.initialized ? 1 : 0)});
  const rendering = useRender(asked);
  useEffect(() => {
    if (asked && (rendering.busy || !rendering.result && !rendering.problem)) return;
    setTakes(Boolean(rendering.result?.firstBoot));
    onResult?.({seeds: rendering.result?.seeds ?? [], diagnostics: rendering.diagnostics});
  }, [rendering]);
  const {result} = rendering;
  const seed = result?.seeds[0];
  const active = source || seed?.dataSource || settings?.dataSource || '';
  const base = useBase(machine, seed, source, reveal);
  const blind = Boolean(base?.bare && reveal);
  const before = compare && !blind ? base?.seed : undefined;
  return (
    <section class="preview" aria-label={texts.title} data-busy={rendering.busy}>
      <header class="preview__head">
        <h2>{texts.title}</h2>
        <div class="preview__options">
          {base && <CheckField label={texts.compare[base.of]} checked={compare && !blind} disabled={blind} onValue={setCompare} />}
          <CheckField label={texts.reveal} checked={reveal} onValue={setReveal} />
        </div>
      </header>
      <Sources active={active} own={source === ''} onChange={setSource}>
        <State {...{rendering, quiet, onPlace}} empty={!machine && !full?.length} />
        {result && seed && <Next {...{seed, before, reveal, base}} again={againOf(machine, result, {initialize, generation})} />}
        {result?.seeds.map((s, _, all) => (
          <div key={`${s.namespace}/${s.name}`} class="stack stack--tight">
            {all.length > 1 && <h3>{texts.machine} <code>{s.namespace}/{s.name}</code></h3>}
            <SeedView seed={s} last={before} stale={rendering.stale} />
          </div>
        ))}
      </Sources>
    </section>
  );
}

type Ask = Pick<PreviewProps, 'settings' | 'machine'> & {source: string; reveal: boolean; generation: number};

/** question is what the daemon is asked, or nothing when there is nothing to render yet. */
function question(documents: Doc[] | undefined, {settings, machine, generation, source, reveal}: Ask): Question | undefined {
  if (!documents?.length && !machine) return undefined;
  return {
    request: {...settings, ...(documents?.length ? {documents} : {}), ...(source ? {dataSources: [source]} : {}), ...(generation ? {generation} : {}), run: true, reveal},
    ...(machine ? {machine: machine.id} : {}),
  };
}

/** The data sources as tabs. The one that the machine uses by itself is chosen until the user chooses another. */
function Sources({active, own, onChange, children}: {active: string; own: boolean; onChange: (source: string) => void; children: ComponentChildren}) {
  const [sources, setSources] = useState<string[]>([]);
  useEffect(() => { version().then((v) => setSources(v.dataSources), () => undefined); }, []);
  const names = texts.dataSourceNames as Record<string, string>;
  const all = sources.length ? sources : active ? [active] : [];
  const tabs = all.map((id) => ({id, label: <>{names[id] ?? id}{own && id === active && <span class="tag">{texts.chosen}</span>}</>}));
  return <Tabs label={texts.dataSources} tabs={tabs} active={active || all[0] || ''} onChange={onChange}>{children}</Tabs>;
}

/** What there is to say about the rendering as a whole. */
function State({rendering, quiet, onPlace, empty}: {rendering: Rendering; quiet: boolean | undefined; onPlace: PreviewProps['onPlace']; empty: boolean}) {
  const {result, diagnostics, problem, stale, busy} = rendering;
  if (empty) return <div class="empty"><Icon name="file" /><h3>{texts.nothing.title}</h3><p class="empty__text">{texts.nothing.text}</p></div>;
  if (!result && !problem) return busy ? <p class="muted" role="status">{texts.loading}</p> : null;
  const errors = diagnostics.some((d) => d.severity === 'error');
  return <>
    {problem && <Notice kind="bad" title={texts.refused}>{problemText(problem)}</Notice>}
    {stale && !problem && <Notice kind="warn">{texts.stale}</Notice>}
    {errors && !stale && !problem && <Notice kind="warn" title={texts.broken.title}>{quiet ? tally(diagnostics) : undefined}</Notice>}
    {!quiet && diagnostics.length > 0 && (
      <details class="fold preview__remarks" open={errors}>
        <summary>{texts.remarks}<span class="fold__hint">{tally(diagnostics)}</span></summary>
        <div class="fold__body"><Diagnostics diagnostics={diagnostics} onPlace={onPlace} /></div>
      </details>
    )}
  </>;
}

/** What the next start is to the guest, and how many files are different. */
function Next({seed, before, base, again, reveal}: {seed: Seed; before: Seed | undefined; base: Base | undefined; again: Again; reveal: boolean}) {
  const n = useMemo(() => (before ? changes(compared(groupsOf(seed), groupsOf(before))) : 0), [seed, before]);
  const masked = !reveal && groupsOf(seed).some((g) => g.entries.some((e) => e.file.masked));
  const words = texts.differences[base?.of ?? 'given'];
  const said = [texts.again[again], base?.bare && reveal && texts.blind, before && (n ? fill(words[n === 1 ? 1 : 2]!, {n}) : words[0]), before && masked && (base?.bare ? texts.maskedBare : texts.maskedSame)].filter(Boolean);
  return <p class={`preview__next preview__next--${again}`}><Icon name={icons[again]} /><span>{said.join(' ')}</span></p>;
}

const icons: Record<Again, IconName> = {first: 'power', again: 'reboot', changed: 'alert', not: 'info', disk: 'info'};
