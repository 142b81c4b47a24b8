import assert from 'node:assert/strict';
import {test} from 'node:test';
import {draft} from '../src/lib/draft';

const key = (fill: number) => Buffer.alloc(32, fill).toString('base64');

function memory() {
  const map = new Map<string, string>();
  return {map, getItem: (k: string) => map.get(k) ?? null, setItem: (k: string, v: string) => void map.set(k, v), removeItem: (k: string) => void map.delete(k)};
}

test('a draft comes back, and its text is not in the storage', async () => {
  const storage = memory();
  const d = draft<{secret: string}>('new', key(1), storage);
  assert.ok(d);
  assert.equal(await d.load(), null);
  await d.save({secret: 'canary'});
  const stored = [...storage.map.entries()];
  assert.equal(stored.length, 1);
  assert.ok(!JSON.stringify(stored).includes('canary') && !atob(stored[0]?.[1] ?? '').includes('canary'));
  const again = await draft<{secret: string}>('new', key(1), storage)?.load();
  assert.deepEqual(again?.value, {secret: 'canary'});
  assert.ok(Math.abs((again?.saved.getTime() ?? 0) - Date.now()) < 60_000);
  d.drop();
  assert.equal(storage.map.size, 0);
});

test('another session, another place and changed bytes yield nothing', async () => {
  const storage = memory();
  await draft<number>('new', key(1), storage)?.save(1);
  const text = storage.map.get('vmseed.draft.new') ?? '';
  storage.map.set('vmseed.draft.edit', text);
  assert.equal(await draft<number>('edit', key(1), storage)?.load(), null);
  assert.equal(await draft<number>('new', key(2), storage)?.load(), null);
  assert.equal(storage.map.size, 0, 'what cannot be read is removed');
  storage.map.set('vmseed.draft.new', '!');
  assert.equal(await draft<number>('new', key(1), storage)?.load(), null);
});

test('the last of several saves counts, and none after a drop', async () => {
  const storage = memory();
  const d = draft<number>('new', key(1), storage);
  await Promise.all([d?.save(1), d?.save(2), d?.save(3)]);
  assert.equal((await d?.load())?.value, 3);
  const late = d?.save(4);
  d?.drop();
  await late;
  assert.equal(storage.map.size, 0);
  assert.equal(draft('new', '', storage), null);
});
