import {useEffect, useState} from 'preact/hooks';
import {absolute, duration, relative} from '../lib/format';

/** useNow returns the time, again every so many seconds while the page is seen, and when it is seen again. */
export function useNow(seconds = 30, running = true): number {
  const [now, set] = useState(Date.now);
  useEffect(() => {
    if (!running) return;
    const look = () => { if (!document.hidden) set(Date.now()); };
    look();
    const timer = setInterval(look, seconds * 1000);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [seconds, running]);
  return now;
}

/** When something was, as people say it; the exact time is in its title. */
export function RelativeTime({time}: {time: string}) {
  return <time class="num" dateTime={time} title={absolute(time)}>{relative(time, useNow())}</time>;
}

/** How long something has gone on, counted each second while it has no end. */
export function Elapsed({from, to}: {from: string; to?: string | undefined}) {
  const now = useNow(1, !to);
  return <span class="num">{duration(((to ? Date.parse(to) : now) - Date.parse(from)) / 1000)}</span>;
}
