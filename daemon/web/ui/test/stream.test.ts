import assert from 'node:assert/strict';
import {mock, test, type TestContext} from 'node:test';
import {followBoot} from '../src/lib/stream';
import type {GuestReport} from '../src/lib/types';
import {globals} from './hook';

/** A page at a daemon whose streams the test speaks into. */
function page(t: TestContext) {
  const opened: Source[] = [];
  class Source extends EventTarget {
    static readonly CLOSED = 2;
    readyState = 1;
    constructor(readonly url: string) {
      super();
      opened.push(this);
    }
    close() { this.readyState = 2; }
    say(type: string, id: number, data: unknown = {}) { this.dispatchEvent(Object.assign(new Event(type), {lastEventId: String(id), data: JSON.stringify(data)})); }
    fail(closed: boolean) {
      this.readyState = closed ? 2 : 0;
      this.dispatchEvent(new Event('error'));
    }
  }
  const document = Object.assign(new EventTarget(), {hidden: false});
  const asked: string[] = [];
  mock.timers.enable({apis: ['setTimeout']});
  const restore = globals({
    EventSource: Source, document, addEventListener: () => undefined, removeEventListener: () => undefined,
    fetch: (url: string) => { asked.push(url); return Promise.resolve(new Response('{}')); },
  });
  const told: string[][] = [];
  const follower = followBoot('a b', {onReports: (all) => told.push(all.map((r) => r.stage))});
  t.after(() => {
    follower.end();
    restore();
    mock.timers.reset();
  });
  return {opened, told, asked, follower, document, pass: (ms: number) => mock.timers.tick(ms), last: () => opened.at(-1)!};
}

const report = (stage: string): GuestReport => ({machine: 'a/b', stage, time: ''});

test('a boot that has ended holds no stream, and the next one of the run is heard', (t) => {
  const p = page(t);
  assert.deepEqual(p.opened.map((s) => s.url), ['/api/v1/machines/a%20b/boot']);
  p.last().say('begin', 0);
  for (const [i, stage] of ['booting', 'modules-final'].entries()) p.last().say('message', i + 1, report(stage));
  p.pass(60_000);
  assert.equal(p.last().readyState, 1, 'a boot that goes on may be silent for long');
  p.last().say('message', 3, report('done'));
  p.pass(60_000);
  assert.equal(p.last().readyState, 2);
  assert.deepEqual(p.told.at(-1), ['booting', 'modules-final', 'done']);

  p.follower.wake();
  assert.equal(p.opened.length, 2);
  for (const [i, stage] of ['booting', 'modules-final', 'done', 'booting'].entries()) p.last().say('message', i + 1, report(stage));
  p.pass(60_000);
  assert.deepEqual([p.told.at(-1), p.last().readyState], [['booting', 'modules-final', 'done', 'booting'], 1]);
  p.follower.wake();
  assert.equal(p.opened.length, 2, 'one stream is enough');
});

test('a run that is over is not followed any more', (t) => {
  const p = page(t);
  p.last().say('message', 1, report('booting'));
  p.last().say('end', 1);
  p.follower.wake();
  p.pass(60_000);
  assert.deepEqual([p.opened.length, p.told.at(-1)], [1, ['booting']]);
});

test('when a stream breaks, it is asked whether the session has ended', (t) => {
  const p = page(t);
  p.last().fail(false);
  assert.deepEqual(p.asked, ['/api/v1/session']);
  p.last().fail(true);
  assert.deepEqual(p.asked.length, 2);
  p.pass(60_000);
  assert.equal(p.opened.length, 2, 'a stream that was refused is asked for again');
});

test('nothing is opened while nobody looks', (t) => {
  const p = page(t);
  p.last().say('message', 1, report('done'));
  p.document.hidden = true;
  p.document.dispatchEvent(new Event('visibilitychange'));
  p.pass(60_000);
  p.follower.wake();
  assert.equal(p.opened.length, 1);
  p.document.hidden = false;
  p.document.dispatchEvent(new Event('visibilitychange'));
  assert.equal(p.opened.length, 2, 'what was missed comes then');
});
