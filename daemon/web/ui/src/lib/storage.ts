// Images, templates and disks, and the jobs that make them.
import type {DaemonEvent, Disk, Image, Job, StorageDomain, Template} from './types';

/** What there is. */
export interface Storage {
  images: Image[];
  templates: Template[];
  disks: Disk[];
  domains: StorageDomain[];
  jobs: Job[];
}

/** touches reports whether events change what there is: all but those about machines, unless these may have got or lost a disk. */
export const touches = (events: DaemonEvent[]): boolean =>
  events.some((e) => /^(template|disk)\./.test(e.kind) || e.kind === 'machine.added' || e.kind === 'machine.removed' || (e.kind === 'machine.status' && e.status === 'down'));

/** suggestName makes the name of a template from that of an image: small letters, digits, dots and dashes, without the ending of a disk image. */
export const suggestName = (image: Pick<Image, 'name'>): string =>
  image.name.replace(/\.(qcow2|raw|img|iso)$/i, '').toLowerCase().replace(/[^a-z0-9.]+/g, '-').replace(/^[-.]+|[-.]+$/g, '').slice(0, 60);

/** What is wrong with a name: the key of the text that says so. */
export type NameTrouble = 'nameEmpty' | 'nameLong' | 'nameSlash' | 'nameTaken';

/** nameTrouble holds a name against the daemon's rules, before it does. */
export function nameTrouble(name: string, taken: readonly string[]): NameTrouble | undefined {
  if (name.trim() === '') return 'nameEmpty';
  if (new TextEncoder().encode(name).length > 255) return 'nameLong';
  if (name.includes('/')) return 'nameSlash';
  if (taken.some((t) => t.toLowerCase() === name.toLowerCase())) return 'nameTaken';
  return undefined;
}

/** usable reports whether an image can be imported. */
export const usable = (i: Image): boolean => !(i.problems ?? []).some((p) => p.severity === 'error');

/** isFree reports whether a disk belongs to nothing, and can be removed. */
export const isFree = (d: Disk): boolean => !d.machine && !d.template;

/** news compares jobs with what they were, and returns those that have ended since. What ended before the page was there is no news. */
export function news(before: Job[], now: Job[]): Job[] {
  const going = new Set(before.filter((j) => j.status === 'started').map((j) => j.id));
  return now.filter((j) => j.status !== 'started' && going.has(j.id));
}
