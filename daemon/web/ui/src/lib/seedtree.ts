// The files of a seed as a tree: volumes, HTTP trees and what the firmware has at the top, then directories, then files; and what is
// different from another seed.
import texts from '../texts/preview.json';
import {fill} from './texts';
import type {Seed, SeedFile} from './types';

/** How a file is different from the one that the guest was given before. */
export type Change = 'added' | 'removed' | 'changed';

/** A file of a seed. */
export interface Entry {
  /** Tells it from all others of its seed, and is the same in the seed of the next key stroke. */
  key: string;
  file: SeedFile;
  change?: Change;
  /** What the guest was given before. */
  before?: SeedFile;
}

/** Where files stand: a volume, a tree of a server, or a part of the firmware. */
export interface Group {
  key: string;
  label: string;
  detail: string;
  entries: Entry[];
}

/** groupsOf puts the files of a seed below what holds them. */
export function groupsOf(seed: Seed): Group[] {
  const out: Group[] = [];
  const add = (key: string, label: string, detail: string, files: readonly SeedFile[]) => {
    out.push({key, label, detail, entries: files.map((file) => ({key: `${key}/${file.path}`, file}))});
  };
  for (const v of seed.volumes ?? []) {
    const key = `volume:${v.name ?? ''}`;
    const detail = [v.format && (texts.formats as Record<string, string>)[v.format], v.label && fill(texts.label, {label: v.label}), v.image].filter(Boolean).join(', ');
    add(key, v.image ? texts.image : v.name ? fill(texts.volumeNamed, {name: v.name}) : texts.volume, detail, v.files);
  }
  for (const t of seed.trees ?? []) {
    const detail = [t.roots?.length ? fill(texts.roots, {roots: t.roots.length > 3 ? `${t.roots.slice(0, 2).join(', ')}, …` : t.roots.join(', ')}) : '', t.tokens === 'required' ? texts.tokens : ''].filter(Boolean).join('; ');
    add(`tree:${t.name}`, fill(texts.tree, {name: t.name}), detail, t.files);
  }
  if (seed.firmware?.length) add('firmware', texts.firmware, texts.firmwareDetail, seed.firmware);
  if (seed.credentials?.length) add('credentials', texts.credentials, texts.credentialsDetail, seed.credentials);
  if (seed.smbios?.length) add('smbios', texts.smbios, '', [linesFile('smbios', seed.smbios)]);
  if (seed.kernelArgs?.length) add('kernel', texts.kernel, '', [linesFile('cmdline', seed.kernelArgs)]);
  return out;
}

function linesFile(path: string, lines: readonly string[]): SeedFile {
  const text = lines.join('\n') + '\n';
  return {path, text, size: new TextEncoder().encode(text).length};
}

const content = (f: SeedFile) => f.text ?? f.base64 ?? '';

/** compared marks what is different in a seed, and puts the files that are gone where they were. */
export function compared(now: readonly Group[], before: readonly Group[]): Group[] {
  const old = new Map(before.map((g) => [g.key, g]));
  const out = now.map((g): Group => {
    const was = new Map(old.get(g.key)?.entries.map((e) => [e.key, e]));
    old.delete(g.key);
    const entries = g.entries.map((e): Entry => {
      const b = was.get(e.key);
      was.delete(e.key);
      if (!b) return {...e, change: 'added'};
      if (content(b.file) === content(e.file) && (b.file.mode ?? '') === (e.file.mode ?? '')) return {...e, before: b.file};
      return {...e, change: 'changed', before: b.file};
    });
    return {...g, entries: [...entries, ...[...was.values()].map(gone)].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))};
  });
  for (const g of before) if (old.has(g.key)) out.push({...g, entries: g.entries.map(gone)});
  return out;
}

const gone = (e: Entry): Entry => ({...e, change: 'removed', before: e.file});

/** changes counts the files that are different. */
export const changes = (groups: readonly Group[]): number => groups.reduce((n, g) => n + g.entries.filter((e) => e.change).length, 0);

/** A line of the tree. */
export interface Row {
  key: string;
  level: number;
  label: string;
  detail?: string;
  /** A file; groups and directories have none. */
  entry?: Entry;
  /** Of groups and directories: whether what is in them is shown. */
  open?: boolean;
  parent?: string;
  /** Something in a closed directory is different. */
  changed?: boolean;
}

/** rowsOf are the lines of the tree, without what is in closed groups and directories. */
export function rowsOf(groups: readonly Group[], closed: ReadonlySet<string>): Row[] {
  const out: Row[] = [];
  for (const g of groups) {
    const open = !closed.has(g.key);
    out.push({key: g.key, level: 1, label: g.label, detail: g.detail, open, changed: !open && g.entries.some((e) => e.change)});
    if (open) below(out, g.entries.map((entry) => ({entry, rest: entry.file.path.split('/').filter(Boolean)})), {key: g.key, level: 1}, closed);
  }
  return out;
}

type Rest = {entry: Entry; rest: string[]};

/** below adds the files and directories of a directory: as in a file manager, directories first. */
function below(out: Row[], files: Rest[], at: {key: string; level: number}, closed: ReadonlySet<string>): void {
  const directories = new Map<string, Rest[]>();
  const own: Rest[] = [];
  for (const f of files) {
    const [first = ''] = f.rest;
    if (f.rest.length <= 1) own.push(f);
    else directories.set(first, [...directories.get(first) ?? [], {entry: f.entry, rest: f.rest.slice(1)}]);
  }
  for (const [name, inside] of [...directories].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [label, rest] = chain(name, inside);
    const key = `${at.key}/${label}/`;
    const open = !closed.has(key);
    out.push({key, level: at.level + 1, label: `${label}/`, open, parent: at.key, changed: !open && inside.some((f) => f.entry.change)});
    if (open) below(out, rest, {key, level: at.level + 1}, closed);
  }
  for (const {entry, rest} of own) out.push({key: entry.key, level: at.level + 1, label: rest[0] ?? entry.file.path, entry, parent: at.key});
}

/** chain joins directories that have nothing but one directory in them. */
function chain(name: string, inside: Rest[]): [string, Rest[]] {
  const next = inside[0]?.rest[0];
  if (next === undefined || inside.some((f) => f.rest.length < 2 || f.rest[0] !== next)) return [name, inside];
  return chain(`${name}/${next}`, inside.map((f) => ({entry: f.entry, rest: f.rest.slice(1)})));
}

/** The files that people look for first, the most telling one first. */
const telling = [/user[-_]data$/, /config$|ignition/, /meta[-_]data(\.json)?$/];

/** firstEntry is the file to show when nobody has chosen one: a changed one, else the most telling one. */
export function firstEntry(groups: readonly Group[]): Entry | undefined {
  const all = groups.flatMap((g) => g.entries);
  const pick = (some: Entry[]) => telling.map((t) => some.find((e) => t.test(e.file.path))).find(Boolean) ?? some[0];
  return pick(all.filter((e) => e.change === 'changed')) ?? pick(all);
}

/** sameFile finds in other groups the file that a user had chosen: by its key, else by its last name as in another data source. */
export function sameFile(groups: readonly Group[], key: string): Entry | undefined {
  const all = groups.flatMap((g) => g.entries);
  const plain = (k: string) => (k.split('/').pop() ?? '').replace(/_/g, '-').replace(/\.json$/, '');
  return all.find((e) => e.key === key) ?? all.find((e) => plain(e.key) === plain(key));
}
