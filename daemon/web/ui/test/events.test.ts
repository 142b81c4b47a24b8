import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Events, type Follower, type World} from '../src/lib/events';

/** A stream that the test speaks into. */
class Source extends EventTarget {
  readyState = 1;
  constructor(readonly url: string) { super(); }
  close() { this.readyState = 2; }
  say(type: string, id: number, data: unknown = {}) {
    this.dispatchEvent(Object.assign(new Event(type), {lastEventId: String(id), data: JSON.stringify(data)}));
  }
  fail(closed: boolean) {
    this.readyState = closed ? 2 : 0;
    this.dispatchEvent(new Event('error'));
  }
}

function world(follower: Partial<Follower> = {}) {
  const opened: Source[] = [];
  const timers = new Map<number, {f: () => void; ms: number}>();
  const log: string[] = [];
  let next = 0;
  let probes = 0;
  const w: World = {
    open: (url) => {
      const s = new Source(url);
      opened.push(s);
      return s as unknown as EventSource;
    },
    probe: () => { probes++; },
    later: (f, ms) => {
      const id = next++;
      timers.set(id, {f, ms});
      return () => timers.delete(id);
    },
  };
  const events = new Events({since: 7, onEvents: (all) => log.push('events ' + all.map((e) => e.id).join(',')), onGap: () => log.push('gap'), onStream: (s) => log.push(s), ...follower}, w);
  const fire = (most: number) => {
    for (const [id, t] of [...timers]) {
      if (t.ms > most) continue;
      timers.delete(id);
      t.f();
    }
  };
  events.open();
  return {events, opened, timers, log, fire, probes: () => probes};
}

test('events that come together are told together', () => {
  const w = world({machine: 'a b'});
  assert.equal(w.opened[0]?.url, '/api/v1/events?since=7&machine=a+b');
  w.opened[0]?.say('begin', 7);
  w.opened[0]?.say('message', 8, {id: 8});
  w.opened[0]?.say('message', 9, {id: 9});
  assert.deepEqual(w.log, []);
  w.fire(50);
  assert.deepEqual(w.log, ['events 8,9']);
});

test('a short break is not told, a long one is, and so is its end', () => {
  const w = world();
  w.opened[0]?.say('begin', 7);
  w.opened[0]?.fail(false);
  w.opened[0]?.say('begin', 7);
  w.fire(10_000);
  assert.deepEqual(w.log, []);
  w.opened[0]?.fail(false);
  w.fire(10_000);
  w.opened[0]?.say('begin', 7);
  assert.deepEqual(w.log, ['lost', 'open']);
  assert.equal(w.opened.length, 1, 'the browser comes back by itself');
  assert.equal(w.probes(), 2, 'each time it may have been the session that ended');
});

test('an answer that is no stream is asked about, and tried again later and later', () => {
  const w = world();
  w.opened[0]?.say('message', 12, {id: 12});
  const pauses: number[] = [];
  for (let i = 0; i < 7; i++) {
    w.opened.at(-1)?.fail(true);
    const again = [...w.timers.values()].map((t) => t.ms).filter((ms) => ms !== 50 && ms !== 2000);
    pauses.push(...again);
    w.fire(20_000);
  }
  assert.deepEqual(pauses, [500, 1000, 2000, 4000, 8000, 15_000, 15_000].filter((ms) => ms !== 2000));
  assert.equal(w.probes(), 7);
  assert.equal(w.opened.at(-1)?.url, '/api/v1/events?since=12');
});

test('what is lost is a gap, and so is a daemon that counts anew', () => {
  const w = world();
  w.opened[0]?.say('begin', 7);
  w.opened[0]?.say('message', 8, {id: 8});
  w.opened[0]?.say('lost', 90);
  w.fire(50);
  assert.deepEqual(w.log, ['gap'], 'everything is read again, so what came before is not told');
  w.opened[0]?.say('begin', 3);
  assert.deepEqual(w.log, ['gap', 'gap']);
});

test('who closes it is told what came, and goes on from there', () => {
  const w = world();
  w.opened[0]?.say('message', 8, {id: 8});
  w.events.close();
  assert.deepEqual(w.log, ['events 8']);
  assert.equal(w.timers.size, 0);
  w.events.open();
  assert.equal(w.opened[1]?.url, '/api/v1/events?since=8');
  w.opened[0]?.fail(true);
  assert.equal(w.probes(), 0, 'the old stream says nothing any more');
});
