import assert from 'node:assert/strict';
import {test} from 'node:test';
import {againOf} from '../src/lib/again';
import {changes, compared, firstEntry, groupsOf, rowsOf, sameFile} from '../src/lib/seedtree';
import type {Machine, RenderResult, Seed} from '../src/lib/types';

const file = (path: string, text = '') => ({path, text, size: text.length});
const seed = (s: Partial<Seed>): Seed => ({namespace: 'default', name: 'web', dataSource: 'nocloud', ...s});

const drive = seed({dataSource: 'configdrive', volumes: [{label: 'config-2', format: 'iso', files: [
  file('openstack/latest/meta_data.json', '{}'), file('openstack/latest/user_data', 'a'), file('openstack/content/0000', 'x')]}], kernelArgs: ['quiet']});

test('files stand in directories below what holds them', () => {
  const rows = rowsOf(groupsOf(drive), new Set());
  assert.deepEqual(rows.map((r) => `${' '.repeat(r.level)}${r.label}`), [
    ' Volume', '  openstack/', '   content/', '    0000', '   latest/', '    meta_data.json', '    user_data', ' Kernel command line', '  cmdline']);
  assert.equal(rows[0]?.detail, 'ISO 9660, label config-2');
  const closed = rowsOf(groupsOf(drive), new Set(['volume:/openstack/']));
  assert.deepEqual(closed.map((r) => r.label), ['Volume', 'openstack/', 'Kernel command line', 'cmdline']);
  assert.equal(closed[1]?.open, false);
});

test('directories with nothing but a directory are one line', () => {
  const rows = rowsOf(groupsOf(seed({firmware: [file('opt/com.coreos/config', '{}')]})), new Set());
  assert.deepEqual(rows.map((r) => r.label), ['Firmware', 'opt/com.coreos/', 'config']);
});

test('what differs from the last start is marked', () => {
  const now = groupsOf(seed({volumes: [{label: 'cidata', files: [file('meta-data', 'm'), file('network-config', 'n'), file('user-data', 'new')]}]}));
  const last = groupsOf(seed({volumes: [{label: 'cidata', files: [file('meta-data', 'm'), file('user-data', 'old'), file('vendor-data', 'v')]}], kernelArgs: ['a']}));
  const both = compared(now, last);
  assert.deepEqual(both.flatMap((g) => g.entries.map((e) => `${e.file.path} ${e.change ?? 'same'}`)),
    ['meta-data same', 'network-config added', 'user-data changed', 'vendor-data removed', 'cmdline removed']);
  assert.equal(changes(both), 4);
  assert.equal(firstEntry(both)?.before?.text, 'old');
  assert.equal(rowsOf(both, new Set(['volume:']))[0]?.changed, true);
  assert.equal(changes(compared(now, now)), 0);
});

test('the file that was chosen stays, also in another data source', () => {
  assert.equal(firstEntry(groupsOf(drive))?.file.path, 'openstack/latest/user_data');
  assert.equal(sameFile(groupsOf(drive), 'volume:/user-data')?.file.path, 'openstack/latest/user_data');
  assert.equal(sameFile(groupsOf(drive), 'volume:/meta-data')?.file.path, 'openstack/latest/meta_data.json');
  assert.equal(sameFile(groupsOf(drive), 'volume:/nothing'), undefined);
});

test('what the next start is to the guest', () => {
  const machine = {initialized: true} as Machine;
  const result = (dataSource: string, firstBoot: boolean): RenderResult => ({seeds: [seed({dataSource})], diagnostics: [], firstBoot});
  assert.equal(againOf(undefined, result('nocloud', true), {}), 'first');
  assert.equal(againOf({initialized: false} as Machine, result('nocloud', true), {}), 'first');
  assert.equal(againOf(machine, result('nocloud', false), {initialize: true}), 'not');
  assert.equal(againOf(machine, result('nocloud', true), {}), 'changed');
  assert.equal(againOf(machine, result('nocloud', true), {initialize: true}), 'again');
  assert.equal(againOf(machine, result('nocloud', false), {generation: 1}), 'again');
  assert.equal(againOf(machine, result('ignition', true), {generation: 1}), 'disk');
});
