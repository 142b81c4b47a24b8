// What a preview is compared with: the files that the guest was given at its last start while those are there, which is as long as it
// runs, and otherwise what the definition that is kept would give it.
import {useEffect, useState} from 'preact/hooks';
import {get, Problem, render} from './api';
import {machinePath} from './linked';
import type {Machine, RenderResult, Seed} from './types';

/** hasFiles reports whether there is something to read in a seed. When a machine has stopped, its media are removed. */
export const hasFiles = (s: Seed | undefined): boolean =>
  Boolean(s?.volumes?.length || s?.trees?.length || s?.firmware?.length || s?.credentials?.length);

/** A seed that was asked for. */
export interface Asked {
  seed?: Seed;
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
      (r) => setState({asked: true, key, ...(r.seeds[0] ? {seed: r.seeds[0]} : {})}),
      (error: unknown) => {
        if (flight.signal.aborted) return;
        setState(error instanceof Problem && error.status === 404 ? {asked: true, key} : {asked: true, key, error});
      });
    return () => flight.abort();
  }, [key]);
  return state.key === key ? state : {asked: false};
}

/** useGiven asks what the guest was given at its last start, again at each new start, and with its secrets only when they are to be seen. */
export function useGiven(machine: Machine | undefined, reveal: boolean): Asked {
  const key = machine ? `${machine.id} ${machine.started ?? ''} ${machine.ended ?? ''} ${reveal}` : '';
  return useSeed(key, (signal) => get<RenderResult>(machinePath(machine?.id ?? '', reveal ? '/seed?reveal=true' : '/seed'), signal));
}

/** useKept asks what the definition that is kept makes for a data source, or for its own. */
export function useKept(machine: Machine | undefined, source: string, reveal: boolean): Asked {
  const key = machine ? `${machine.id} ${machine.generation ?? 0} ${machine.started ?? ''} ${source} ${reveal}` : '';
  return useSeed(key, (signal) => render({run: true, reveal, ...(source ? {dataSources: [source]} : {})}, machine?.id, signal));
}
