// The definition of a machine: documents of any form, of which the native one can be changed by a form as well as by hand. The text is
// what counts; the form is a view onto it.
import {Document, LineCounter, parseAllDocuments} from 'yaml';
import type {Doc} from './types';
import {hasAliases, Tree, type View} from './tree';

const apiVersion = 'vmseed.dev/v1alpha1';

/** Why documents cannot be changed by the form. */
export type Unfit = 'other' | 'several' | 'broken' | 'aliases';

/** The machine of documents in the native form: where it stands, and what it says. */
export interface Opened {
  /** The document that holds the machine. */
  file: number;
  tree: View;
}

/** What open made of documents. */
export type Opening = {ok: true; opened: Opened} | {ok: false; why: Unfit; file: number; line?: number};

const options = {version: '1.2', compat: 'yaml-1.1', prettyErrors: false} as const;

/** fresh is the document of a new machine. */
export function fresh(name = ''): Doc {
  const text = `apiVersion: ${apiVersion}\nkind: Machine\nmetadata:\n  name: ${name || '""'}\nspec: {}\n`;
  return {name: 'machine.yaml', text};
}

/** isNative reports whether a text claims to be of the native form. */
export function isNative(text: string): boolean {
  return /^[\s{]*["']?apiVersion["']?\s*:\s*["']?vmseed\.dev\//m.test(text);
}

/** open looks for the one machine that the form can change. */
export function open(documents: Doc[]): Opening {
  const native = documents.flatMap((d, i) => (!d.role && isNative(d.text) ? [i] : []));
  const file = native[0];
  if (file === undefined) return {ok: false, why: 'other', file: 0};
  if (native.length > 1) return {ok: false, why: 'several', file: native[1] ?? 0};
  const lines = new LineCounter();
  const parsed = parse(documents[file]?.text ?? '', lines);
  const wrong = parsed.flatMap((d) => d.errors)[0];
  if (wrong) return {ok: false, why: 'broken', file, line: lines.linePos(wrong.pos[0]).line};
  const machines = parsed.filter(isMachine);
  const machine = machines[0];
  if (machines.length !== 1 || !machine) return {ok: false, why: machines.length > 1 ? 'several' : 'other', file};
  if (hasAliases(machine)) return {ok: false, why: 'aliases', file};
  return {ok: true, opened: {file, tree: new Tree(machine)}};
}

/** edit changes the machine that open has found, and returns all documents. What the change does not touch keeps its comments. */
export function edit(documents: Doc[], file: number, change: (tree: Tree) => void): Doc[] {
  const text = documents[file]?.text ?? '';
  const parsed = parse(text);
  const machine = parsed.find(isMachine);
  if (!machine) return documents;
  change(new Tree(machine));
  const written = parsed.map((d, i) => write(d, text, i > 0)).join('');
  return documents.map((d, i) => (i === file ? {...d, text: written} : d));
}

function parse(text: string, lineCounter?: LineCounter): Document[] {
  const parsed = parseAllDocuments(text, lineCounter ? {...options, lineCounter} : options);
  return Array.isArray(parsed) ? [...parsed] as unknown as Document[] : [];
}

function isMachine(d: Document): boolean {
  const version: unknown = d.getIn(['apiVersion']);
  return typeof version === 'string' && version.startsWith('vmseed.dev/') && d.getIn(['kind']) === 'Machine';
}

function write(d: Document, source: string, separate: boolean): string {
  if (separate) d.directives = Object.assign(d.directives ?? {}, {docStart: true}) as NonNullable<Document['directives']>;
  // Lists are indented, and brackets padded, as the author does.
  const indentSeq = !/^( *)[\w"']+:[ \t]*\n\1- /m.test(source);
  const flowCollectionPadding = /[[{] +\S/.test(source);
  const text = d.toString({lineWidth: 0, indentSeq, flowCollectionPadding});
  return text.endsWith('\n') ? text : text + '\n';
}

/** nameOf is the name of the machine, empty when it has none yet. */
export const nameOf = (tree: View): string => tree.text('metadata.name');

/** forPreview are the documents as they are rendered while they are typed: a machine without a name gets one for the time being. */
export function forPreview(documents: Doc[], opening: Opening): Doc[] {
  if (!opening.ok || nameOf(opening.opened.tree)) return documents;
  return edit(documents, opening.opened.file, (tree) => tree.set('metadata.name', 'machine'));
}
