// What the page of a machine knows, and how it learns what changes.
import {useCallback, useEffect, useRef, useState} from 'preact/hooks';
import {get, Problem} from './api';
import {follow, type Stream} from './events';
import {machinePath} from './linked';
import {problemText} from './problem';
import {followBoot} from './stream';
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
  removed: boolean;
  stream: Stream;
  /** Takes what an action answered, before the events say the same. */
  take: (machine: Machine) => void;
}

/** How many events the page keeps. */
const kept = 500;

/** useMachine follows a machine by the daemon's events. */
export function useMachine(data: MachineData): Live {
  const [machine, take] = useState(data.machine);
  const [events, setEvents] = useState<DaemonEvent[]>([]);
  const [gaps, setGaps] = useState(0);
  const [removed, setRemoved] = useState(false);
  const [stream, setStream] = useState<Stream>('open');
  const id = data.machine.id;
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
      } catch (e) {
        if (e instanceof Problem && e.status === 404) setRemoved(true);
      }
    } while (asking.current.again);
    asking.current.under = false;
  }, [id]);
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
  return {machine, events, gaps, removed, stream, take};
}

/** useBoot follows what the guest says of its current or last run. It begins anew with each run. */
export function useBoot(m: Machine): {reports: GuestReport[] | undefined} {
  const [reports, setReports] = useState<GuestReport[] | undefined>();
  const run = m.started ?? '';
  useEffect(() => {
    setReports(undefined);
    if (!run) return;
    return followBoot(m.id, {onReports: setReports});
  }, [m.id, run]);
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
