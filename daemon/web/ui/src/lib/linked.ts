// The addresses of machines, and of the lines of their definitions: what is shown of a machine leads to where it is changed.
import type {Diagnostic, Machine} from './types';

/** machinePath is where a machine is, both on the page and below the API, or what the rest names of it. */
export const machinePath = (id: string, rest = ''): string => `/machines/${encodeURIComponent(id)}${rest}`;

/** editAt is the page that edits a machine, open at a line of one of its documents. */
export function editAt(m: Pick<Machine, 'id'>, file: string, line: number): string {
  return machinePath(m.id, `/edit#${new URLSearchParams({file, line: String(line)})}`);
}

/** ranAt is the tab of a machine's page that shows what its run was started with, open at a line of one of those documents. */
export const ranAt = (file: string, line: number): string => `#definition?${new URLSearchParams({file, line: String(line)})}`;

/** tabOf is the tab that the part of an address behind # names. */
export const tabOf = (hash: string): string => hash.replace(/^#/, '').split('?', 1)[0] ?? '';

/** linkedPlace is the place that the part of an address behind # names, as a remark without words. */
export function linkedPlace(hash: string): Diagnostic | undefined {
  const query = new URLSearchParams(hash.replace(/^#(\w+\?)?/, ''));
  const line = Number(query.get('line'));
  const file = query.get('file');
  if (!file || !Number.isInteger(line) || line < 1) return undefined;
  return {code: '', severity: 'note', summary: '', range: {file, start: {line, column: 1}}};
}
