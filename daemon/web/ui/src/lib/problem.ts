// What went wrong, for people.
import {Problem} from './api';
import texts from '../texts/components.json';

/** problemText is an error in the API's own words, unless these are for programs: that the daemon cannot be reached, or has no session. */
export function problemText(error: unknown): string {
  if (!(error instanceof Problem)) return error instanceof Error ? error.message : String(error);
  if (error.status === 0) return texts.unreachable;
  if (error.status === 401) return texts.ended;
  const first = error.diagnostics.find((d) => d.severity === 'error');
  return first ? `${first.summary}${first.remedy ? '; ' + first.remedy : ''}` : error.detail || error.title;
}
