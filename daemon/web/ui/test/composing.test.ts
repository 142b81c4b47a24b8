import assert from 'node:assert/strict';
import {test} from 'node:test';
import {giveUp} from '../src/lib/composing';
import {listen} from '../src/lib/shout';
import {globals} from './hook';

test('work is given up after a question, and without one where there is none', async (t) => {
  const said: string[] = [];
  let go = false;
  t.after(globals({location: {assign: (to: string) => said.push(to)}}));
  t.after(listen({toast: () => undefined, ask: (q) => { said.push(q.action); return Promise.resolve({go, option: false}); }}));
  const leave = (dirty: boolean) => giveUp({dirty, done: () => said.push('done')}, '/machines');
  await leave(true);
  assert.deepEqual(said.splice(0), ['Give it up'], 'a no leaves everything as it is');
  go = true;
  await leave(true);
  assert.deepEqual(said.splice(0), ['Give it up', 'done', '/machines']);
  await leave(false);
  assert.deepEqual(said, ['done', '/machines']);
});
