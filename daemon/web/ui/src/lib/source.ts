// What a machine boots from: a template, an image under its root disk, or whatever the definition says.
import {usable} from './storage';
import type {Image, Template} from './types';
import type {Tree, View} from './tree';

/** rootDisk is the number of the disk that the machine boots from, or -1. */
export function rootDisk(tree: View): number {
  for (let i = 0; i < tree.count('spec.disks'); i++) if (tree.get(`spec.disks[${i}].root`) === true) return i;
  return -1;
}

/** imageOf is the image under the root disk, empty when it has none. */
export function imageOf(tree: View): string {
  const at = rootDisk(tree);
  return at < 0 ? '' : tree.text(`spec.disks[${at}].source.image`);
}

/** setImage puts an image under the root disk, which is added for it first of all disks. An empty one takes it away. */
export function setImage(tree: Tree, image: string): void {
  const at = rootDisk(tree);
  if (at >= 0) {
    if (image) tree.set(`spec.disks[${at}].source`, {image});
    else if (tree.get(`spec.disks[${at}].source.image`) !== undefined) tree.remove(`spec.disks[${at}]`);
    return;
  }
  if (!image) return;
  const others = tree.get('spec.disks');
  tree.set('spec.disks', [{name: 'root', root: true, source: {image}}, ...(Array.isArray(others) ? others as unknown[] : [])]);
}

/** nameForImage is how a definition names an image of the repository; empty for one that it cannot name. */
export const nameForImage = (image: Image): string => image.path ?? '';

/** isDisc reports whether an image of the repository is one of a CD or DVD. */
export const isDisc = (image: Pick<Image, 'file'>): boolean => /\.iso$/i.test(image.file);

/** bootable picks what a machine can boot from: templates with a disk, and images of disks that it can name, with nothing wrong with them. The template that is chosen
 * already is among them. */
export function bootable(templates: readonly Template[], images: readonly Image[], chosen: string | undefined): {templates: Template[]; images: Image[]} {
  return {
    templates: templates.filter((t) => t.id === chosen || t.status === 'ok' && t.disk),
    images: images.filter((i) => i.path && !isDisc(i) && usable(i)),
  };
}

/** isCD reports whether a disk of the definition is in a CD drive. */
export const isCD = (tree: View, disk: number): boolean => tree.text(`spec.disks[${disk}].device`) === 'cdrom';

/** discAt is the number of the disk that is the CD of the form: of those in drives that are files of the daemon's host the one with a name, else the
 * first; -1 when there is none. With null as the name the form has none, and those that there are stand with the other disks. */
export function discAt(tree: View, name?: string | null): number {
  if (name === null) return -1;
  const discs = Array.from({length: tree.count('spec.disks')}, (_, i) => i).filter((i) => isCD(tree, i) && tree.text(`spec.disks[${i}].source.path`));
  return discs.find((i) => tree.text(`spec.disks[${i}].name`) === name) ?? discs[0] ?? -1;
}

/** discOf is the path of the CD, or nothing when there is none. */
export function discOf(tree: View, at = discAt(tree)): string | undefined {
  return at < 0 ? undefined : tree.text(`spec.disks[${at}].source.path`);
}

/** freeDisk is a name that no disk has yet: the stem, or the stem with a number from 1. */
export function freeDisk(tree: View, stem: string, numbered = false): string {
  const names = new Set(Array.from({length: tree.count('spec.disks')}, (_, i) => tree.text(`spec.disks[${i}].name`)));
  if (!numbered && !names.has(stem)) return stem;
  let n = 1;
  while (names.has(stem + n)) n++;
  return stem + n;
}

/** discName is the name of the disk that is the CD of the form, or would be. */
export const discName = (tree: View, at: number): string => (at >= 0 ? tree.text(`spec.disks[${at}].name`) : freeDisk(tree, 'cdrom'));

/** setDisc attaches a CD by its path in the place of the one of the form, or takes that away. */
export function setDisc(tree: Tree, path: string | undefined, at = discAt(tree)): void {
  if (path === undefined) {
    if (at >= 0) tree.remove(`spec.disks[${at}]`);
  } else if (at >= 0) tree.set(`spec.disks[${at}].source.path`, path);
  else tree.append('spec.disks', {name: discName(tree, at), device: 'cdrom', readOnly: true, source: {path}});
}

/** The name of the medium that the form attaches as a prepared seed. */
const prepared = 'seed';

/** preparedAt is the number of the medium that is a prepared seed, or -1. */
export function preparedAt(tree: View): number {
  for (let i = 0; i < tree.count('spec.media'); i++) if (tree.text(`spec.media[${i}].kind`) === 'prepared') return i;
  return -1;
}

/** preparedOf is the path of the prepared seed, or nothing when none is attached. */
export function preparedOf(tree: View): string | undefined {
  const at = preparedAt(tree);
  return at < 0 ? undefined : tree.text(`spec.media[${at}].path`);
}

/** setPrepared attaches a seed that is made already, in the place of the one that would be made, or takes it away and goes back to a data source. */
export function setPrepared(tree: Tree, path: string | undefined, before = ''): void {
  const at = preparedAt(tree);
  if (path === undefined) {
    if (at < 0) return;
    tree.remove(`spec.media[${at}]`);
    tree.set('spec.dataSource', before);
    return;
  }
  if (at >= 0) tree.set(`spec.media[${at}].path`, path);
  else tree.append('spec.media', {name: prepared, kind: 'prepared', path});
  tree.set('spec.dataSource', 'none');
}
