// The list of machines: what events change in it, and which of them are shown in which order.
import type {DaemonEvent, Machine, Status} from './types';

/** The machines by their ids, in the order of their creation. */
export type Machines = ReadonlyMap<string, Machine>;

/** What events have made of the machines. */
export interface Applied {
  machines: Machines;
  /** Those of which the events say less than there is to know: read them again. */
  stale: Set<string>;
}

/** byId makes the list of what the API lists. */
export const byId = (list: Machine[]): Machines => new Map(list.map((m) => [m.id, m]));

/** applyEvents takes in what happened. The machines that nothing happened to stay the same objects. */
export function applyEvents(machines: Machines, events: DaemonEvent[]): Applied {
  const next = new Map(machines);
  const stale = new Set<string>();
  for (const e of events) {
    const id = e.object;
    if (!id || !e.kind.startsWith('machine.')) continue;
    const m = next.get(id);
    if (e.kind === 'machine.removed') {
      next.delete(id);
      stale.delete(id);
    } else if (!m || e.kind === 'machine.added' || e.kind === 'machine.changed') {
      stale.add(id);
    } else if (e.kind === 'machine.status' && e.status) {
      next.set(id, withStatus(m, e.status));
      stale.add(id);
    } else if (e.kind === 'machine.report' && e.report) {
      if (ended(e.report.stage)) stale.add(id);
      else next.set(id, {...m, progress: {stage: e.report.stage, ...(e.report.module ? {module: e.report.module} : {}), time: e.report.time}});
    }
  }
  return {machines: next, stale};
}

/** ended reports whether a stage is a final one. */
export const ended = (stage: string): boolean => stage === 'done' || stage === 'failed';

/** What the last run said does not hold for the next one. */
function withStatus(m: Machine, status: Status): Machine {
  const {reason: _, progress, addresses, firstBootRunning, ...rest} = m;
  const fresh = status === 'wait_for_launch' || status === 'down';
  return {...rest, status, ...(fresh ? {} : {...(progress ? {progress} : {}), ...(addresses ? {addresses} : {}), ...(firstBootRunning ? {firstBootRunning} : {})})};
}

/** replace puts machines that were read again into the list; a machine that is gone is in gone. A new one is behind the others, as it is the youngest. */
export function replace(machines: Machines, fresh: Machine[], gone: string[] = []): Machines {
  const next = new Map(machines);
  for (const m of fresh) next.set(m.id, m);
  for (const id of gone) next.delete(id);
  return next;
}

/** How a first boot stands: nothing said yet, under way, as it should be, or not. */
export type Boot = 'none' | 'going' | 'ok' | 'failed';

/** bootOf judges by what the machine says; a boot that is under way counts before the one that was. */
export function bootOf(m: Machine): Boot {
  if (m.firstBootRunning || m.status === 'powering_up' || m.status === 'wait_for_launch') return 'going';
  if (m.firstBoot) return m.firstBoot.ok ? 'ok' : 'failed';
  return m.initialized ? 'ok' : 'none';
}

/** The groups that the list can be narrowed down to. */
export const groups = ['all', 'up', 'changing', 'down', 'trouble'] as const;

/** A group of machines. */
export type Group = (typeof groups)[number];

const changing: Status[] = ['wait_for_launch', 'powering_up', 'powering_down', 'reboot_in_progress', 'image_locked'];

/** inGroup reports whether a machine belongs to a group. One whose first boot failed is in trouble whatever it does now. */
export function inGroup(m: Machine, group: Group): boolean {
  switch (group) {
    case 'all': return true;
    case 'up': return m.status === 'up';
    case 'changing': return changing.includes(m.status);
    case 'down': return m.status === 'down';
    case 'trouble': return m.status === 'paused' || m.status === 'not_responding' || bootOf(m) === 'failed';
  }
}

/** Which machines are shown, and in which order. */
export interface View {
  search: string;
  group: Group;
  /** One status alone, as addresses that the server writes have it. */
  status?: Status | undefined;
  by: Column;
  down: boolean;
}

/** The columns that sort. */
export const columns = ['name', 'status', 'boot', 'addresses', 'created'] as const;

/** A column that sorts. */
export type Column = (typeof columns)[number];

const names = new Intl.Collator('en', {numeric: true, sensitivity: 'base'});
const order: Status[] = ['not_responding', 'paused', 'reboot_in_progress', 'wait_for_launch', 'powering_up', 'powering_down', 'image_locked', 'up', 'down'];
const boots: Boot[] = ['failed', 'going', 'none', 'ok'];

const compare: Record<Column, (a: Machine, b: Machine) => number> = {
  name: (a, b) => names.compare(a.name, b.name) || names.compare(a.namespace, b.namespace),
  status: (a, b) => order.indexOf(a.status) - order.indexOf(b.status),
  boot: (a, b) => boots.indexOf(bootOf(a)) - boots.indexOf(bootOf(b)),
  addresses: (a, b) => names.compare(a.addresses?.[0] ?? '~', b.addresses?.[0] ?? '~'),
  created: (a, b) => (a.created < b.created ? -1 : a.created > b.created ? 1 : 0),
};

/** matches reports whether a machine has every word of a search, in any case: in its name, namespace, addresses, or at the begin of its id. */
export function matches(m: Machine, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = `${m.namespace}/${m.name} ${(m.addresses ?? []).join(' ')}`.toLowerCase();
  return words.every((w) => text.includes(w) || m.id.startsWith(w));
}

/** pick returns the machines of a view. Equal ones stay in the order of their creation, or in its reverse. */
export function pick(machines: Machines, view: View): Machine[] {
  const out: Machine[] = [];
  for (const m of machines.values()) {
    if (inGroup(m, view.group) && (!view.status || m.status === view.status) && matches(m, view.search)) out.push(m);
  }
  out.sort(compare[view.by]);
  if (view.down) out.reverse();
  return out;
}

/** toggled adds machines to those that are chosen, or takes them out; the others stay as they are. */
export function toggled(chosen: ReadonlySet<string>, machines: readonly Machine[], on: boolean): Set<string> {
  const next = new Set(chosen);
  for (const m of machines) on ? next.add(m.id) : next.delete(m.id);
  return next;
}

/** countGroups says how many machines that a search finds are in each group. */
export function countGroups(machines: Machines, search: string): Record<Group, number> {
  const out: Record<Group, number> = {all: 0, up: 0, changing: 0, down: 0, trouble: 0};
  for (const m of machines.values()) {
    if (!matches(m, search)) continue;
    for (const g of groups) if (inGroup(m, g)) out[g]++;
  }
  return out;
}

/** viewOf reads a view from the address of the page, and viewQuery writes it there. What is as always is left out. */
export function viewOf(query: URLSearchParams): View {
  const status = (query.get('status') ?? '') as Status;
  const group = (query.get('group') ?? '') as Group;
  return {search: query.get('search') ?? '', group: groups.includes(group) ? group : 'all', status: order.includes(status) ? status : undefined,
    ...sortOf(query.get('sort') ?? '')};
}

/** sortOf reads an order: a column, with a dash before it when it goes down. Without one the newest machines are the first. */
export function sortOf(text: string): Pick<View, 'by' | 'down'> {
  const by = text.replace(/^-/, '') as Column;
  return columns.includes(by) ? {by, down: text.startsWith('-')} : {by: 'created', down: true};
}

/** viewQuery is the query of an address that shows a view, with its question mark. */
export function viewQuery(v: View): string {
  const q = new URLSearchParams();
  if (v.search) q.set('search', v.search);
  if (v.group !== 'all') q.set('group', v.group);
  if (v.status) q.set('status', v.status);
  if (v.by !== 'created' || !v.down) q.set('sort', (v.down ? '-' : '') + v.by);
  const text = q.toString();
  return text && '?' + text;
}

const stages = ['booting', 'init-local', 'init-network', 'modules-config', 'modules-final', 'done'];

/** fraction is how far a stage of a first boot is, from 0 to 1; unknown ones are at the begin. */
export const fraction = (stage: string): number => Math.max(0, stages.indexOf(stage) + 1) / (stages.length + 1);
