// A session that ends: while somebody writes, or by a log-out in another tab.
import {useEffect, useState} from 'preact/hooks';
import {get, onSessionEnd, probe} from './api';

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

/** The name by which the tabs of a browser hear each other. */
const channel = 'vmseed:session';

/** shareLogOut has every tab look for its session when one of them logs out by the form, until the function that it returns is called. */
export function shareLogOut(form: EventTarget | null): () => void {
  const others = new BroadcastChannel(channel);
  let leaving = false;
  const submit = () => { leaving = true; };
  // The page goes when the answer is there: before that the session has not ended.
  const gone = () => { if (leaving) others.postMessage('out'); };
  others.addEventListener('message', probe);
  form?.addEventListener('submit', submit);
  addEventListener('pagehide', gone);
  return () => {
    form?.removeEventListener('submit', submit);
    removeEventListener('pagehide', gone);
    others.close();
  };
}
