// Answers of /api/v1 that come piece by piece: the serial log, and what a guest says of its boot.
import {Problem} from './api';
import type {GuestReport} from './types';

const at = (id: string, what: string) => `/api/v1/machines/${encodeURIComponent(id)}/${what}`;

/** The address of a machine's serial log. */
export const logURL = (id: string) => at(id, 'log');

/** readLog calls f with what the guest wrote to its serial console; with follow also with what it writes until the run ends or signal fires. */
export async function readLog(id: string, follow: boolean, signal: AbortSignal, f: (bytes: Uint8Array) => void): Promise<void> {
  const response = await fetch(logURL(id) + (follow ? '?follow=true' : ''), {credentials: 'same-origin', signal});
  if (!response.ok || !response.body) throw new Problem(response.status, response.statusText, '', [], '');
  const reader = response.body.getReader();
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    f(value);
  }
}

/** Who hears what a guest says of its boot. */
export interface BootListener {
  /** All reports of the run, again after each that is new; there may be none yet. */
  onReports: (reports: GuestReport[]) => void;
}

/** How long, in milliseconds, until a stream that was refused is asked for again. */
const pause = 5000;

/** followBoot hears the reports of the current or last run, until the function that it returns is called. The browser comes back by itself when the stream breaks. */
export function followBoot(id: string, l: BootListener): () => void {
  const seen = new Map<number, GuestReport>();
  let source: EventSource;
  let pending = 0;
  let again = 0;
  const tell = () => {
    pending = 0;
    l.onReports([...seen.entries()].sort(([a], [b]) => a - b).map(([, r]) => r));
  };
  const soon = () => { pending ||= window.setTimeout(tell, 50); }; // those of the past come all at once
  const open = () => {
    source = new EventSource(at(id, 'boot'));
    source.addEventListener('begin', soon);
    source.addEventListener('message', (e) => {
      seen.set(Number(e.lastEventId), JSON.parse(e.data as string) as GuestReport);
      soon();
    });
    source.addEventListener('end', () => source.close());
    source.addEventListener('error', () => { if (source.readyState === EventSource.CLOSED) again = window.setTimeout(open, pause); });
  };
  open();
  return () => {
    source.close();
    window.clearTimeout(pending);
    window.clearTimeout(again);
  };
}
