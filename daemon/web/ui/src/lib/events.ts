// What happens at the daemon, as it happens: one stream of server-sent events for each page.
import {probe} from './api';
import {whileSeen} from './seen';
import type {DaemonEvent} from './types';

/** How the stream is. */
export type Stream = 'open' | 'lost';

/** What a page wants to hear. */
export interface Follower {
  /** Events after this number; what the page was made from says which. */
  since: number;
  /** Only those about this object. */
  machine?: string;
  /** Called with the events that came together, in their order. */
  onEvents: (events: DaemonEvent[]) => void;
  /** Called when there were more events than the daemon keeps, or it began anew: read everything again. */
  onGap?: () => void;
  /** Called when the stream breaks and when it is back; events that were missed come then. */
  onStream?: (state: Stream) => void;
}

/** What the stream needs of a browser; tests have their own. */
export interface World {
  open: (url: string) => EventSource;
  /** Asks whether there is still a session. */
  probe: () => void;
  later: (f: () => void, ms: number) => () => void;
}

const browser: World = {
  open: (url) => new EventSource(url),
  probe,
  later: (f, ms) => {
    const timer = setTimeout(f, ms);
    return () => clearTimeout(timer);
  },
};

/** Events that come within this time, in milliseconds, are told together: a page is drawn once for them. */
const together = 50;
/** How long, in milliseconds, a stream may be silent about being back before the user is told. */
const patience = 2000;
/** The longest pause between two attempts, in milliseconds. */
const longest = 15_000;

/** Events hears the daemon, comes back when the connection breaks, and rests while nobody looks. */
export class Events {
  private source: EventSource | undefined;
  private seen: number;
  private waiting: DaemonEvent[] = [];
  private flush: (() => void) | undefined;
  private again: (() => void) | undefined;
  private telling: (() => void) | undefined;
  private attempts = 0;
  private state: Stream = 'open';

  constructor(private readonly follower: Follower, private readonly world: World = browser) {
    this.seen = follower.since;
  }

  /** open begins to hear what comes after the last event that was heard. */
  open(): void {
    if (this.source) return;
    const query = new URLSearchParams({since: String(this.seen)});
    if (this.follower.machine) query.set('machine', this.follower.machine);
    const source = this.world.open('/api/v1/events?' + query);
    this.source = source;
    source.addEventListener('begin', (e) => this.began(Number(e.lastEventId)));
    source.addEventListener('lost', (e) => this.gap(Number(e.lastEventId)));
    source.addEventListener('message', (e) => this.heard(e));
    source.addEventListener('error', () => this.broke(source));
  }

  /** close ends it; open goes on from there. */
  close(): void {
    this.source?.close();
    this.source = undefined;
    for (const cancel of [this.again, this.telling, this.flush]) cancel?.();
    this.again = this.telling = this.flush = undefined;
    this.tell();
  }

  private began(since: number): void {
    this.attempts = 0;
    this.telling?.();
    this.telling = undefined;
    this.say('open');
    if (since < this.seen) this.gap(since); // the daemon counts anew
  }

  private gap(since: number): void {
    this.seen = since;
    this.waiting = [];
    this.follower.onGap?.();
  }

  private heard(e: MessageEvent<string>): void {
    const id = Number(e.lastEventId);
    if (id) this.seen = id;
    this.waiting.push(JSON.parse(e.data) as DaemonEvent);
    this.flush ??= this.world.later(() => {
      this.flush = undefined;
      this.tell();
    }, together);
  }

  private tell(): void {
    const events = this.waiting;
    this.waiting = [];
    if (events.length > 0) this.follower.onEvents(events);
  }

  /** A browser tries again by itself, unless it was given an answer that is no stream. The daemon ends a stream with the session, so that is asked at once. */
  private broke(source: EventSource): void {
    if (source !== this.source) return;
    this.telling ??= this.world.later(() => this.say('lost'), patience);
    this.world.probe();
    if (source.readyState !== 2) return;
    source.close();
    this.source = undefined;
    this.again = this.world.later(() => {
      this.again = undefined;
      this.open();
    }, Math.min(longest, 500 * 2 ** this.attempts++));
  }

  private say(state: Stream): void {
    if (state === this.state) return;
    this.state = state;
    this.follower.onStream?.(state);
  }
}

/** follow hears events until the function that it returns is called. It rests while nobody sees the page. */
export function follow(f: Follower): () => void {
  const events = new Events(f);
  return whileSeen(() => events.open(), () => events.close());
}
