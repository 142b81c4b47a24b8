// A session that ends while somebody writes.
import {useEffect, useState} from 'preact/hooks';
import {get, onSessionEnd} from './api';

/** How often it is looked whether the user has logged in again elsewhere, in ms. */
const look = 5000;

/** useEnded tells whether the session has ended while there is unsaved work. Who writes is not taken away to the
 * log-in page in the middle of a word: another tab can log in instead. */
export function useEnded(unsaved: boolean): boolean {
  const [ended, set] = useState(false);
  useEffect(() => (unsaved ? onSessionEnd(() => set(true)) : undefined), [unsaved]);
  useEffect(() => {
    if (!ended) return undefined;
    const timer = setInterval(() => { if (!document.hidden) get('/session').then(() => set(false), () => undefined); }, look);
    return () => clearInterval(timer);
  }, [ended]);
  return ended;
}
