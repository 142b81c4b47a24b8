// What the page of a machine knows, and how it learns what changes.
import {useCallback, useEffect, useRef, useState} from 'preact/hooks';
import {get, Problem} from './api';
import {follow, type Stream} from './events';
import {machinePath} from './linked';
import {problemText} from './problem';
import {followBoot, type BootFollower} from './stream';
import type {DaemonEvent, Doc, GuestReport, Machine} from './types';

/** The data that the server writes into the page. */
export interface MachineData {
  machine: Machine;
  lastEvent: number;
}

/** A machine as it is now. */
export interface Live {
  machine: Machine;
  /** What happened since the page was made, newest first. */
  events: DaemonEvent[];
  /** How often events were missed that do not come any more. */
  gaps: number;
  /** Rises with all that happens to the machine. */
  pulse: number;
  removed: boolean;
  stream: Stream;
  /** Why the machine could not be read; what is shown is as it was before. */
  error?: unknown;
  /** Reads it again. */
  retry: () => void;
  /** Takes what an action answered, before the events say the same. */
  take: (machine: Machine) => void;
}

/** How many events the page keeps. */
const kept = 500;
/** How long, in milliseconds, until what could not be read is read again. */
const pause = 5000;

/** useMachine follows a machine by the daemon's events. */
export function useMachine(data: MachineData): Live {
  const [machine, take] = useState(data.machine);
  const [events, setEvents] = useState<DaemonEvent[]>([]);
  const [gaps, setGaps] = useState(0);
  const [removed, setRemoved] = useState(false);
  const [stream, setStream] = useState<Stream>('open');
  const id = data.machine.id;
  const [error, setError] = useState<unknown>();
  const asking = useRef({under: false, again: false});
  const refresh = useCallback(async () => {
    if (asking.current.under) {
      asking.current.again = true;
      return;
    }
    asking.current.under = true;
    do {
      asking.current.again = false;
      try {
        take(await get<Machine>(machinePath(id)));
        setError(undefined);
      } catch (e) {
        if (e instanceof Problem && e.status === 404) setRemoved(true);
        else setError(e);
      }
    } while (asking.current.again);
    asking.current.under = false;
  }, [id]);
  useEffect(() => {
    if (error === undefined) return undefined;
    const timer = setInterval(() => { if (!document.hidden) void refresh(); }, pause);
    return () => clearInterval(timer);
  }, [error !== undefined, refresh]);
  useEffect(() => follow({
    since: data.lastEvent, machine: id, onStream: setStream, onGap: () => {
      setGaps((n) => n + 1);
      void refresh();
    },
    onEvents: (fresh) => {
      setEvents((old) => [...[...fresh].reverse(), ...old].slice(0, kept));
      if (fresh.some((e) => e.kind === 'machine.removed')) setRemoved(true);
      else void refresh();
    },
  }), [id]);
  return {machine, events, gaps, pulse: (events[0]?.id ?? 0) + gaps, removed, stream, take, error, retry: () => void refresh()};
}

/** useBoot follows what the guest says of its current or last run. It begins anew with each run, and looks again at each pulse of the machine. */
export function useBoot(m: Machine, pulse: number): {reports: GuestReport[] | undefined} {
  const [reports, setReports] = useState<GuestReport[] | undefined>();
  const follower = useRef<BootFollower | undefined>(undefined);
  const run = m.started ?? '';
  useEffect(() => {
    setReports(undefined);
    if (!run) return;
    const mine = follower.current = followBoot(m.id, {onReports: setReports});
    return () => {
      mine.end();
      follower.current = undefined;
    };
  }, [m.id, run]);
  useEffect(() => follower.current?.wake(), [pulse]);
  return {reports};
}

/** What reading something came to. */
export type Read<T> = {value?: T; error?: string};

/** useDocuments reads the definition of a machine when it is wanted, again after each change of it. */
export function useDocuments(m: Machine, wanted: boolean, changes: number): Read<Doc[]> & {retry: () => void} {
  const [read, set] = useState<Read<Doc[]>>({});
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (!wanted) return;
    const abort = new AbortController();
    get<{documents: Doc[]}>(machinePath(m.id, '/documents'), abort.signal)
      .then((d) => set({value: d.documents}))
      .catch((e: unknown) => { if (!abort.signal.aborted) set({error: problemText(e)}); });
    return () => abort.abort();
  }, [m.id, wanted, changes, attempt]);
  return {...read, retry: () => setAttempt((n) => n + 1)};
}
