// Which stretch of a document a remark is about: from its place, or from its field when the daemon could not keep the line.
import {isCollection, isMap, isSeq, parseAllDocuments, type Node} from 'yaml';
import {documentOf, offsetOf, positionOf, type Span} from './places';
import type {Diagnostic, Doc} from './types';

/** wordAt is the stretch that a remark without an end is about: from its place to the end of the word, or of the quoted text, there. */
function wordAt(text: string, from: number): Span {
  const rest = text.slice(from, from + 400);
  const word = /^("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s:,{}[\]"'#]+(?::(?=\S)[^\s,}\]]*)*)/.exec(rest)?.[0] ?? '';
  return {from, to: from + Math.max(word.length, 0)};
}

/** spanOf is the stretch of a text that a diagnostic is about, or nothing when it knows no place. */
export function spanOf(text: string, d: Diagnostic): Span | undefined {
  const start = d.range?.start;
  if (!start?.line) return undefined;
  const from = offsetOf(text, {line: start.line, column: Math.max(start.column, 1)});
  const end = d.range?.end;
  if (end?.line) return {from, to: Math.max(from, lineEnd(text, from, offsetOf(text, end)))};
  return wordAt(text, from);
}

/** lineEnd keeps a mark within its line: what is said of a whole block is said where it begins. */
function lineEnd(text: string, from: number, to: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? to : Math.min(to, end);
}

/** fieldSpan finds a field such as users[0].name in a document of YAML or JSON, from its root or below spec; of a path that is only partly
 * there, the deepest part. */
export function fieldSpan(text: string, field: string): Span | undefined {
  const path = fieldPath(field);
  if (!path.length || text.length > 1 << 18 || /^\s*</.test(text)) return undefined;
  let best: {depth: number; span: Span} | undefined;
  for (const doc of parseAllDocuments(text)) {
    if (!('contents' in doc) || !isCollection(doc.contents)) continue;
    for (const prefix of [[], ['spec']]) {
      const found = descend(doc.contents, [...prefix, ...path]);
      if (found && found.depth > prefix.length && found.depth - prefix.length > (best?.depth ?? 0)) best = {depth: found.depth - prefix.length, span: found.span};
    }
  }
  return best?.span;
}

/** fieldPath splits a.b[2].c and a[key].b. */
export function fieldPath(field: string): (string | number)[] {
  return [...field.matchAll(/\[(?:"([^"]*)"|(\d+)|([^\]]*))\]|([^.[\]]+)/g)].map((m) => (m[2] !== undefined ? Number(m[2]) : m[1] ?? m[3] ?? m[4] ?? ''));
}

/** descend follows a path as far as it goes, and returns the key, or the item, where it ends. */
function descend(root: Node, path: (string | number)[]): {depth: number; span: Span} | undefined {
  let node: unknown = root;
  let span: Span | undefined;
  let depth = 0;
  for (const step of path) {
    let key: unknown;
    if (isMap(node)) {
      const pair = node.items.find((p) => String((p.key as {value?: unknown} | null)?.value) === String(step));
      if (!pair) break;
      [key, node] = [pair.key, pair.value];
    } else if (isSeq(node)) {
      const item = typeof step === 'number' ? node.items[step] : node.items.find((i) => isMap(i) && i.get('name') === step);
      if (item === undefined) break;
      [key, node] = [item, item];
    } else break;
    const range = head(key)?.range;
    if (range) span = {from: range[0], to: range[1]};
    depth++;
  }
  return span && {depth, span};
}

/** head is what stands for an item of many lines: its first key. */
function head(node: unknown): Node | undefined {
  if (isMap(node)) return head(node.items[0]?.key);
  if (isSeq(node)) return head(node.items[0]);
  return (node as Node | null) ?? undefined;
}

/** placed gives remarks whose line the daemon could not keep the line of their field. */
export function placed(diagnostics: readonly Diagnostic[], documents: readonly Doc[]): Diagnostic[] {
  return diagnostics.map((d) => {
    const text = documents[documentOf(d, documents)]?.text;
    if (text === undefined || !lost(d)) return d;
    const span = fieldSpan(text, d.field ?? '');
    return span ? {...d, range: {...d.range, start: positionOf(text, span.from), end: positionOf(text, span.to)}} : d;
  });
}

/** lost reports whether a remark knows its field and has no place but the beginning of its document. */
const lost = (d: Diagnostic) => Boolean(d.field) && (d.range?.start?.line ?? 0) <= 1 && (d.range?.start?.column ?? 0) <= 1 && !d.range?.end?.line;
