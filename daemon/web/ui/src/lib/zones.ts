// The time zones of Windows, from the table by which the daemon writes answer files: each line begins with a name, and a colon ends that.
import table from '../../../../../format/unattend/zones.txt';

/** windowsZones are the names that Windows has for time zones. */
export const windowsZones: readonly string[] = table.split('\n').map((line) => line.slice(0, Math.max(line.indexOf(':'), 0))).filter(Boolean);
