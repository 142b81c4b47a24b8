// The state of the page that writes a definition: the documents, what is said beside them, and the draft of all that.
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {fresh, isNative} from './definition';
import {draft, type Draft} from './draft';
import {isPlain, kindOf, nameFor} from './language';
import type {TypedAddress} from './nics';
import type {Diagnostic, Doc, Machine, Settings, Template, Version} from './types';

/** What the page is for: a new machine, a machine's definition, or one run of it. */
export type Mode = 'new' | 'edit' | 'run';

/** What the server writes into the page. */
export interface ComposeData { mode: Mode; machine?: Machine; templates: Template[]; version: Version; draftKey: string }

/** What a definition said of the default user's password when it came here. */
export interface Stored { password?: unknown; passwordHash?: unknown }

/** What the user has done about the password. */
export interface PasswordWork {
  /** What was typed. A password of the definition that is not this one has come with it, and is not asked for again. */
  typed: string;
  /** What was typed the second time. */
  verify: string;
  /** The same of the account that adds a Windows to its domain. */
  join?: {typed: string; verify: string};
  /** The password that came with the definition, while another one is typed in its place. */
  stored?: Stored;
}

/** How the run begins and ends. */
export interface RunOptions { initialize: boolean; newGeneration: boolean; volatile: boolean; noSeed: boolean }

/** What a user works at. It is what a draft keeps. */
export interface Work {
  documents: Doc[];
  settings: Settings;
  password: PasswordWork;
  run: RunOptions;
  /** What was typed as an address and is none yet, by the path of its control. The definition cannot say it. */
  addresses?: Readonly<Record<string, TypedAddress>>;
}

/** What a draft holds: the work, the documents and the revision of the machine that it began with, and what it took the place of. */
interface Kept { work: Work; base: string; revision?: string | undefined; former?: Former | undefined }

/** Why other work stands in the place of some: its documents were converted, for the machine or for one run, others were used instead, what is there now
 * was loaded, the user gave it up, or it was brought back. */
export type Why = 'converted' | 'run' | 'used' | 'loaded' | 'discarded' | 'back';

/** Work that other work took the place of. It is kept aside, so that it can come back. */
export interface Former {
  why: Why;
  work: Work;
  /** The revision of the machine that it began with. */
  revision?: string | undefined;
  /** What a conversion said. */
  diagnostics?: readonly Diagnostic[] | undefined;
}

/** begin is the work at the beginning. */
export function begin(documents: Doc[], settings: Settings): Work {
  return {documents, settings, password: {typed: '', verify: ''}, run: {initialize: true, newGeneration: false, volatile: false, noSeed: false}};
}

/** withoutBlank leaves out the document that a new machine begins with when others have come and nothing was written into it, also when a whole
 * other one was pasted before or behind it. */
export function withoutBlank(documents: Doc[]): Doc[] {
  const blank = fresh().text;
  const apart = documents.map((d) => {
    const rest = d.text.startsWith(blank) ? d.text.slice(blank.length) : d.text.endsWith(blank) ? d.text.slice(0, -blank.length) : '';
    return rest.trim() && kindOf(rest) !== 'other' && !isCompanion(rest) ? {...d, text: rest, name: nameFor(rest, documents.filter((x) => x !== d).map((x) => x.name ?? ''))} : d;
  });
  if (!apart.some((d) => d.text === blank) || !apart.some((d) => d.text.trim() && d.text !== blank)) return apart;
  return apart.every((d) => d.text === blank || isCompanion(d.text)) ? apart : apart.filter((d) => d.text !== blank);
}

/** replaced is the work on a new machine when its documents are others. A definition that comes says itself what the machine boots from, so the template
 * that was proposed goes; files that only the guest reads keep it. */
export function replaced(work: Work, documents: Doc[]): Work {
  const next = withoutBlank(documents);
  const blank = fresh().text;
  const came = work.documents.some((d) => d.text === blank) && !next.some((d) => d.text === blank);
  if (!came || next.every((d) => d.role || isPlain(kindOf(d.text))) || next.some((d) => isNative(d.text))) return {...work, documents: next};
  const {template: _, ...settings} = work.settings;
  return {...work, documents: next, settings};
}

/** isCompanion reports whether a text holds nothing but what machines refer to, so that there is still one to be written. */
function isCompanion(text: string): boolean {
  const kinds = [...text.matchAll(/^kind:\s*["']?(\w+)/gm)].map((m) => m[1]);
  return !isNative(text) && kinds.length > 0 && kinds.every((k) => k === 'Secret' || k === 'ConfigMap');
}

/** How long a draft waits for the next key stroke, in ms. */
const pause = 150;

/** What useWork knows. */
export interface Working {
  work: Work;
  /** The revision of the machine that the work began with, or that its user has agreed to replace. */
  revision: string | undefined;
  put: (change: (work: Work) => Work) => void;
  /** Puts other work into the place of this one, which is kept aside. Work that the change leaves as it is is not replaced. */
  replace: (why: Why, change: (work: Work) => Work, diagnostics?: readonly Diagnostic[]) => void;
  /** Begins with what there is now, as another revision; this work is kept aside. */
  load: (work: Work, revision: string | undefined) => void;
  /** The user replaces what there is at a revision. */
  agree: (revision: string | undefined) => void;
  /** What this work took the place of. */
  former: Former | undefined;
  /** Exchanges the work with the one that is kept aside. */
  back: () => void;
  /** Keeps it no longer. */
  forget: () => void;
  /** When the draft was kept that this work came from. */
  restored: Date | undefined;
  /** The machine has been changed elsewhere since then. */
  outdated: boolean;
  /** Gives up the work for what it began with. */
  discard: () => void;
  /** How often other work came: controls that hold back what was typed begin anew with it. */
  turn: number;
  /** The work is done: no draft of it is kept. */
  done: () => void;
  /** Drafts cannot be kept here. */
  volatile: boolean;
  dirty: boolean;
}

/** What there is at a revision of the machine, and what the user has made of it. */
interface State {
  start: {work: Work; revision: string | undefined};
  work: Work;
  revision: string | undefined;
  former?: Former | undefined;
  turn: number;
}

/** aside is the work of a state as it is kept aside. */
const aside = ({work, revision}: State, why: Why, diagnostics?: readonly Diagnostic[]): Former => ({why, work, revision, diagnostics});

/** useWork is the work at a page, restored from its draft and kept in it. It is undefined until the draft has been looked for. */
export function useWork(name: string, key: string, initial: Work, revision?: string): Working | undefined {
  const place = useMemo<Draft<Kept> | null>(() => draft<Kept>(name, key), []);
  const begun = {start: {work: initial, revision}, work: initial, revision, turn: 0};
  const [state, setState] = useState<State | undefined>(place ? undefined : begun);
  const [from, setFrom] = useState<{saved: Date; outdated: boolean}>();
  const finished = useRef(false);
  const dirty = state !== undefined && state.work !== state.start.work;
  useEffect(() => {
    void place?.load().then((kept) => {
      if (!kept) return setState(begun);
      const {work, base, revision: since = revision, former} = kept.value;
      setFrom({saved: kept.saved, outdated: base !== baseOf(initial) || since !== revision});
      setState({...begun, work, revision: since, former});
    });
  }, []);
  useEffect(() => {
    if (!place || !dirty) return undefined;
    const {work, revision, former, start} = state;
    const save = () => void (finished.current || place.save({work, base: baseOf(start.work), revision, former}));
    const timer = setTimeout(save, pause);
    addEventListener('pagehide', save);
    return () => {
      clearTimeout(timer);
      removeEventListener('pagehide', save);
    };
  }, [state]);
  useEffect(() => {
    if (place || !dirty) return undefined;
    const ask = (e: BeforeUnloadEvent) => (finished.current ? undefined : e.preventDefault());
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [dirty]);
  if (!state) return undefined;
  const {work, former, turn} = state;
  const set = (change: (s: State) => State) => setState((s) => s && change(s));
  return {
    work, revision: state.revision, former, dirty, turn, volatile: !place, restored: from?.saved, outdated: from?.outdated ?? false,
    put: (change) => set((s) => ({...s, work: change(s.work)})),
    replace: (why, change, diagnostics) => set((s) => {
      const next = change(s.work);
      return next === s.work ? s : {...s, work: next, former: aside(s, why, diagnostics)};
    }),
    load: (work, revision) => {
      setFrom(undefined);
      set((s) => ({start: {work, revision}, work, revision, turn: s.turn + 1, former: aside(s, 'loaded')}));
    },
    agree: (revision) => set((s) => ({...s, revision})),
    back: () => set((s) => (s.former ? {...s, work: s.former.work, revision: s.former.revision, turn: s.turn + 1, former: aside(s, 'back')} : s)),
    forget: () => set((s) => ({...s, former: undefined})),
    discard: () => {
      place?.drop();
      setFrom(undefined);
      set((s) => ({...s, work: s.start.work, revision: s.start.revision, turn: s.turn + 1, former: aside(s, 'discarded')}));
    },
    done: () => {
      finished.current = true;
      place?.drop();
    },
  };
}

/** baseOf tells definitions apart. */
const baseOf = (work: Work): string => JSON.stringify(work.documents);
