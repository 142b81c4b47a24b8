import assert from 'node:assert/strict';
import {test} from 'node:test';
import {configs, groundsOf} from '../src/lib/grounds';
import {causes, clue} from '../src/lib/blame';
import type {Asked} from '../src/lib/last';
import type {Seed} from '../src/lib/types';

const given = (text: string, path = 'user-data'): Asked => ({asked: true, seed: seed(path, text)});
const seed = (path: string, text: string): Seed => ({namespace: 'n', name: 'm', dataSource: 'nocloud', volumes: [{files: [{path: 'meta-data', size: 1, text: 'runcmd: no'}, {path, size: 1, text}]}]});
const mine = '#cloud-config\nusers:\n- name: alice\n  hashed_passwd: "******"\nruncmd:\n- false\n';
const definition = [{name: 'web.yaml', text: 'apiVersion: vmseed.dev/v1alpha1\nspec:\n  runcmd: [false]\n'}];
const complaint = 'Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)';
const blamed = (g: ReturnType<typeof groundsOf>) => causes(clue(complaint), g.documents).map((c) => `${c.field} ${c.file}:${c.line}`);

test('complaints are held against what the guest was given, until the definition is asked for', () => {
  const before = groundsOf({}, given(mine), given(mine), undefined);
  assert.deepEqual([before.of, before.other, blamed(before)], ['given', undefined, ['runcmd user-data:5']]);
  const after = groundsOf({}, given(mine), given(mine), definition);
  assert.deepEqual([after.of, after.other, blamed(after)], ['definition', undefined, ['spec.runcmd web.yaml:3']]);
});

test('a run with a definition of its own is not held against the machine\'s', () => {
  const other = mine.replace('users:', 'packages: []\nusers:');
  for (const own of [{runOnce: true}, {}]) { // while it goes on, and when it has ended
    const g = groundsOf(own, given(other), given(mine), definition);
    assert.deepEqual([g.of, g.other, blamed(g)], ['given', own.runOnce ? 'run' : 'changed', ['runcmd user-data:6']]);
  }
  assert.deepEqual(groundsOf({runOnce: true}, {asked: true}, given(mine), definition), {documents: [], of: 'given', other: 'run'}, 'nothing is kept of what it was given');
});

test('where nothing is kept of what the guest was given, the definition would give it', () => {
  const g = groundsOf({}, {asked: true}, given(mine), undefined);
  assert.deepEqual([g.of, g.other, blamed(g)], ['given', undefined, ['runcmd user-data:5']]);
  assert.deepEqual(groundsOf({}, {asked: false}, {asked: false}, undefined).documents, [], 'before the answers are there');
});

test('what users write is found for every data source, and nothing else', () => {
  for (const path of ['user-data', 'openstack/latest/user_data', 'latest/user-data', 'ignition/config.ign']) assert.deepEqual(configs(seed(path, 'x')).map((d) => d.text), ['x'], path);
  const base = {namespace: 'n', name: 'm', dataSource: 'ignition'};
  assert.equal(configs({...base, firmware: [{path: 'opt/com.coreos/config', size: 1, text: '{}'}]}).length, 1);
  assert.equal(configs({...base, trees: [{name: 't', files: [{path: 'user_data', size: 1, text: ''}, {path: 'vendor_data.json', size: 1, text: ''}]}]}).length, 1);
  assert.equal(configs(seed('vendor-data', 'runcmd: [ours]')).length, 0);
  assert.equal(configs(undefined).length, 0);
});
