import type {ComponentChildren} from 'preact';
import {common} from '../lib/texts';
import type {Status} from '../lib/types';

/** What a state means for who looks at it. Each has a shape of its own, so that colour says nothing alone. */
export type Tone = 'ok' | 'busy' | 'warn' | 'bad' | 'idle';

const ring = () => <circle cx="6" cy="6" r="4.25" fill="none" stroke="currentColor" stroke-width="1.5" />;

/** The shapes, the same as those of the templates. */
function shape(tone: Tone) {
  switch (tone) {
    case 'ok': return <circle cx="6" cy="6" r="5" />;
    case 'idle': return ring();
    case 'warn': return <path d="M6 .75 11.5 11H.5Z" />;
    case 'bad': return <path d="M6 .5 11.5 6 6 11.5.5 6Z" />;
    case 'busy': return <><path d="M6 1a5 5 0 0 1 0 10Z" />{ring()}</>;
  }
}

/** A state: a shape, a word and a colour. */
export function Pill({tone, title, children}: {tone: Tone; title?: string | undefined; children: ComponentChildren}) {
  return (
    <span class={`status status--${tone}`} title={title}>
      <svg class="status__shape" viewBox="0 0 12 12" aria-hidden="true" fill="currentColor">{shape(tone)}</svg>
      <span class="status__word">{children}</span>
    </span>
  );
}

const tones: Record<Status, Tone> = {
  image_locked: 'busy', down: 'idle', wait_for_launch: 'busy', powering_up: 'busy', up: 'ok', paused: 'warn', powering_down: 'busy',
  reboot_in_progress: 'busy', not_responding: 'bad',
};

/** The tone of a machine's status. */
const statusTone = (status: Status): Tone => tones[status] ?? 'idle';

/** The word of a machine's status. */
export const statusWord = (status: Status): string => common[`status_${status}`] ?? status;

/** What a machine is doing, in oVirt's words as people say them, and why where that is worth a sentence. */
export function StatusPill({status, reason}: {status: Status; reason?: string | undefined}) {
  return <Pill tone={statusTone(status)} title={reason}>{statusWord(status)}{reason && <span class="muted"> {reason}</span>}</Pill>;
}
