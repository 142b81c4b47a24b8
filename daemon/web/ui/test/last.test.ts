import assert from 'node:assert/strict';
import {test} from 'node:test';
import {baseOf, useBase} from '../src/lib/last';
import type {Machine, Seed} from '../src/lib/types';
import {globals, hook} from './hook';

const seed = (dataSource: string, text = 'x'): Seed => ({namespace: 'default', name: 'a', dataSource, volumes: [{files: [{path: 'user-data', size: text.length, text}]}]});
const empty: Seed = {namespace: 'default', name: 'a', dataSource: 'nocloud'};
const nothing = {asked: true};

test('a preview is compared with what the guest was given, and else with what is saved', () => {
  const now = seed('nocloud');
  const [given, saved] = [{asked: true, seed: seed('nocloud', 'given')}, {asked: true, seed: seed('nocloud', 'saved')}];
  assert.equal(baseOf(now, given, saved)?.of, 'given');
  assert.equal(baseOf(now, {...given, seed: seed('configdrive')}, saved)?.of, 'saved', 'another data source has other files');
  assert.equal(baseOf(now, {...given, seed: empty}, saved)?.of, 'saved', 'nothing is kept of it');
  assert.equal(baseOf(now, nothing, saved)?.of, 'saved');
  assert.equal(baseOf(now, nothing, {...saved, seed: seed('configdrive')}), undefined);
  assert.equal(baseOf(undefined, given, saved), undefined);
});

test('of a machine that has stopped the secrets are not kept', () => {
  const kept = {asked: true, seed: seed('nocloud'), maskedOnly: true};
  assert.equal(baseOf(seed('nocloud'), kept, nothing)?.bare, true);
  assert.equal(baseOf(seed('nocloud'), {...kept, maskedOnly: false}, nothing)?.bare, false, 'it runs');
});

test('the saved definition is asked for only where the guest was given nothing', async (t) => {
  const asked: string[] = [];
  const given: {seeds: Seed[]; maskedOnly?: boolean} = {seeds: [seed('nocloud', 'given')], maskedOnly: true};
  const fetch = (url: string) => {
    asked.push(url.replace('/api/v1/machines/1', ''));
    return Promise.resolve(Response.json(url.includes('/seed') ? given : {seeds: [seed('nocloud', 'saved')], diagnostics: []}));
  };
  t.after(globals({fetch}));
  const machine = (more: Partial<Machine>) => ({id: '1', revision: '1', ...more}) as Machine;
  const ran = machine({started: '2026-01-01T00:00:00Z', ended: '2026-01-01T00:01:00Z'});
  let h = await hook(() => useBase(ran, seed('nocloud'), '', false));
  assert.deepEqual([h.now()?.of, asked], ['given', ['/seed']]);
  await h.end();
  asked.length = 0;
  h = await hook(() => useBase(machine({}), seed('nocloud'), '', false));
  assert.deepEqual([h.now()?.of, asked], ['saved', ['/render']]);
  await h.end();
  asked.length = 0;
  given.seeds = [empty];
  h = await hook(() => useBase(ran, seed('nocloud'), '', false));
  assert.deepEqual([h.now()?.of, asked], ['saved', ['/seed', '/render']]);
  await h.end();
});
