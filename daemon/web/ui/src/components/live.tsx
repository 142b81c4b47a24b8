import type {Stream} from '../lib/events';
import texts from '../texts/machines.json';

/** Whether what is shown is as it is now. It keeps its place, so that nothing moves when it changes. */
export function Live({stream}: {stream: Stream}) {
  const lost = stream === 'lost';
  return <span class={lost ? 'live live--lost' : 'live'} role="status" title={lost ? texts.lostTitle : undefined}>{lost ? texts.lost : texts.live}</span>;
}
