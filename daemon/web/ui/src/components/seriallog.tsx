import {useEffect, useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {problemText} from '../lib/problem';
import {whileSeen} from '../lib/seen';
import {find, SerialLog} from '../lib/serial';
import {logURL, readLog} from '../lib/stream';
import {fill} from '../lib/texts';
import type {Machine} from '../lib/types';
import {plural} from '../lib/words';
import texts from '../texts/machine.json';
import {Button, ButtonLink} from './button';
import {Icon} from './icons';
import {Notice} from './notice';

const words = texts.log;

/** The height of a line, as in machine.css: lines out of sight are not drawn. */
const lineHeight = 18;
/** How many lines are drawn beyond both edges. */
const beyond = 20;
/** How often, in milliseconds, what has come is drawn. */
const pace = 100;
/** How long, in milliseconds, the past may take to come again before it takes the place of what is shown. */
const catchUp = 500;

/** What a guest writes to its serial console, while it does: searched, followed, downloaded. */
export default function LogView({machine}: {machine: Machine}) {
  const {lines, dropped, error, retry} = useLog(machine);
  const [follow, setFollow] = useState(true);
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  const hits = useMemo(() => find(lines, search), [lines, search]);
  const current = hits.length > 0 ? Math.min(at, hits.length - 1) : -1;
  const step = (n: number) => {
    if (hits.length === 0) return;
    setFollow(false);
    setAt((current + n + hits.length) % hits.length);
  };
  return (
    <div class="log">
      <div class="log__bar">
        <div class="search log__search">
          <Icon name="search" />
          <input class="input" type="search" aria-label={words.search} placeholder={words.search} value={search} spellcheck={false}
            onInput={(e) => { setSearch(e.currentTarget.value); setAt(0); setFollow(false); }}
            onKeyDown={(e) => { if (e.key === 'Enter') { e.preventDefault(); step(e.shiftKey ? -1 : 1); } }} />
        </div>
        <span class="log__hits num muted" role="status">{search && (hits.length > 0 ? fill(words.hits, {at: current + 1, n: hits.length}) : words.noHits)}</span>
        <Button kind="ghost" small icon="up" label={words.previous} disabled={hits.length === 0} onClick={() => step(-1)} />
        <Button kind="ghost" small icon="down" label={words.next} disabled={hits.length === 0} onClick={() => step(1)} />
        <span class="grow" />
        <label class="check" title={words.followTitle}><input type="checkbox" checked={follow} onChange={(e) => setFollow(e.currentTarget.checked)} />{words.follow}</label>
        <ButtonLink small icon="download" href={logURL(machine.id)} download={`${machine.namespace}-${machine.name}.log`}>{words.download}</ButtonLink>
      </div>
      {error !== undefined && <Notice kind="bad" title={words.failed} actions={<Button small onClick={retry}>{words.again}</Button>}>{error}</Notice>}
      <Lines lines={lines} search={search} current={hits[current]} follow={follow} onFollow={setFollow} label={fill(words.label, {name: machine.name})} />
      <p class="small muted num">{plural(words.lines, lines.length)}{dropped > 0 && <>. {fill(words.dropped, {n: dropped.toLocaleString('en-US')})}</>}</p>
    </div>
  );
}

/** useLog reads the log, and follows it while the machine runs and somebody looks. */
function useLog(m: Machine): {lines: string[]; dropped: number; error: string | undefined; retry: () => void} {
  const [shown, show] = useState<{lines: string[]; dropped: number}>({lines: [], dropped: 0});
  const [error, setError] = useState<string | undefined>();
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let flight: AbortController | undefined;
    let over = false;
    let timer = 0;
    let first = pace;
    const open = () => {
      if (flight || over) return;
      const {signal} = flight = new AbortController();
      const log = new SerialLog();
      let wait = first;
      const draw = () => {
        timer = 0;
        show({lines: [...log.all()], dropped: log.dropped});
      };
      setError(undefined);
      readLog(m.id, true, signal, (bytes) => {
        log.write(bytes);
        timer ||= window.setTimeout(draw, wait);
        wait = pace;
      }).then(() => {
        over = true;
        draw();
      }, (e: unknown) => { if (!signal.aborted) setError(problemText(e)); });
    };
    return whileSeen(open, () => {
      flight?.abort();
      flight = undefined;
      window.clearTimeout(timer);
      timer = 0;
      first = catchUp;
    });
  }, [m.id, m.started, attempt]);
  return {...shown, error, retry: () => setAttempt((n) => n + 1)};
}

interface LinesProps {
  lines: string[];
  search: string;
  /** The line of the hit that is looked at. */
  current: number | undefined;
  follow: boolean;
  onFollow: (follow: boolean) => void;
  label: string;
}

function Lines({lines, search, current, follow, onFollow, label}: LinesProps) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({top: 0, height: 600});
  const look = () => { if (box.current) setView({top: box.current.scrollTop, height: box.current.clientHeight}); };
  useEffect(() => {
    const watcher = new ResizeObserver(look);
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  useLayoutEffect(() => {
    const b = box.current;
    if (!b) return;
    if (follow) b.scrollTop = b.scrollHeight;
    else if (current !== undefined) {
      const y = current * lineHeight;
      if (y < b.scrollTop || y > b.scrollTop + b.clientHeight - 2 * lineHeight) b.scrollTop = y - b.clientHeight / 2;
    }
    look();
  }, [lines, follow, current]);
  const scrolled = () => {
    const b = box.current;
    if (!b) return;
    const atEnd = b.scrollTop + b.clientHeight >= b.scrollHeight - lineHeight;
    // Who scrolls up wants to read, and who scrolls down to the end wants to follow again.
    if (b.scrollTop < view.top - 1 && !atEnd) onFollow(false);
    else if (atEnd && b.scrollTop > view.top && search === '') onFollow(true);
    look();
  };
  const first = Math.max(0, Math.floor(view.top / lineHeight) - beyond);
  const last = Math.min(lines.length, Math.ceil((view.top + view.height) / lineHeight) + beyond);
  if (lines.length === 0) return <div class="log__lines"><div class="empty"><h2>{words.empty}</h2><p class="empty__text">{words.emptyText}</p></div></div>;
  return (
    <div class="log__lines" ref={box} tabIndex={0} role="region" aria-label={label} onScroll={scrolled}>
      <div class="log__all" style={{height: `${lines.length * lineHeight}px`}}>
        <pre class="log__part" style={{top: `${first * lineHeight}px`}}>
          {lines.slice(first, last).map((l, i) => <Line key={first + i} text={l} search={search} current={first + i === current} />)}
        </pre>
      </div>
    </div>
  );
}

function Line({text, search, current}: {text: string; search: string; current: boolean}) {
  return <div class={current ? 'log__line is-current' : 'log__line'}>{search ? marked(text, search) : text}{'\n'}</div>;
}

/** marked puts marks around the hits in a line. */
function marked(text: string, search: string) {
  const low = text.toLowerCase();
  const wanted = search.toLowerCase();
  if (low.length !== text.length) return text; // letters whose small form is longer: the places do not fit
  const out = [];
  let from = 0;
  for (let i = low.indexOf(wanted); i >= 0; i = low.indexOf(wanted, from)) {
    out.push(text.slice(from, i), <mark>{text.slice(i, i + wanted.length)}</mark>);
    from = i + wanted.length;
  }
  return [...out, text.slice(from)];
}
