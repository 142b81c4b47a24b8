// Requests of /api/v1. The session's cookie goes with them; who has none any more is sent to the log-in page and back, unless the page has unsaved work.
import {machinePath} from './linked';
import type {Diagnostic, Doc, RenderRequest, RenderResult, Settings} from './types';
import texts from '../texts/components.json';

const prefix = '/api/v1';

/** An answer that says no (RFC 9457). */
export class Problem extends Error {
  constructor(readonly status: number, readonly title: string, readonly detail: string, readonly diagnostics: Diagnostic[], readonly request: string) {
    super(detail || title);
    this.name = 'Problem';
  }
}

/** call makes a request and returns the JSON of its answer. It throws a Problem, also for an answer that breaks off or is no JSON, or a DOMException
 * for a signal that fired. */
export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal, headers?: Record<string, string>): Promise<T> {
  const init: RequestInit = {method, credentials: 'same-origin', headers: {Accept: 'application/json', ...headers}};
  if (signal) init.signal = signal;
  if (body !== undefined) {
    init.headers = {...init.headers, 'Content-Type': 'application/json'};
    init.body = JSON.stringify(body);
  }
  const response = await reach(prefix + path, init);
  if (!response.ok) throw await refusal(response);
  if (response.status === 204) return undefined as T;
  try {
    return await response.json() as T;
  } catch (e) {
    if (signal?.aborted) throw e;
    throw e instanceof SyntaxError ? new Problem(response.status, texts.unreadable, '', [], '') : unreachable();
  }
}

/** unreachable is the Problem of a daemon that does not answer. */
export const unreachable = (): Problem => new Problem(0, '', '', [], '');

/** reach is fetch; a daemon that does not answer is a Problem. */
export async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (e) {
    throw init.signal?.aborted ? e : unreachable();
  }
}

const toLogin = () => location.assign('/login?next=' + encodeURIComponent(location.pathname + location.search));

let sessionEnded = toLogin;

/** onSessionEnd has f called when an answer says that there is no session any more, in the place of the way to the log-in page, until the function
 * that it returns is called. */
export function onSessionEnd(f: () => void): () => void {
  sessionEnded = f;
  return () => { if (sessionEnded === f) sessionEnded = toLogin; };
}

/** refusal reads an answer that says no. */
export async function refusal(response: Response): Promise<Problem> {
  const p = (await response.json().catch(() => ({}))) as {title?: string; detail?: string; diagnostics?: Diagnostic[]; request?: string};
  if (response.status === 401) sessionEnded();
  return new Problem(response.status, p.title ?? response.statusText, p.detail ?? '', p.diagnostics ?? [], p.request ?? '');
}

/** probe asks whether there is still a session. Who has none any more is told. A daemon that is not there is no answer to that. */
export const probe = (): void => void call('GET', '/session').catch(() => undefined);

export const get = <T>(path: string, signal?: AbortSignal) => call<T>('GET', path, undefined, signal);
export const post = <T>(path: string, body?: unknown, signal?: AbortSignal) => call<T>('POST', path, body ?? {}, signal);
/** patch changes something; with a revision only if it is still that one (RFC 9110, If-Match), and answers 412 otherwise. */
export const patch = <T>(path: string, body: unknown, revision?: string) => call<T>('PATCH', path, body, undefined, revision ? {'If-Match': `"${revision}"`} : {});
export const del = <T>(path: string) => call<T>('DELETE', path);

/** render asks what guests would read; with a machine's id, what that one would. */
export const render = (request: RenderRequest, machine?: string, signal?: AbortSignal) =>
  post<RenderResult>(machine ? machinePath(machine, '/render') : '/render', request, signal);

/** convert writes documents in another form. */
export const convert = (request: Settings & {documents: Doc[]; to: string}, signal?: AbortSignal) =>
  post<{documents: Doc[]; diagnostics: Diagnostic[]}>('/convert', request, signal);
