// What happens when the user is done: the definition is sent, or what keeps it from being sent is told.
import {useState} from 'preact/hooks';
import {call, patch, post, Problem} from './api';
import {nameOf, type Opening} from './definition';
import type {Way} from './composing';
import {isPlain, kindOf} from './language';
import {problemText} from './problem';
import {sentence} from './remarks';
import type {Diagnostic, Machine} from './types';
import type {ComposeData, Work, Working} from './work';
import texts from '../texts/compose.json';
import {machinePath} from './linked';

/** One thing that keeps the work from being done, and where it is mended. */
export interface Wrong extends Way { text: string }

/** What useSubmit knows of the page. */
export interface Submission {
  data: ComposeData;
  working: Working;
  opening: Opening;
  /** What the last rendering said. */
  rendered: readonly Diagnostic[];
  /** What controls hold back, by field. */
  held: ReadonlyMap<string, string>;
  /** The two passwords differ. */
  mismatch: boolean;
}

/** send makes, changes or starts a machine, and returns the id of the one to look at then. */
export async function send(data: ComposeData, work: Work, opening: Opening, start: boolean): Promise<string> {
  const documents = work.documents.filter((d) => d.text.trim() !== '');
  if (data.mode === 'new') {
    const made = await post<{machines: Machine[]}>('/machines', {...work.settings, documents, start});
    return made.machines[0]?.id ?? '';
  }
  const id = data.machine?.id ?? '';
  const delivery = work.settings.delivery ? {delivery: work.settings.delivery} : {};
  const path = machinePath(id);
  if (data.mode === 'edit') {
    const name = opening.ok ? nameOf(opening.opened.tree) : '';
    await patch<Machine>(path, {documents, ...delivery, ...(name && name !== data.machine?.name ? {name} : {})});
    return id;
  }
  await call<Machine>('POST', `${path}/start`, {documents, ...delivery, ...work.run});
  return id;
}

/** isNameless reports whether nobody names the machine of documents of other forms: what only the guest reads does not. */
export const isNameless = (work: Work): boolean => !work.settings.name && work.documents.every((d) => d.role || isPlain(kindOf(d.text)));

/** wrongs are what the page itself knows to be wrong, before anything is sent. */
export function wrongs({opening, rendered, held, mismatch, data, working}: Submission): Wrong[] {
  const out: Wrong[] = [];
  const nameless = data.mode !== 'run' && (opening.ok ? !nameOf(opening.opened.tree) : data.mode === 'new' && isNameless(working.work));
  if (nameless) out.push({field: 'metadata.name', text: texts.errors.name});
  for (const [field, text] of held) out.push({field, text});
  if (mismatch) out.push({field: 'verify', text: texts.errors.verify});
  for (const d of rendered) {
    if (d.severity === 'error' && !(nameless && d.field === 'metadata.name')) out.push({...(d.field ? {field: d.field} : {}), diagnostic: d, text: sentence(d)});
  }
  return out;
}

/** useSubmit sends the work. */
export function useSubmit(submission: Submission) {
  const {data, working, opening, rendered} = submission;
  const [attempted, setAttempted] = useState(false);
  const [busy, setBusy] = useState<'plain' | 'start'>();
  const [refused, setRefused] = useState<{of: Work; diagnostics: readonly Diagnostic[]; text: string}>();
  const current = refused?.of === working.work ? refused : undefined;
  const diagnostics = current?.diagnostics.length ? current.diagnostics : rendered;
  const known = {...submission, rendered: diagnostics};
  const go = async (how: 'plain' | 'start') => {
    setAttempted(true);
    // The last rendering may be of what stood here a moment ago: whether the documents will do is the daemon's to say.
    if (busy || wrongs({...submission, rendered: []}).length > 0) return;
    setBusy(how);
    try {
      const id = await send(data, working.work, opening, how === 'start');
      working.done();
      location.assign(id ? machinePath(id) : '/machines');
    } catch (e) {
      setBusy(undefined);
      const said = e instanceof Problem ? e.diagnostics : [];
      setRefused({of: working.work, diagnostics: said, text: said.some((d) => d.severity === 'error') ? '' : problemText(e)});
    }
  };
  return {go, busy, attempted, diagnostics, wrong: attempted ? wrongs(known) : [], problem: current?.text};
}
