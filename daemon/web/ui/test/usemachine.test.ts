import assert from 'node:assert/strict';
import {mock, test, type TestContext} from 'node:test';
import {onSessionEnd} from '../src/lib/api';
import type {Machine} from '../src/lib/types';
import {useMachine} from '../src/lib/usemachine';
import {globals, hook} from './hook';

const machine = (name: string) => ({id: '1', name, status: 'up'}) as Machine;

/** page is that of a machine, whose daemon answers as a test says. */
async function page(t: TestContext, answer: () => [status: number, body: string]) {
  const state = {asked: 0};
  let source: EventTarget | undefined;
  class Source extends EventTarget {
    constructor() {
      super();
      source = this;
    }
    close() {}
  }
  mock.timers.enable({apis: ['setInterval']});
  const restore = globals({
    EventSource: Source, document: Object.assign(new EventTarget(), {hidden: false}), addEventListener: () => undefined, removeEventListener: () => undefined,
    fetch: () => {
      state.asked++;
      const [status, body] = answer();
      return Promise.resolve(new Response(body, {status}));
    },
  });
  const h = await hook(() => useMachine({machine: machine('old'), lastEvent: 7}));
  t.after(async () => {
    await h.end();
    restore();
    mock.timers.reset();
  });
  return {...h, state, happens: () => h.does(async () => {
    source?.dispatchEvent(Object.assign(new Event('message'), {lastEventId: '8', data: JSON.stringify({id: 8, kind: 'machine.changed'})}));
    await new Promise((done) => setTimeout(done, 80)); // events that come together are told together
  }), later: () => h.does(() => mock.timers.tick(5000))};
}

test('a machine that cannot be read is told, and read again', async (t) => {
  let answer: [number, string] = [500, '{"title": "broken"}'];
  const p = await page(t, () => answer);
  assert.deepEqual([p.now().error, p.now().pulse], [undefined, 0]);
  await p.happens();
  assert.deepEqual([(p.now().error as Error).message, p.now().machine.name, p.now().pulse], ['broken', 'old', 8]);
  await p.later();
  assert.equal(p.state.asked, 2);
  answer = [200, '{'];
  await p.later();
  assert.ok(p.now().error, 'nor is an answer that breaks off one');
  answer = [200, JSON.stringify(machine('new'))];
  await p.later();
  assert.deepEqual([p.now().error, p.now().machine.name], [undefined, 'new']);
  await p.later();
  assert.equal(p.state.asked, 4, 'then there is nothing to ask');
});

test('a machine that is gone, and a session that is', async (t) => {
  let status = 404;
  let told = 0;
  t.after(onSessionEnd(() => told++));
  const p = await page(t, () => [status, '{}']);
  await p.happens();
  assert.deepEqual([p.now().removed, p.now().error, told], [true, undefined, 0]);
  status = 401;
  await p.happens();
  assert.equal(told, 1);
});
