import assert from 'node:assert/strict';
import {afterEach, beforeEach, mock, test} from 'node:test';
import {unseen, whileSeen} from '../src/lib/seen';

/** What the browser would have: a document that the test hides and shows, and a window. */
const page = Object.assign(new EventTarget(), {hidden: false});
const win = new EventTarget();
let log: string[];
let end: () => void;

beforeEach(() => {
  log = [];
  page.hidden = false;
  mock.timers.enable({apis: ['setTimeout']});
  Object.assign(globalThis, {document: page, addEventListener: win.addEventListener.bind(win), removeEventListener: win.removeEventListener.bind(win)});
});
afterEach(() => {
  end();
  mock.timers.reset();
});

const begin = () => {
  let opened = false;
  end = whileSeen(() => { if (!opened) log.push('open'); opened = true; }, () => { if (opened) log.push('close'); opened = false; });
};
const turn = (hidden: boolean) => {
  page.hidden = hidden;
  page.dispatchEvent(new Event('visibilitychange'));
};

test('a page that is not seen for a while rests until it is seen again', () => {
  begin();
  turn(true);
  mock.timers.tick(unseen - 1);
  assert.deepEqual(log, ['open']);
  mock.timers.tick(1);
  assert.deepEqual(log, ['open', 'close']);
  turn(false);
  assert.deepEqual(log, ['open', 'close', 'open']);
});

test('a page that is hidden for a moment goes on', () => {
  begin();
  turn(true);
  mock.timers.tick(unseen / 2);
  turn(false);
  mock.timers.tick(120_000);
  assert.deepEqual(log, ['open']);
});

test('a page that begins in a tab that nobody sees rests as well', () => {
  page.hidden = true;
  begin();
  mock.timers.tick(unseen + 1);
  assert.deepEqual(log, ['open', 'close']);
});

test('a page in the cache of pages rests, and nothing is left of one that has ended', () => {
  begin();
  win.dispatchEvent(new Event('pagehide'));
  win.dispatchEvent(new Event('pageshow'));
  assert.deepEqual(log, ['open', 'close', 'open']);
  end();
  turn(true);
  turn(false);
  mock.timers.tick(120_000);
  win.dispatchEvent(new Event('pageshow'));
  assert.deepEqual(log, ['open', 'close', 'open', 'close']);
});
