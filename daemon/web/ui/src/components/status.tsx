import type {ComponentChildren} from 'preact';
import {common} from '../lib/texts';
import type {Status} from '../lib/types';

/** What a state means for who looks at it. Each has a shape of its own, so that colour says nothing alone. */
export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'idle';

const shapes: Record<Tone, string> = {
  ok: 'M6 1a5 5 0 1 1 0 10A5 5 0 0 1 6 1Z',
  busy: 'M6 1a5 5 0 1 1 0 10A5 5 0 0 1 6 1Zm0 1.6v6.800a3.4 3.4 0 0 0 0-6.800Z',
  warn: 'M6 .8 11.6 10.800H.4Z',
  bad: 'M2 2h8v8H2Z',
  idle: 'M6 1a5 5 0 1 1 0 10A5 5 0 0 1 6 1Zm0 1.600a3.4 3.4 0 1 0 0 6.8 3.4 3.4 0 0 0 0-6.800Z',
};

/** A state: a shape, a word and a colour. */
export function Pill({tone, title, children}: {tone: Tone; title?: string | undefined; children: ComponentChildren}) {
  return (
    <span class={`status status--${tone}`} title={title}>
      <svg class="status__shape" viewBox="0 0 12 12" aria-hidden="true"><path fill="currentColor" fill-rule="evenodd" d={shapes[tone]} /></svg>
      <span class="status__word">{children}</span>
    </span>
  );
}

const tones: Record<Status, Tone> = {
  image_locked: 'busy', down: 'idle', wait_for_launch: 'busy', powering_up: 'busy', up: 'ok', paused: 'warn', powering_down: 'busy',
  reboot_in_progress: 'busy', not_responding: 'bad',
};

/** The tone of a machine's status. */
export const statusTone = (status: Status): Tone => tones[status] ?? 'idle';

/** The word of a machine's status. */
export const statusWord = (status: Status): string => common.status[status] ?? status;

/** What a machine is doing, in oVirt's words as people say them. */
export function StatusPill({status, reason}: {status: Status; reason?: string | undefined}) {
  return <Pill tone={statusTone(status)} title={reason}>{statusWord(status)}</Pill>;
}
