// What a preview is compared with: the files that the guest was given at its last start, of which the daemon keeps a copy without secrets when it
// stops; and of a machine that never ran, what the definition that is saved would give it.
import {useEffect, useState} from 'preact/hooks';
import {get, Problem, render} from './api';
import {machinePath} from './linked';
import type {Machine, RenderResult, Seed} from './types';

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

/** useSeed asks for a seed whenever the key changes; nothing is asked for an empty key. */
function useSeed(key: string, ask: (signal: AbortSignal) => Promise<RenderResult>): Asked {
  const [state, setState] = useState<Asked & {key: string}>({asked: false, key: ''});
  useEffect(() => {
    if (!key) return undefined;
    const flight = new AbortController();
    ask(flight.signal).then(
      (r) => setState({asked: true, key, ...(r.seeds[0] ? {seed: r.seeds[0]} : {}), ...(r.maskedOnly ? {maskedOnly: true} : {})}),
      (error: unknown) => {
        if (flight.signal.aborted) return;
        setState(error instanceof Problem && error.status === 404 ? {asked: true, key} : {asked: true, key, error});
      });
    return () => flight.abort();
  }, [key]);
  return state.key === key ? state : {asked: false};
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

/** useGiven asks what the guest was given at its last start, again at each new start, and with its secrets only when they are to be seen. */
export function useGiven(machine: Machine | undefined, reveal: boolean): Asked {
  const key = machine ? `${machine.id} ${machine.started ?? ''} ${machine.ended ?? ''} ${reveal}` : '';
  return useSeed(key, (signal) => get<RenderResult>(machinePath(machine?.id ?? '', reveal ? '/seed?reveal=true' : '/seed'), signal));
}

/** useKept asks what the definition that is kept makes for a data source, or for its own. */
export function useKept(machine: Machine | undefined, source: string, reveal: boolean): Asked {
  const key = machine ? `${machine.id} ${machine.revision} ${machine.generation ?? 0} ${machine.started ?? ''} ${source} ${reveal}` : '';
  return useSeed(key, (signal) => render({run: true, reveal, ...(source ? {dataSources: [source]} : {})}, machine?.id, signal));
}
