import type {Machine} from '../lib/types';

/** What can be done with a machine. */
export type Action = 'start' | 'stop' | 'shutdown' | 'reboot' | 'reset' | 'remove';

/** The actions of a machine as buttons and a menu, with questions before what loses something. */
export function Actions(_: {machine: Machine; /** Only the menu, for rows. */ compact?: boolean; onChange?: (machine: Machine) => void; onRemove?: (machine: Machine) => void}) {
  return null;
}
