// Which remark belongs to which control of the form.
import type {Diagnostic} from './types';

/** fieldOf is the path of a remark's field below spec, as the form's paths are without it. */
export const fieldOf = (path: string): string => path.replace(/^spec\./, '').replace(/^metadata\./, '');

/** isWithin reports whether a field is another one or in it. */
export function isWithin(field: string, path: string): boolean {
  const [f, p] = [fieldOf(field), fieldOf(path)];
  return f === p || f.startsWith(p + '.') || f.startsWith(p + '[');
}

/** remarkAt is the first error about a field or about what is in it. */
export function remarkAt(diagnostics: readonly Diagnostic[], path: string): Diagnostic | undefined {
  return diagnostics.find((d) => d.severity === 'error' && d.field !== undefined && isWithin(d.field, path));
}

/** warningAt is the first warning about a field itself. */
export function warningAt(diagnostics: readonly Diagnostic[], path: string): Diagnostic | undefined {
  return diagnostics.find((d) => d.severity === 'warning' && d.field !== undefined && fieldOf(d.field) === fieldOf(path));
}

/** capital begins a text of the daemon's as a sentence. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** sentence is a remark as a sentence for people. */
export const sentence = (d: Diagnostic): string => capital(d.summary) + (d.remedy ? `; ${d.remedy}` : '') + '.';

/** closest picks of the paths of controls the one for a field: itself, what it is in, or the first that is in it. */
export function closest(paths: readonly string[], field: string): string | undefined {
  const around = paths.filter((p) => isWithin(field, p)).sort((a, b) => b.length - a.length);
  return around[0] ?? paths.find((p) => isWithin(p, field));
}
