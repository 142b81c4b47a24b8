// What a preview is compared with: the files that the guest was given at its last start, of which the daemon keeps a copy without secrets when it
// stops; and of a machine that never ran, what the definition that is saved would give it.
import {useEffect, useState} from 'preact/hooks';
import {get, Problem, render} from './api';
import {machinePath} from './linked';
import type {Machine, RenderResult, RunResult, Seed} from './types';

/** hasFiles reports whether there is something to read in a seed. */
export const hasFiles = (s: Seed | undefined): boolean =>
  Boolean(s?.volumes?.length || s?.trees?.length || s?.firmware?.length || s?.credentials?.length);

/** A seed that was asked for. */
export interface Asked {
  seed?: Seed;
  /** Its secrets are not kept, and cannot be shown. */
  maskedOnly?: boolean;
  /** The answer is there. */
  asked: boolean;
  error?: unknown;
}

/** What came of a question. */
interface Answer<T> {
  /** What there is; nothing when there is none. */
  value?: T;
  asked: boolean;
  error?: unknown;
}

/** useAnswer asks whenever the key changes; nothing is asked for an empty key. */
function useAnswer<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Answer<T> {
  const [state, setState] = useState<Answer<T> & {key: string}>({asked: false, key: ''});
  useEffect(() => {
    if (!key) return undefined;
    const flight = new AbortController();
    ask(flight.signal).then(
      (value) => setState({asked: true, key, value}),
      (error: unknown) => {
        if (flight.signal.aborted) return;
        setState(error instanceof Problem && error.status === 404 ? {asked: true, key} : {asked: true, key, error});
      });
    return () => flight.abort();
  }, [key]);
  return state.key === key ? state : {asked: false};
}

/** useSeed asks for a seed in the same way. */
function useSeed(key: string, ask: (signal: AbortSignal) => Promise<RenderResult>): Asked {
  const {value, asked, error} = useAnswer(key, ask);
  return {asked, ...(value?.seeds[0] ? {seed: value.seeds[0]} : {}), ...(value?.maskedOnly ? {maskedOnly: true} : {}), ...(error !== undefined ? {error} : {})};
}

/** What the files of a preview are compared with: those that the guest was given last, or those that the saved definition makes. */
export interface Base {
  seed: Seed;
  of: 'given' | 'saved';
  /** They are kept without their secrets: with those of a preview they cannot be compared. */
  bare: boolean;
}

/** isBase reports whether a seed can be compared with another one: it has files, and is for the same data source. */
const isBase = (seed: Seed | undefined, of: Seed | undefined): seed is Seed => hasFiles(seed) && seed?.dataSource === of?.dataSource;

/** baseOf picks what a seed is compared with. What another data source was given to read has other files altogether. */
export function baseOf(seed: Seed | undefined, given: Asked, saved: Asked): Base | undefined {
  if (isBase(given.seed, seed)) return {seed: given.seed, of: 'given', bare: Boolean(given.maskedOnly)};
  return isBase(saved.seed, seed) ? {seed: saved.seed, of: 'saved', bare: false} : undefined;
}

/** useBase asks for what a seed is compared with. */
export function useBase(machine: Machine | undefined, seed: Seed | undefined, source: string, reveal: boolean): Base | undefined {
  const given = useGiven(machine?.started ? machine : undefined, reveal);
  const none = !machine?.started || given.asked && !isBase(given.seed, seed);
  const saved = useKept(seed && none ? machine : undefined, source, reveal);
  return baseOf(seed, given, saved);
}

/** runOf tells the runs of a machine apart, and one that is over from itself. */
const runOf = (machine: Machine | undefined, reveal: boolean): string => (machine ? `${machine.id} ${machine.started ?? ''} ${machine.ended ?? ''} ${reveal}` : '');

/** useGiven asks what the guest was given at its last start, again at each new start, and with its secrets only when they are to be seen. */
export function useGiven(machine: Machine | undefined, reveal: boolean): Asked {
  return useSeed(runOf(machine, reveal), (signal) => get<RenderResult>(machinePath(machine?.id ?? '', reveal ? '/seed?reveal=true' : '/seed'), signal));
}

/** useRan asks for the documents that the current or last run was started with, of a machine that has had one. */
export function useRan(machine: Machine | undefined, reveal: boolean): Answer<RunResult> {
  const ran = machine?.started ? machine : undefined;
  return useAnswer(runOf(ran, reveal), (signal) => get<RunResult>(machinePath(ran?.id ?? '', reveal ? '/run?reveal=true' : '/run'), signal));
}

/** useKept asks what the definition that is kept makes for a data source, or for its own. */
export function useKept(machine: Machine | undefined, source: string, reveal: boolean): Asked {
  const key = machine ? `${machine.id} ${machine.revision} ${machine.generation ?? 0} ${machine.started ?? ''} ${source} ${reveal}` : '';
  return useSeed(key, (signal) => render({run: true, reveal, ...(source ? {dataSources: [source]} : {})}, machine?.id, signal));
}
