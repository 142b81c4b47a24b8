// The words of the page. Every text that a user reads stands in a file of the directory texts; the server reads common.json as well.
import common from '../texts/common.json';

export {common};

/** fill puts values in the place of {names}. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (all, name: string) => (name in values ? String(values[name]) : all));
}
