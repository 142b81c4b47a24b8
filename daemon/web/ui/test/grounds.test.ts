import assert from 'node:assert/strict';
import {test} from 'node:test';
import {configs, groundsOf, useGrounds} from '../src/lib/grounds';
import {causes, clue} from '../src/lib/blame';
import type {Asked} from '../src/lib/last';
import type {Machine, RunResult, Seed} from '../src/lib/types';
import {globals, hook} from './hook';

const given = (text: string, path = 'user-data'): Asked => ({asked: true, seed: seed(path, text)});
const seed = (path: string, text: string): Seed => ({namespace: 'n', name: 'm', dataSource: 'nocloud', volumes: [{files: [{path: 'meta-data', size: 1, text: 'runcmd: no'}, {path, size: 1, text}]}]});
const mine = '#cloud-config\nusers:\n- name: alice\n  hashed_passwd: "******"\nruncmd:\n- false\n';
const definition = [{name: 'web.yaml', text: 'apiVersion: vmseed.dev/v1alpha1\nspec:\n  runcmd: [false]\n'}];
const complaint = 'Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)';
const blamed = (g: ReturnType<typeof groundsOf>) => causes(clue(complaint), g.documents).map((c) => `${c.field} ${c.file}:${c.line}`);

const ran = (own = false): RunResult => ({documents: [{name: 'run.yaml', text: 'apiVersion: vmseed.dev/v1alpha1\nspec:\n  users: [{name: a, password: ******}]\n  runcmd: [false]\n'}], ...(own ? {own} : {}), maskedOnly: true});

test('complaints are held against what the guest was given, until the definition is asked for', () => {
  const found = {given: given(mine), kept: given(mine), ran: ran()};
  const before = groundsOf({}, found, false, undefined);
  assert.deepEqual([before.of, before.other, before.findable, blamed(before)], ['given', undefined, true, ['runcmd user-data:5']]);
  const after = groundsOf({}, found, true, definition);
  assert.deepEqual([after.of, after.other, blamed(after)], ['definition', undefined, ['spec.runcmd web.yaml:3']]);
});

test('a run with another definition is held against that one, not the machine\'s', () => {
  const other = mine.replace('users:', 'packages: []\nusers:');
  const found = {given: given(other), kept: given(mine)};
  const cases: [Pick<Machine, 'runOnce'>, RunResult, 'run' | 'changed'][] = [[{runOnce: true}, ran(true), 'run'], [{}, ran(true), 'run'], [{}, ran(), 'changed']];
  for (const [machine, r, why] of cases) { // while it goes on, when it has ended, and when the definition was changed since
    const before = groundsOf(machine, {...found, ran: r}, false, undefined);
    assert.deepEqual([before.of, before.other, before.findable, blamed(before)], ['given', why, true, ['runcmd user-data:6']]);
    const after = groundsOf(machine, {...found, ran: r}, true, definition);
    assert.deepEqual([after.of, after.other, blamed(after)], ['run', why, ['spec.runcmd run.yaml:4']]);
  }
  const same = groundsOf({}, {given: given(mine), kept: given(mine), ran: ran(true)}, true, definition);
  assert.equal(same.of, 'run', 'though the machine\'s makes the same');
  for (const r of [undefined, {documents: [], own: true}]) {
    assert.deepEqual(groundsOf({runOnce: true}, {given: {asked: true}, kept: given(mine), ran: r}, true, definition), {documents: [], of: 'given', other: 'run', findable: false}, 'nothing is kept of it');
  }
});

test('where nothing is kept of what the guest was given, the definition would give it', () => {
  const g = groundsOf({}, {given: {asked: true}, kept: given(mine), ran: undefined}, false, undefined);
  assert.deepEqual([g.of, g.other, blamed(g)], ['given', undefined, ['runcmd user-data:5']]);
  assert.deepEqual(groundsOf({}, {given: {asked: false}, kept: {asked: false}, ran: undefined}, false, undefined).documents, [], 'before the answers are there');
});

test('the machine\'s definition, which has its secrets, is not read for a run that had another one', async (t) => {
  const asked: string[] = [];
  const restore = globals({document: {hidden: false}, fetch: (url: string) => {
    asked.push(url.replace(/^.*\/machines\/1\/?/, ''));
    return Promise.resolve(new Response(JSON.stringify(url.endsWith('/run') ? ran(true) : {seeds: [seed('user-data', mine)], diagnostics: [], documents: []})));
  }});
  const h = await hook(() => useGrounds({id: '1', started: 'then', ended: 'now'} as Machine, true, 0));
  t.after(async () => {
    await h.end();
    restore();
  });
  await h.does((g) => g.ask());
  assert.deepEqual([h.now().of, h.now().other, blamed(h.now())], ['run', 'run', ['spec.runcmd run.yaml:4']]);
  assert.deepEqual([asked.filter((u) => u === 'run').length, asked.filter((u) => u === 'documents' || u.includes('reveal')).length], [1, 0], asked.join());
});

test('what users write is found for every data source, and nothing else', () => {
  for (const path of ['user-data', 'openstack/latest/user_data', 'latest/user-data', 'ignition/config.ign']) assert.deepEqual(configs(seed(path, 'x')).map((d) => d.text), ['x'], path);
  const base = {namespace: 'n', name: 'm', dataSource: 'ignition'};
  assert.equal(configs({...base, firmware: [{path: 'opt/com.coreos/config', size: 1, text: '{}'}]}).length, 1);
  assert.equal(configs({...base, trees: [{name: 't', files: [{path: 'user_data', size: 1, text: ''}, {path: 'vendor_data.json', size: 1, text: ''}]}]}).length, 1);
  assert.equal(configs(seed('vendor-data', 'runcmd: [ours]')).length, 0);
  assert.equal(configs(undefined).length, 0);
});
