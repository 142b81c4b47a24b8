import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import {onSessionEnd} from '../src/lib/api';
import {shareLogOut} from '../src/lib/session';
import {globals} from './hook';

/** A browser with two tabs that share a session: each hears the other's messages, not its own. */
function tabs(t: TestContext) {
  const open = new Set<Channel>();
  class Channel extends EventTarget {
    constructor(readonly name: string) {
      super();
      open.add(this);
    }
    postMessage(data: unknown) { for (const c of open) if (c !== this && c.name === this.name) c.dispatchEvent(Object.assign(new Event('message'), {data})); }
    close() { open.delete(this); }
  }
  const win = new EventTarget();
  const session = {there: true, asked: 0};
  t.after(globals({
    BroadcastChannel: Channel, addEventListener: win.addEventListener.bind(win), removeEventListener: win.removeEventListener.bind(win),
    fetch: () => { session.asked++; return Promise.resolve(new Response('{}', {status: session.there ? 200 : 401})); },
  }));
  return {win, session, open};
}

test('a log-out in one tab is told in the others', async (t) => {
  const {win, session, open} = tabs(t);
  const form = new EventTarget();
  const ends = [shareLogOut(form), shareLogOut(null)];
  let told = 0;
  t.after(onSessionEnd(() => told++));
  win.dispatchEvent(new Event('pagehide'));
  assert.equal(session.asked, 0, 'who goes to another page has not logged out');
  form.dispatchEvent(new Event('submit'));
  assert.equal(session.asked, 0, 'the session is there until the answer is');
  session.there = false;
  win.dispatchEvent(new Event('pagehide'));
  await new Promise((done) => setImmediate(done));
  assert.deepEqual([session.asked, told], [1, 1]);
  for (const end of ends) end();
  assert.equal(open.size, 0);
});
