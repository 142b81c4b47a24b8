// What happens when the user is done: the definition is sent, or what keeps it from being sent is told.
import {useState} from 'preact/hooks';
import {call, get, patch, post, Problem} from './api';
import {nameOf, type Opening} from './definition';
import type {Way} from './composing';
import {isPlain, kindOf} from './language';
import {problemText} from './problem';
import {sentence} from './remarks';
import type {Diagnostic, Doc, Machine} from './types';
import {begin, type ComposeData, type Work, type Working} from './work';
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
  /** Called with the machine as it is now, when it is another one than the page knows. */
  onMachine: (machine: Machine) => void;
}

/** firstSettings are those that a page begins with: of a new machine the template that the page's address names, else the first that can be used; of one
 * that there is its delivery. */
export function firstSettings(data: ComposeData): Work['settings'] {
  if (data.mode === 'edit' && data.machine?.delivery) return {delivery: data.machine.delivery};
  if (data.mode !== 'new') return {};
  const asked = new URLSearchParams(location.search).get('template');
  const usable = data.templates.filter((t) => t.status === 'ok');
  const template = usable.find((t) => t.id === asked) ?? usable.find((t) => t.disk);
  return template ? {template: template.id} : {};
}

/** documentsOf reads what a machine is made of. */
export const documentsOf = async (id: string): Promise<Doc[]> => (await get<{documents: Doc[]}>(machinePath(id, '/documents'))).documents;

/** send makes, changes or starts a machine, and returns the id of the one to look at then. A change is one of a revision of the machine, if one is given. */
export async function send(data: ComposeData, work: Work, opening: Opening, start: boolean, revision?: string): Promise<string> {
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
    await patch<Machine>(path, {documents, ...delivery, ...(name && name !== data.machine?.name ? {name} : {})}, revision);
    return id;
  }
  await call<Machine>('POST', `${path}/start`, {documents, ...delivery, ...work.run});
  return id;
}

/** isNameless reports whether nobody names the machine of documents of other forms: what only the guest reads does not. */
export const isNameless = (work: Work): boolean => !work.settings.name && work.documents.every((d) => d.role || isPlain(kindOf(d.text)));

/** lacksName reports whether the machine has to be given a name before it can be made or changed. */
export function lacksName({data, opening, working}: Pick<Submission, 'data' | 'opening' | 'working'>): boolean {
  return data.mode !== 'run' && (opening.ok ? !nameOf(opening.opened.tree) : data.mode === 'new' && isNameless(working.work));
}

/** wrongs are what the page itself knows to be wrong, before anything is sent. */
export function wrongs({opening, rendered, held, mismatch, data, working}: Omit<Submission, 'onMachine'>): Wrong[] {
  const out: Wrong[] = [];
  const nameless = lacksName({data, opening, working});
  if (nameless) out.push({field: 'metadata.name', text: texts.errors.name});
  for (const [field, text] of held) out.push({field, text});
  if (mismatch) out.push({field: 'verify', text: texts.errors.verify});
  for (const d of rendered) {
    if (d.severity === 'error' && !(nameless && d.field === 'metadata.name')) out.push({...(d.field ? {field: d.field} : {}), diagnostic: d, text: sentence(d)});
  }
  return out;
}

/** What is known of a machine that somebody else has changed since the work on it began: how it is now, as far as that could be read. */
export interface Conflict { machine: Machine | undefined }

/** useSubmit sends the work. */
export function useSubmit(submission: Submission) {
  const {data, working, opening, rendered} = submission;
  const [attempted, setAttempted] = useState(false);
  const [busy, setBusy] = useState<'plain' | 'start' | 'load'>();
  const [refused, setRefused] = useState<{of: Work; diagnostics: readonly Diagnostic[]; text: string}>();
  const [conflict, setConflict] = useState<Conflict>();
  const current = refused?.of === working.work ? refused : undefined;
  const diagnostics = current?.diagnostics.length ? current.diagnostics : rendered;
  const known = {...submission, rendered: diagnostics};
  const fail = (e: unknown) => {
    setBusy(undefined);
    const said = e instanceof Problem ? e.diagnostics : [];
    setRefused({of: working.work, diagnostics: said, text: said.some((d) => d.severity === 'error') ? '' : problemText(e)});
  };
  const put = async (how: 'plain' | 'start', revision: string | undefined) => {
    setAttempted(true);
    // The last rendering may be of what stood here a moment ago: whether the documents will do is the daemon's to say.
    if (busy || wrongs({...submission, rendered: []}).length > 0) return;
    setBusy(how);
    try {
      const id = await send(data, working.work, opening, how === 'start', revision);
      working.done();
      location.assign(id ? machinePath(id) : '/machines');
    } catch (e) {
      if (!(e instanceof Problem && e.status === 412)) return fail(e);
      const machine = await get<Machine>(machinePath(data.machine?.id ?? '')).catch(() => undefined);
      if (machine) submission.onMachine(machine);
      setConflict({machine});
      setBusy(undefined);
    }
  };
  const load = async () => {
    if (busy) return;
    setBusy('load');
    try {
      const id = data.machine?.id ?? '';
      // In this order: what changes between the two is told by the next attempt to save.
      const machine = await get<Machine>(machinePath(id));
      const documents = await documentsOf(id);
      setBusy(undefined);
      setConflict(undefined);
      submission.onMachine(machine);
      working.load(begin(documents, firstSettings({...data, machine})), machine.revision);
    } catch (e) {
      fail(e);
    }
  };
  return {
    go: (how: 'plain' | 'start') => put(how, working.revision),
    /** Loads what there is now in the place of the work, which is kept aside. */
    load,
    /** Saves the work over what somebody else has made of the machine, as far as its user was told of that. */
    overwrite: () => {
      working.agree(conflict?.machine?.revision);
      return put('plain', conflict?.machine?.revision);
    },
    busy, attempted, diagnostics, conflict, wrong: attempted ? wrongs(known) : [], problem: current?.text,
  };
}
