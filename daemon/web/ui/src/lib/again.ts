// What the next start is to the agent in the guest, as the daemon will decide it.
import type {Machine, RenderResult} from './types';

/** first: nothing of a first boot has ended yet. again: it runs once more. changed: it would if the start asked for it. not: it is over.
 * disk: Ignition looks at a disk only once. */
export type Again = 'first' | 'again' | 'changed' | 'not' | 'disk';

/** What a start asks for. */
export interface Wish {
  /** Changed data are to take effect. */
  initialize?: boolean | undefined;
  /** Is added to the generation, so that first boot runs in any case. */
  generation?: number | undefined;
}

/** againOf tells what the next start is to the guest. */
export function againOf(machine: Machine | undefined, result: RenderResult, wish: Wish): Again {
  if (!machine?.initialized) return 'first';
  if (result.seeds[0]?.dataSource === 'ignition') return 'disk';
  if (wish.generation || wish.initialize && result.firstBoot) return 'again';
  return result.firstBoot ? 'changed' : 'not';
}
