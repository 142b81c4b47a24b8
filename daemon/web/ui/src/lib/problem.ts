// What went wrong, for people.
import {Problem} from './api';
import texts from '../texts/components.json';

/** problemText is an error in the API's own words, and otherwise that the daemon cannot be reached. */
export function problemText(error: unknown): string {
  if (!(error instanceof Problem)) return error instanceof Error ? error.message : String(error);
  if (error.status === 0) return texts.unreachable;
  const first = error.diagnostics.find((d) => d.severity === 'error');
  return first ? `${first.summary}${first.remedy ? '; ' + first.remedy : ''}` : error.detail || error.title;
}
