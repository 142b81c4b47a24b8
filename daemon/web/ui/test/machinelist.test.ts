import assert from 'node:assert/strict';
import {afterEach, beforeEach, test} from 'node:test';
import {MachineList, type Known} from '../src/lib/machinelist';
import type {Machine} from '../src/lib/types';

const machine = (id: string, more: Partial<Machine> = {}): Machine => ({id, namespace: 'default', name: `vm-${id}`, status: 'down', revision: '1', created: id, initialized: false, ...more});

/** What the daemon has, what it was asked, and the page's stream. */
let daemon = new Map<string, Machine>();
let asked: string[] = [];
let stream: EventTarget;
const real = {fetch: globalThis.fetch, EventSource: globalThis.EventSource, document: globalThis.document, add: globalThis.addEventListener, remove: globalThis.removeEventListener};

beforeEach(() => {
  daemon = new Map();
  asked = [];
  const g = globalThis as unknown as Record<string, unknown>;
  g['fetch'] = (url: string) => {
    asked.push(url.replace('/api/v1', ''));
    const id = /machines\/(\w+)$/.exec(url)?.[1];
    const found = id ? daemon.get(id) : undefined;
    if (id && !found) return Promise.resolve(new Response('{}', {status: 404}));
    if (found) return Promise.resolve(Response.json(found));
    const all = [...daemon.values()];
    const after = new URL(url, 'http://x').searchParams.get('after');
    const from = after ? all.findIndex((m) => m.id === after) + 1 : 0;
    const part = all.slice(from, from + 2); // the daemon may give less than is asked for
    return Promise.resolve(Response.json({machines: part, ...(from + 2 < all.length ? {next: part.at(-1)?.id} : {})}));
  };
  g['EventSource'] = class extends EventTarget { readyState = 1; constructor() { super(); stream = this; } close() {} };
  g['document'] = new EventTarget();
  g['addEventListener'] = g['removeEventListener'] = () => {};
});
afterEach(() => Object.assign(globalThis, {fetch: real.fetch, EventSource: real.EventSource, document: real.document, addEventListener: real.add, removeEventListener: real.remove}));

const say = (id: number, data: object) => stream.dispatchEvent(Object.assign(new Event('message'), {lastEventId: String(id), data: JSON.stringify({id, severity: 'normal', text: '', time: '', ...data})}));

/** follow runs a list until it is as wished. */
function follow(first: Machine[], complete: boolean, script: (list: MachineList) => void, wished: (k: Known) => boolean): Promise<Known> {
  return new Promise((done) => {
    const list: MachineList = new MachineList(first, complete, 0, (k) => {
      if (!wished(k)) return;
      end();
      done(k);
    });
    const end = list.start();
    script(list);
  });
}

test('what the page was not written with is read, piece by piece', async () => {
  for (const id of ['1', '2', '3', '4', '5']) daemon.set(id, machine(id));
  const known = await follow([machine('1')], false, () => {}, (k) => k.complete);
  assert.equal([...known.machines.keys()].join(''), '12345');
  assert.deepEqual(asked, ['/machines?limit=1000', '/machines?limit=1000&after=2', '/machines?limit=1000&after=4']);
});

test('a change is shown, and the machine is read again', async () => {
  daemon.set('1', machine('1', {status: 'up', addresses: ['10.0.0.1']}));
  const known = await follow([machine('1')], true, () => say(1, {kind: 'machine.status', object: '1', status: 'up'}), (k) => !!k.machines.get('1')?.addresses);
  assert.equal(known.machines.get('1')?.status, 'up');
  assert.deepEqual(asked, ['/machines/1']);
});

test('after many changes the list is read once', async () => {
  for (let i = 0; i < 60; i++) daemon.set(`m${i}`, machine(`m${i}`));
  await follow([], true, () => [...daemon.keys()].forEach((id, i) => say(i + 1, {kind: 'machine.added', object: id})), (k) => k.machines.size === 60);
  assert.ok(asked.every((a) => a.startsWith('/machines?')), asked[0]);
});

test('what was removed does not come back with an older answer', async () => {
  daemon.set('1', machine('1')).set('2', machine('2')).set('3', machine('3'));
  const known = await follow([machine('1')], false, (list) => list.put([], [machine('2')]), (k) => k.complete);
  assert.equal([...known.machines.keys()].join(''), '13');
});

test('a machine that is gone is left out', async () => {
  const known = await follow([machine('1'), machine('2')], true, () => say(1, {kind: 'machine.changed', object: '1'}), (k) => k.machines.size === 1);
  assert.ok(known.machines.has('2'));
});
