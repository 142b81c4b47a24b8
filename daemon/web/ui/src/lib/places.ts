// The places of diagnostics, which count lines and characters, and those of an editor, which count UTF-16 units.
import type {Diagnostic, Doc, Position} from './types';

/** A stretch of a text in UTF-16 units. */
export interface Span { from: number; to: number }

/** offsetOf is where a position is in a text; a position behind the end of its line is that end. */
export function offsetOf(text: string, at: Position): number {
  let start = 0;
  for (let line = 1; line < at.line; line++) {
    const end = text.indexOf('\n', start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  let offset = start;
  for (let column = 1; column < at.column && offset < text.length && text[offset] !== '\n'; column++) {
    offset += text.codePointAt(offset)! > 0xffff ? 2 : 1;
  }
  return offset;
}

/** positionOf is the line and the column, both from 1, of an offset. */
export function positionOf(text: string, offset: number): Position {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  let line = 1;
  for (let i = text.indexOf('\n'); i >= 0 && i < start; i = text.indexOf('\n', i + 1)) line++;
  return {line, column: [...text.slice(start, offset)].length + 1};
}

/** diagnosticsOf returns the remarks that are about the document at an index: those that name it, and with a single document those that name none. */
export function diagnosticsOf(diagnostics: readonly Diagnostic[], documents: readonly Doc[], index: number): Diagnostic[] {
  return diagnostics.filter((d) => documentOf(d, documents) === index);
}

/** documentOf is the index of the document that a remark is about, or -1. The daemon calls a document without a name by its number. */
export function documentOf(d: Diagnostic, documents: readonly Doc[]): number {
  const file = d.range?.file ?? '';
  if (!file) return documents.length === 1 ? 0 : -1;
  const named = documents.findIndex((x, i) => (x.name || `document ${i + 1}`) === file);
  if (named >= 0) return named;
  return documents.length === 1 ? 0 : -1;
}

/** worst is the severest of some remarks, or nothing. */
export function worst(diagnostics: readonly Diagnostic[]): Diagnostic['severity'] | undefined {
  return (['error', 'warning', 'note'] as const).find((s) => diagnostics.some((d) => d.severity === s));
}
