import {useState} from 'preact/hooks';
import {split, ticks, type Bar, type Boot, type Outcome, type StageRow} from '../lib/boot';
import {duration} from '../lib/format';
import {plural} from '../lib/words';
import texts from '../texts/machine.json';
import {Icon, type IconName} from './icons';

const words = texts.boot;

/** A boot as bars on a time line: a table, of which one column is drawn, so that it says the same without being seen. */
export function BootChart({boot, going}: {boot: Boot; /** It goes on. */ going: boolean}) {
  const scale = going ? room(boot.span) : boot.span;
  const marks = ticks(scale, 5);
  return (
    <table class="timeline" style={{'--tick': percent(marks[1] ?? scale, scale)}}>
      <caption class="sr">{words.caption}</caption>
      <thead>
        <tr>
          <th scope="col">{words.part}</th>
          <th scope="col" class="timeline__line"><span class="sr">{words.timeline}</span><Scale span={scale} marks={marks} /></th>
          <th scope="col" class="num timeline__began">{words.began}</th>
          <th scope="col" class="num">{words.took}</th>
        </tr>
      </thead>
      {boot.early.length > 0 && <tbody>{boot.early.map((b) => <Row key={b.name} bar={b} scale={scale} span={boot.span} label={early(b.name)} quiet />)}</tbody>}
      {boot.rows.map((r, i) => <Stage key={r.name} row={r} absent={absent(boot, i, going)} agent={boot.agent} scale={scale} span={boot.span} />)}
    </table>
  );
}

const early = (name: string): string => (words.early as Record<string, string>)[name] ?? name;

/** stageWords are the name of a stage for people, and what it does; Ignition has other stages at the places of cloud-init's. */
export const stageWords = (name: string, agent = ''): string[] => ((agent.startsWith('Ignition') ? words.ignition : words.stages) as Record<string, string[]>)[name] ?? [name, ''];

/** room is how many seconds the line is long: more than have passed, so that the bars do not shrink all the time while it grows. */
function room(span: number): number {
  return [10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 240, 300, 420, 600, 900, 1200, 1800, 2700, 3600].find((s) => s >= span) ?? Math.ceil(span / 3600) * 3600;
}

function Scale({span, marks}: {span: number; marks: number[]}) {
  const roomy = marks.filter((s) => s <= 0.9 * span); // the last one has no place for its text
  return <span class="timeline__scale" aria-hidden="true">{roomy.map((s) => <span key={s} class="timeline__tick" style={{left: percent(s, span)}}>{minutes(s)}</span>)}</span>;
}

/** minutes writes a time since the start: 1:05 is a minute and five seconds. */
const minutes = (s: number): string => `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, '0')}`;

const percent = (seconds: number, span: number): string => `${Math.round((10000 * Math.min(seconds, span)) / span) / 100}%`;

/** absent says why a stage has no bar: the guest did not tell of it, never came to it, or has yet to. */
function absent(boot: Boot, i: number, going: boolean): string {
  if (boot.rows.slice(i + 1).some((r) => r.bar) || boot.last?.stage === 'done') return words.untold;
  return going ? words.waiting : words.unreached;
}

/** A stage with its parts: those that took long, and a line for the others. */
function Stage({row, absent, agent, scale, span}: {row: StageRow; absent: string; agent: string; scale: number; span: number}) {
  const [open, setOpen] = useState(false);
  const [title, does] = stageWords(row.name, agent);
  const hint = agent ? does : undefined;
  const {shown, short} = split(row.parts, span);
  const parts = open ? row.parts : shown;
  const limit = Math.max(0.1, span / 200);
  return (
    <tbody class="timeline__stage">
      {row.bar
        ? <Row bar={row.bar} inside={row.parts} scale={scale} span={span} label={title ?? ''} hint={hint} stage />
        : <tr class="timeline__row timeline__row--stage is-waiting"><th scope="row"><Label label={title ?? ''} hint={hint} /></th><td class="timeline__line"><span class="timeline__track" /></td><td class="num timeline__began" /><td class="num muted">{absent}</td></tr>}
      {parts.map((b) => <Row key={`${b.name} ${b.start}`} bar={b} scale={scale} span={span} label={b.name} />)}
      {short.length > 0 && (
        <tr class="timeline__more">
          <td colSpan={4}>
            <button type="button" class="timeline__fold" aria-expanded={open} onClick={() => setOpen(!open)}>
              <Icon name={open ? 'up' : 'down'} />{open ? words.hide : words.show} {plural(words.short, short.length, {time: duration(limit)})}
            </button>
          </td>
        </tr>
      )}
    </tbody>
  );
}

interface RowProps {
  bar: Bar;
  /** The parts that are drawn within a stage's bar. */
  inside?: Bar[];
  scale: number;
  span: number;
  label: string;
  hint?: string | undefined;
  stage?: boolean;
  quiet?: boolean;
}

function Row({bar, inside = [], scale, span, label, hint, stage, quiet}: RowProps) {
  const took = (bar.end ?? span) - bar.start;
  const kind = ['timeline__row', stage && 'timeline__row--stage', quiet && 'timeline__row--quiet'].filter(Boolean).join(' ');
  return (
    <tr class={kind}>
      <th scope="row"><Mark outcome={bar.outcome} quiet={quiet} /><Label label={label} hint={hint} mono={!stage && !quiet} outcome={stage ? undefined : bar.outcome} /></th>
      <td class="timeline__line">
        <span class="timeline__track" aria-hidden="true">
          <Stretch bar={bar} scale={scale} span={span} kind={stage ? 'stage' : quiet ? 'quiet' : 'part'} />
          {stage && inside.map((b) => <Stretch key={`${b.name} ${b.start}`} bar={b} scale={scale} span={span} kind="inside" />)}
        </span>
      </td>
      <td class="num timeline__began" >{minutes(bar.start)}</td>
      <td class="num">{exact(took, bar.exact)}{bar.end === undefined && <span class="sr"> {words.soFar}</span>}</td>
    </tr>
  );
}

/** exact writes how long a part took: to the millisecond where that is known and matters. */
const exact = (seconds: number, known: boolean): string => (known && seconds < 0.995 ? `${Math.round(seconds * 1000)} ms` : duration(seconds));

function Stretch({bar, scale, span, kind}: {bar: Bar; scale: number; span: number; kind: string}) {
  const end = bar.end ?? span;
  return <span class={`timeline__bar timeline__bar--${kind} is-${bar.outcome}`} style={{left: percent(bar.start, scale), width: percent(Math.max(0, end - bar.start), scale)}} />;
}

function Label({label, hint, mono, outcome}: {label: string; hint?: string | undefined; mono?: boolean; outcome?: Outcome | undefined}) {
  const loud = outcome === 'fail' || outcome === 'warn' || outcome === 'cut';
  return (
    <span class="timeline__label">
      <span class={mono ? 'timeline__name mono' : 'timeline__name'}>{label}</span>
      {hint && <span class="timeline__hint">{hint}</span>}
      {loud && <span class={`tag tag--${outcome === 'fail' ? 'bad' : 'warn'}`}>{words.outcome[outcome]}</span>}
    </span>
  );
}

const icons: Record<Exclude<Outcome, 'running'>, IconName> = {ok: 'check', warn: 'alert', fail: 'close', cut: 'stop'};

function Mark({outcome, quiet}: {outcome: Outcome; quiet?: boolean | undefined}) {
  if (outcome === 'running') return <span class="timeline__mark is-running"><span class="spin" role="img" aria-label={words.outcome.running} /></span>;
  return <span class={`timeline__mark is-${quiet ? 'quiet' : outcome}`}><Icon name={icons[outcome]} label={words.outcome[outcome]} /></span>;
}
