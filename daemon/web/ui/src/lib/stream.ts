// Answers of /api/v1 that come piece by piece: the serial log, and what a guest says of its boot.
import {reach, refusal, unreachable} from './api';
import {machinePath} from './linked';
import {whileSeen} from './seen';
import type {GuestReport} from './types';

const at = (id: string, what: string) => '/api/v1' + machinePath(id, '/' + what);

/** The address of a machine's serial log. */
export const logURL = (id: string) => at(id, 'log');

/** readLog calls f with what the guest wrote to its serial console; with follow also with what it writes until the run ends or signal fires. It
 * throws as call does. */
export async function readLog(id: string, follow: boolean, signal: AbortSignal, f: (bytes: Uint8Array) => void): Promise<void> {
  const response = await reach(logURL(id) + (follow ? '?follow=true' : ''), {credentials: 'same-origin', signal});
  if (!response.ok || !response.body) throw await refusal(response);
  const reader = response.body.getReader();
  for (;;) {
    const {done, value} = await reader.read().catch((e: unknown) => { throw signal.aborted ? e : unreachable(); });
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

/** followBoot hears the reports of the current or last run, until the function that it returns is called. The browser comes back by itself when the
 * stream breaks; while nobody sees the page, it rests. */
export function followBoot(id: string, l: BootListener): () => void {
  const seen = new Map<number, GuestReport>();
  let source: EventSource | undefined;
  let over = false;
  let pending = 0;
  let again = 0;
  const tell = () => {
    pending = 0;
    l.onReports([...seen.entries()].sort(([a], [b]) => a - b).map(([, r]) => r));
  };
  const soon = () => { pending ||= window.setTimeout(tell, 50); }; // those of the past come all at once
  const close = () => {
    window.clearTimeout(again);
    source?.close();
    source = undefined;
  };
  const open = () => {
    window.clearTimeout(again);
    if (source || over) return;
    const mine = source = new EventSource(at(id, 'boot'));
    mine.addEventListener('begin', soon);
    mine.addEventListener('message', (e) => {
      seen.set(Number(e.lastEventId), JSON.parse(e.data as string) as GuestReport);
      soon();
    });
    mine.addEventListener('end', () => {
      over = true;
      close();
    });
    mine.addEventListener('error', () => {
      if (mine !== source || mine.readyState !== EventSource.CLOSED) return;
      source = undefined;
      again = window.setTimeout(open, pause);
    });
  };
  const end = whileSeen(open, close);
  return () => {
    end();
    window.clearTimeout(pending);
  };
}
