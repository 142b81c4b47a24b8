import assert from 'node:assert/strict';
import {test} from 'node:test';
import {act, question, running, why, type Action} from '../src/lib/actions';
import {listen, type Question, type Toast} from '../src/lib/shout';
import type {Machine, Status} from '../src/lib/types';

const machine = (name: string, status: Status, disks: string[] = []): Machine => ({id: `id-${name}`, namespace: 'default', name, status, disks, created: '', revision: '1', initialized: false});
const all: Action[] = ['start', 'shutdown', 'reboot', 'reset', 'stop', 'remove'];
const can = (status: Status) => all.filter((a) => !why(a, {status})).join(' ');

test('each status has its actions', () => {
  assert.equal(can('down'), 'start remove');
  assert.equal(can('up'), 'shutdown reboot reset stop remove');
  assert.equal(can('powering_down'), 'reboot reset stop remove');
  assert.equal(can('image_locked'), '');
  assert.deepEqual((['down', 'image_locked', 'paused', 'not_responding'] as const).map(running), [false, false, true, true]);
});

test('a question says what is lost', () => {
  const one = question('remove', [machine('web', 'up', ['d'])]);
  assert.equal(one.title, 'Remove web?');
  assert.equal(one.danger, true);
  assert.ok(one.option, 'disks can stay');
  assert.ok([one.text].flat().some((t) => /powered off/.test(t)));
  const many = question('shutdown', [machine('a', 'up'), machine('b', 'up')], 3);
  assert.equal(many.action, 'Shut down 2');
  assert.ok(!many.danger && !many.option);
  assert.match([many.text].flat().join(' '), /: 3\./);
});

/** Runs an action with an API that refuses some machines, and a user who answers. */
async function run(action: Action, machines: Machine[], answer: {go: boolean; option: boolean}) {
  const requests: string[] = [];
  const asked: Question[] = [];
  const told: Toast[] = [];
  const unlisten = listen({toast: (t) => told.push(t), ask: (q) => { asked.push(q); return Promise.resolve(answer); }});
  const fetched = globalThis.fetch;
  globalThis.fetch = ((url: string, init: RequestInit) => {
    requests.push(`${init.method} ${url}`);
    const bad = url.includes('bad');
    const body = bad ? {title: 'Conflict', detail: 'it is busy'} : {id: 'x', status: 'up'};
    return Promise.resolve(new Response(init.method === 'DELETE' && !bad ? null : JSON.stringify(body), {status: bad ? 409 : init.method === 'DELETE' ? 204 : 200}));
  }) as typeof fetch;
  try {
    return {outcome: await act(action, machines), requests, asked, told};
  } finally {
    globalThis.fetch = fetched;
    unlisten();
  }
}

test('a start is not asked about, and only those that are down are started', async () => {
  const {requests, asked, outcome} = await run('start', [machine('a', 'down'), machine('b', 'up')], {go: false, option: false});
  assert.deepEqual(requests, ['POST /api/v1/machines/id-a/start']);
  assert.equal(asked.length, 0);
  assert.equal(outcome.changed.length, 1);
});

test('who says no has done nothing', async () => {
  const {requests, asked, told} = await run('stop', [machine('a', 'up')], {go: false, option: false});
  assert.equal(asked.length, 1);
  assert.deepEqual([requests.length, told.length], [0, 0]);
});

test('a removal stops what runs, and keeps the disks when asked to', async () => {
  const {requests, told} = await run('remove', [machine('a', 'up', ['d']), machine('b', 'down')], {go: true, option: true});
  assert.deepEqual(requests, ['DELETE /api/v1/machines/id-a?force=true&keepDisks=true', 'DELETE /api/v1/machines/id-b?force=false&keepDisks=true']);
  assert.equal(told[0]?.title, '2 machines were removed');
});

test('what fails is told once, with names', async () => {
  const {told, outcome} = await run('shutdown', ['bad1', 'ok', 'bad2', 'bad3', 'bad4'].map((n) => machine(n, 'up')), {go: true, option: false});
  assert.equal(outcome.failed.length, 4);
  assert.equal(told.length, 1);
  assert.equal(told[0]?.kind, 'bad');
  assert.match(told[0]?.title ?? '', /^4 of 5 /);
  assert.match(told[0]?.text ?? '', /bad1: it is busy.*and 1 more/);
});
