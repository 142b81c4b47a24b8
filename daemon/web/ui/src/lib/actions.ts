// What can be done with machines: when, what is asked before, and what is told after. The buttons are in components/actions.tsx.
import {del, post} from './api';
import {ask, toast, type Question} from './shout';
import {fill} from './texts';
import {problemText} from './problem';
import type {Machine, Status} from './types';
import texts from '../texts/actions.json';
import {machinePath} from './linked';

/** What can be done with a machine. */
export type Action = 'start' | 'shutdown' | 'reboot' | 'reset' | 'stop' | 'remove';

/** Whether a machine has a process, or is getting one. */
export const running = (status: Status): boolean => status !== 'down' && status !== 'image_locked';

/** why says why an action cannot be done with a machine now; undefined when it can. */
export function why(action: Action, m: Pick<Machine, 'status'>): string | undefined {
  if (m.status === 'image_locked') return texts.whyDisk;
  switch (action) {
    case 'start': return m.status === 'down' ? undefined : texts.whyRuns;
    case 'remove': return undefined;
    case 'shutdown': return m.status === 'powering_down' ? texts.whyLeaving : running(m.status) ? undefined : texts.whyDown;
    default: return running(m.status) ? undefined : texts.whyDown;
  }
}

/** What became of an action: the machines as they are now, those that are gone, and what went wrong. */
export interface Outcome {
  changed: Machine[];
  removed: Machine[];
  failed: {machine: Machine; why: string}[];
}

/** question is what is asked before an action; a start is never asked about. */
export function question(action: Exclude<Action, 'start'>, machines: Machine[], passedOver = 0): Question {
  const one = machines.length === 1 ? machines[0] : undefined;
  const words = (one ? texts.ask : texts.askMany)[action];
  const values = {name: one?.name ?? '', count: machines.length};
  const text = [fill(words.text, values)];
  const q: Question = {title: fill(words.title, values), text, action: fill(words.action, values), danger: action === 'remove' || action === 'stop' || action === 'reset'};
  if (action === 'remove') {
    const live = machines.filter((m) => running(m.status)).length;
    if (live > 0) text.push(one ? texts.alsoRuns : fill(texts.someRun, {count: live}));
    if (machines.some((m) => (m.disks ?? []).length > 0)) q.option = {label: texts.keepDisks, help: texts.keepDisksHelp};
  }
  if (passedOver > 0) text.push(fill(texts.passedOver, {count: passedOver}));
  return q;
}

/** How many machines an action is done with at a time. */
const atOnce = 4;

/** act does an action with those of the machines that it can be done with, after a question, and tells what went wrong. begin is called when it begins. */
export async function act(action: Action, machines: Machine[], begin?: () => void): Promise<Outcome> {
  const able = machines.filter((m) => !why(action, m));
  const outcome: Outcome = {changed: [], removed: [], failed: []};
  if (able.length === 0) return outcome;
  let keepDisks = false;
  if (action !== 'start') {
    const answer = await ask(question(action, able, machines.length - able.length));
    if (!answer.go) return outcome;
    keepDisks = answer.option;
  }
  begin?.();
  const rest = [...able];
  const work = async () => {
    for (let m = rest.shift(); m; m = rest.shift()) await one(action, m, keepDisks, outcome);
  };
  await Promise.all(Array.from({length: Math.min(atOnce, able.length)}, work));
  tell(action, able.length, outcome);
  return outcome;
}

async function one(action: Action, m: Machine, keepDisks: boolean, outcome: Outcome): Promise<void> {
  const path = machinePath(m.id);
  try {
    if (action === 'remove') {
      await del<void>(`${path}?force=${running(m.status)}&keepDisks=${keepDisks}`);
      outcome.removed.push(m);
    } else {
      outcome.changed.push(await post<Machine>(`${path}/${action}`));
    }
  } catch (error) {
    outcome.failed.push({machine: m, why: problemText(error)});
  }
}

function tell(action: Action, count: number, {failed, removed}: Outcome): void {
  if (failed.length > 0) {
    const first = failed.slice(0, 3).map((f) => (count === 1 ? f.why : `${f.machine.name}: ${f.why}`));
    if (failed.length > 3) first.push(fill(texts.andMore, {count: failed.length - 3}));
    const values = {name: failed[0]?.machine.name ?? '', failed: failed.length, count};
    toast({kind: 'bad', title: fill((count === 1 ? texts.failed : texts.failedMany)[action], values), text: first.join('. ')});
  } else if (removed.length > 0) {
    toast({kind: 'ok', title: fill(removed.length === 1 ? texts.removed : texts.removedMany, {name: removed[0]?.name ?? '', count: removed.length})});
  }
}
