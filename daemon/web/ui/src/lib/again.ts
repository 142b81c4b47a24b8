// Whether the guest's agent does its work again at the next start, told by what the last start gave it.
import type {Seed} from './types';

/** What the next start is to the guest's agent. */
export type Again = 'first' | 'again' | 'not' | 'disk' | 'unknown';

/** againOf compares the seed of the next start with the one of the last: cloud-init's modules of the first boot run for each new instance
 * id, and Ignition runs for each new disk, whatever it is told. */
export function againOf(next: Seed, last: Seed | undefined): Again {
  if (!last) return 'first';
  if (next.dataSource === 'ignition') return 'disk';
  if (!next.instanceId || !last.instanceId) return 'unknown';
  return next.instanceId === last.instanceId ? 'not' : 'again';
}
