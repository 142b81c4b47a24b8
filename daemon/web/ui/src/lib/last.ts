import {useEffect, useState} from 'preact/hooks';
import {get} from './api';
import {Problem} from './api';
import type {Machine, RenderResult, Seed} from './types';

/** What a machine's guest was given at its last start. */
export interface Last {
  last?: Seed;
  /** The answer is there; without a seed the machine has not been started. */
  asked: boolean;
  error?: unknown;
}

/** useLast asks what the guest was given, again at each new start, and with its secrets only when they are to be seen. */
export function useLast(machine: Machine | undefined, reveal: boolean): Last {
  const [state, setState] = useState<Last>({asked: false});
  const {id, started} = machine ?? {};
  useEffect(() => {
    if (!id) return undefined;
    const flight = new AbortController();
    get<RenderResult>(`/machines/${encodeURIComponent(id)}/seed${reveal ? '?reveal=true' : ''}`, flight.signal).then(
      (r) => setState({asked: true, ...(r.seeds[0] ? {last: r.seeds[0]} : {})}),
      (error: unknown) => {
        if (flight.signal.aborted) return;
        setState(error instanceof Problem && error.status === 404 ? {asked: true} : {asked: true, error});
      });
    return () => flight.abort();
  }, [id, started, reveal]);
  return state;
}
