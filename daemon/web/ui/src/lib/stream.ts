// Answers of /api/v1 that come piece by piece: the serial log, and what a guest says of its boot.
import {probe, reach, refusal, unreachable} from './api';
import {machinePath} from './linked';
import {ended} from './machines';
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
    const {done, value} = await reader.read().catch((e: unknown) => {
      if (signal.aborted) throw e;
      probe();
      throw unreachable();
    });
    if (done) return;
    f(value);
  }
}

/** Who hears what a guest says of its boot. */
export interface BootListener {
  /** All reports of the run, again after each that is new; there may be none yet. */
  onReports: (reports: GuestReport[]) => void;
}

/** What follows a boot until its end. */
export interface BootFollower {
  /** Something has happened to the machine: the guest may boot again. */
  wake: () => void;
  end: () => void;
}

/** How long, in milliseconds, until a stream that was refused is asked for again. */
const pause = 5000;
/** How long, in milliseconds, nothing may come after the end of a boot until its stream is closed: a browser has few connections, and wake opens another. */
const quiet = 2000;

/** followBoot hears the reports of the current or last run. The browser comes back by itself when the stream breaks; while the guest does not boot, or
 * nobody sees the page, it rests. */
export function followBoot(id: string, l: BootListener): BootFollower {
  const seen = new Map<number, GuestReport>();
  let source: EventSource | undefined;
  let over = false;
  const timers: Partial<Record<'tell' | 'again' | 'rest', ReturnType<typeof setTimeout>>> = {};
  const reports = () => [...seen.entries()].sort(([a], [b]) => a - b).map(([, r]) => r);
  const tell = () => {
    delete timers.tell;
    l.onReports(reports());
  };
  const heard = () => {
    timers.tell ??= setTimeout(tell, 50); // those of the past come all at once
    clearTimeout(timers.rest);
    timers.rest = setTimeout(() => { if (ended(reports().at(-1)?.stage ?? '')) close(); }, quiet);
  };
  const close = () => {
    clearTimeout(timers.again);
    clearTimeout(timers.rest);
    source?.close();
    source = undefined;
  };
  const open = () => {
    clearTimeout(timers.again);
    if (source || over) return;
    const mine = source = new EventSource(at(id, 'boot'));
    mine.addEventListener('begin', heard);
    mine.addEventListener('message', (e) => {
      seen.set(Number(e.lastEventId), JSON.parse(e.data as string) as GuestReport);
      heard();
    });
    mine.addEventListener('end', () => {
      over = true;
      close();
    });
    mine.addEventListener('error', () => {
      if (mine !== source) return;
      probe();
      if (mine.readyState !== EventSource.CLOSED) return;
      source = undefined;
      timers.again = setTimeout(open, pause);
    });
  };
  const end = whileSeen(open, close);
  return {
    wake: () => { if (!document.hidden) open(); },
    end: () => {
      end();
      clearTimeout(timers.tell);
    },
  };
}
