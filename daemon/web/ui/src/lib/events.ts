// What happens at the daemon, as it happens: one stream of server-sent events for each page.
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
  /** Called when there were more events than the daemon keeps: read everything again. */
  onGap?: () => void;
  /** Called when the stream breaks and when it is back; events that were missed come then. */
  onStream?: (state: Stream) => void;
}

/** follow hears events until the function that it returns is called. */
export function follow(f: Follower): () => void {
  void f;
  return () => {};
}
