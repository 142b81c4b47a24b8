// What a guest reports of a boot, as bars on a time line: the stages, and in them the parts that each consists of.
import type {BootModule, FirstBoot, GuestReport} from './types';

/** The stages of a first boot, in order. They are always drawn, so that the chart does not grow while the guest boots. */
export const stages = ['init-local', 'init-network', 'modules-config', 'modules-final'] as const;

/** How a bar stands: it goes on, or ended well, with a warning, with a failure, or was cut off by the end of the run. */
export type Outcome = 'running' | 'ok' | 'warn' | 'fail' | 'cut';

/** A stretch of time, in seconds since the boot began. */
export interface Bar {
  /** The part's name; the stage's own for the bar of a whole stage. */
  name: string;
  stage: string;
  start: number;
  /** Where the bar ends; absent while it goes on. */
  end?: number;
  outcome: Outcome;
  /** The guest's own clock told the times, to the millisecond; otherwise they are those of the reports' arrival. */
  exact: boolean;
}

/** A stage with its parts. It has no bar before it begins. */
export interface StageRow {
  name: string;
  bar?: Bar;
  parts: Bar[];
}

/** One boot of a guest. */
export interface Boot {
  /** When it began, in milliseconds of the daemon's clock; 0 when nothing tells. */
  origin: number;
  /** The time before the first stage: firmware, kernel and the system's own start. */
  early: Bar[];
  rows: StageRow[];
  /** What sets the guest up, as far as it is known: its stages have other names. */
  agent: string;
  /** The guest's final word on this boot. */
  last?: GuestReport;
  /** Where the time line ends now, in seconds. */
  span: number;
}

const ended = (stage: string) => stage === 'done' || stage === 'failed';
const rank = (stage: string) => (ended(stage) ? stages.length : (stages as readonly string[]).indexOf(stage));

/** boots divides the reports of a run by the boots that they are of: a guest that restarts by itself is still in the same run. */
export function boots(reports: GuestReport[]): GuestReport[][] {
  const out: GuestReport[][] = [];
  let current: GuestReport[] = [];
  let id = '';
  for (const r of reports) {
    const before = current[current.length - 1];
    const again = before && ((id && r.boot && r.boot !== id) || (!r.boot && r.source === before.source && rank(r.stage) < rank(before.stage)));
    if (again) {
      out.push(current);
      current = [];
      id = '';
    }
    id ||= r.boot ?? '';
    current.push(r);
  }
  if (current.length > 0) out.push(current);
  return out;
}

/** What chart needs to know beside the reports. */
export interface ChartOptions {
  /** When the run began, for the first boot of it; empty for a later one. */
  started?: string | undefined;
  /** The time of day, in milliseconds. */
  now: number;
  /** Whether the guest still runs: what has not ended goes on then. */
  running: boolean;
}

/** chart places the reports of one boot on a time line. */
export function chart(reports: GuestReport[], o: ChartOptions): Boot {
  const kernel = kernelStart(reports);
  const first = reports[0] ? Date.parse(reports[0].time) : 0;
  const origin = (o.started ? Date.parse(o.started) : 0) || kernel || first;
  const last = reports.find((r) => ended(r.stage));
  const at = (ms: number) => Math.max(0, (ms - origin) / 1000);
  const limit = last ? at(Date.parse(last.time)) : o.running && origin ? at(o.now) : at(Date.parse(reports[reports.length - 1]?.time ?? '') || origin);
  const exact = reports.flatMap((r) => r.modules ?? []).map((m) => exactBar(m, at(kernel)));
  const rough = roughBars(reports, at, limit, o.running && !last);
  const known = new Set(exact.map(key));
  const final = rough[rough.length - 1];
  const parts = exact.length > 0 ? exact.concat(final && final.name && !known.has(key(final)) ? [final] : []) : rough;
  const rows = stages.map((name) => row(name, parts, rough, last !== undefined, limit));
  settle(rows, last, limit);
  if (o.running && !last) follow(rows, reports[reports.length - 1]?.stage, limit);
  const begin = Math.min(limit, ...rows.flatMap((r) => (r.bar ? [r.bar.start] : [])));
  const boot: Boot = {origin, early: earlyBars(kernel ? at(kernel) : 0, begin, o.running && rows.every((r) => !r.bar)), rows, span: Math.max(1, limit),
    agent: last?.result?.agent ?? (exact.length > 0 ? 'cloud-init' : '')};
  if (last) boot.last = last;
  return boot;
}

const key = (b: Bar) => b.stage + '/' + b.name;

/** kernelStart is when the guest's kernel began, by the daemon's clock: the earliest that a report lets it be, for a report may be late. */
function kernelStart(reports: GuestReport[]): number {
  const starts = reports.filter((r) => r.uptime).map((r) => Date.parse(r.time) - (r.uptime ?? 0) * 1000);
  return starts.length > 0 ? Math.min(...starts) : 0;
}

const outcomes = {SUCCESS: 'ok', WARN: 'warn', FAIL: 'fail'} as const;

function exactBar(m: BootModule, kernel: number): Bar {
  return {name: m.module, stage: m.stage, start: kernel + m.start, end: kernel + m.start + m.seconds, outcome: outcomes[m.outcome] ?? 'ok', exact: true};
}

/** roughBars are what the arrival of the reports tells: each part goes on until the next report. A report of a stage alone has no name. */
function roughBars(reports: GuestReport[], at: (ms: number) => number, limit: number, running: boolean): Bar[] {
  const out: Bar[] = [];
  for (const r of reports) {
    const start = at(Date.parse(r.time));
    const before = out[out.length - 1];
    if (before && before.end === undefined) before.end = start;
    if (ended(r.stage)) break;
    if (r.error && before && before.name === (r.module ?? '') && before.stage === r.stage) {
      before.outcome = 'fail';
      continue;
    }
    out.push({name: r.module ?? '', stage: r.stage, start, outcome: r.error ? 'fail' : 'ok', exact: false});
  }
  const open = out[out.length - 1];
  if (open && open.end === undefined) {
    if (running) open.outcome = 'running';
    else {
      open.end = limit;
      open.outcome = 'cut';
    }
  }
  return out;
}

/** row gathers the parts of a stage. Its bar reaches from the first of them to the end of the last. */
function row(name: string, parts: Bar[], rough: Bar[], over: boolean, limit: number): StageRow {
  const mine = parts.filter((b) => b.stage === name);
  const all = mine.concat(rough.filter((b) => b.stage === name && !mine.some((m) => m.exact)));
  const out: StageRow = {name, parts: mine.filter((b) => b.name !== '').sort((a, b) => a.start - b.start)};
  if (all.length === 0) return out;
  const open = all.some((b) => b.end === undefined) && !over;
  out.bar = {name, stage: name, start: Math.min(...all.map((b) => b.start)), outcome: worst(all), exact: all.every((b) => b.exact)};
  if (!open) out.bar.end = Math.max(...all.map((b) => b.end ?? limit));
  return out;
}

function worst(bars: Bar[]): Outcome {
  const order: Outcome[] = ['ok', 'warn', 'fail', 'cut', 'running'];
  return bars.reduce<Outcome>((w, b) => (order.indexOf(b.outcome) > order.indexOf(w) ? b.outcome : w), 'ok');
}

/** settle takes what only the final word tells: how long each stage took, from cloud-init's own record, where the guest kept it. */
function settle(rows: StageRow[], last: GuestReport | undefined, limit: number) {
  for (const r of rows) {
    const seconds = last?.result?.seconds?.[r.name];
    if (!r.bar || seconds === undefined) continue;
    // The stage does more than its parts, at its beginning and its end: the record is of all of it.
    const next = rows.slice(rows.indexOf(r) + 1).find((x) => x.bar)?.bar?.start ?? limit;
    r.bar.end = Math.min(Math.max(r.bar.end ?? 0, r.bar.start + seconds), Math.max(next, r.bar.end ?? 0));
  }
}

/** follow lets the stage go on that the guest is in: between two parts none of its bars does. */
function follow(rows: StageRow[], stage: string | undefined, limit: number) {
  const now = rows.find((r) => r.name === stage);
  if (now?.bar) {
    delete now.bar.end;
    if (now.bar.outcome === 'ok') now.bar.outcome = 'running';
  } else if (now) {
    now.bar = {name: now.name, stage: now.name, start: limit, outcome: 'running', exact: false};
  }
}

/** earlyBars are what comes before the first stage. */
function earlyBars(kernel: number, begin: number, running: boolean): Bar[] {
  const out: Bar[] = [];
  if (kernel > 0) out.push({name: 'firmware', stage: '', start: 0, end: Math.min(kernel, begin), outcome: 'ok', exact: false});
  const bar: Bar = {name: kernel > 0 ? 'kernel' : 'early', stage: '', start: kernel, outcome: running ? 'running' : 'ok', exact: false};
  if (!running) bar.end = Math.max(begin, kernel);
  if (running || begin > kernel) out.push(bar);
  return out;
}

/** recorded is the chart of a first boot of which only the final word is kept: how long each stage took, one after the other. */
export function recorded(first: FirstBoot): Boot {
  let at = 0;
  const rows = stages.map((name): StageRow => {
    const seconds = first.result?.seconds?.[name];
    if (seconds === undefined) return {name, parts: []};
    const bar: Bar = {name, stage: name, start: at, end: at + seconds, outcome: 'ok', exact: true};
    at += seconds;
    return {name, bar, parts: []};
  });
  return {origin: 0, early: [], rows, last: first, span: Math.max(1, at), agent: first.result?.agent ?? ''};
}

/** split divides the parts of a stage into those worth a bar of their own and those that took no time to speak of. */
export function split(parts: Bar[], span: number): {shown: Bar[]; short: Bar[]} {
  const worth = (b: Bar) => b.outcome !== 'ok' || b.end === undefined || b.end - b.start >= Math.max(0.1, span / 200);
  return {shown: parts.filter(worth), short: parts.filter((b) => !worth(b))};
}

/** ticks are the marks of a time line: at most n, at round seconds. */
export function ticks(span: number, n: number): number[] {
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200].find((s) => span / s <= n) ?? Math.ceil(span / n / 3600) * 3600;
  return Array.from({length: Math.floor(span / step) + 1}, (_, i) => i * step);
}
