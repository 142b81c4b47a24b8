import {useEffect, useState} from 'preact/hooks';
import {get} from '../lib/api';
import {explanation} from '../lib/explain';
import {absolute, clock} from '../lib/format';
import {problemText} from '../lib/problem';
import type {DaemonEvent, Machine} from '../lib/types';
import texts from '../texts/machine.json';
import {Notice} from './notice';
import {Pill, type Tone} from './status';

const words = texts.events;
const tones: Record<DaemonEvent['severity'], Tone> = {normal: 'idle', warning: 'warn', error: 'bad'};

/** What happened to a machine lately, newest first, and what happens. */
export default function MachineEvents({machine, fresh, gaps}: {machine: Machine; /** What came since the page was made, newest first. */ fresh: DaemonEvent[]; /** Counts the gaps in that: the past is read again after each. */ gaps: number}) {
  const [past, setPast] = useState<DaemonEvent[] | undefined>();
  const [error, setError] = useState<string | undefined>();
  useEffect(() => {
    const abort = new AbortController();
    get<{items: DaemonEvent[]}>('/events?machine=' + encodeURIComponent(machine.id), abort.signal)
      .then((found) => {
        setPast(found.items.reverse());
        setError(undefined);
      })
      .catch((e: unknown) => { if (!abort.signal.aborted) setError(problemText(e)); });
    return () => abort.abort();
  }, [machine.id, gaps]);
  const newest = past?.[0]?.id ?? 0;
  const all = [...fresh.filter((e) => e.id > newest), ...(past ?? [])];
  if (error !== undefined) return <Notice kind="bad" title={words.failed}>{error}</Notice>;
  if (past && all.length === 0) return <div class="empty"><h2>{words.none}</h2><p class="empty__text">{words.noneText}</p></div>;
  return (
    <div class="table-wrap">
      <table class="table table--cards events">
        <thead><tr><th scope="col">{words.time}</th><th scope="col">{words.what}</th><th scope="col">{words.who}</th></tr></thead>
        <tbody>{days(all).map((e) => <Row key={e.id} event={e} day={e.day} />)}</tbody>
      </table>
    </div>
  );
}

/** days marks the events with which a day begins. */
function days(events: DaemonEvent[]): (DaemonEvent & {day: boolean})[] {
  return events.map((e, i) => ({...e, day: absolute(e.time).slice(0, 10) !== absolute(events[i - 1]?.time ?? '').slice(0, 10)}));
}

function Row({event: e, day}: {event: DaemonEvent; day: boolean}) {
  return (
    <tr>
      <td class="events__time"><time class="muted" dateTime={e.time} title={absolute(e.time)}>{day ? absolute(e.time) : clock(e.time)}</time></td>
      <td><div class="events__what">
        {e.severity !== 'normal' && <Pill tone={tones[e.severity]}>{words.severity[e.severity]}</Pill>}
        <Text text={e.text} />
        {e.code && <a class="mono small" href={explanation(e.code)}>{e.code}</a>}
        {e.place && <span class="mono small muted">{e.place}</span>}
      </div></td>
      <td class="muted" data-label={e.actor ? words.who : undefined}>{e.actor}</td>
    </tr>
  );
}

/** How much of a text is shown at once, in characters: a guest may have much to say. */
const brief = 200;

function Text({text}: {text: string}) {
  if (text.length <= brief) return <span class="wrap">{text}</span>;
  return <details><summary>{text.slice(0, text.lastIndexOf(' ', brief) + 1 || brief)}…</summary>{text}</details>;
}
