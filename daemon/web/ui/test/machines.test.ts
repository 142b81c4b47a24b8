import assert from 'node:assert/strict';
import {test} from 'node:test';
import {applyEvents, bootOf, byId, countGroups, fraction, inGroup, matches, pick, replace, viewOf, viewQuery, toggled, type View} from '../src/lib/machines';
import type {DaemonEvent, Machine} from '../src/lib/types';

const machine = (id: string, more: Partial<Machine> = {}): Machine => ({id, namespace: 'default', name: `vm-${id}`, status: 'down', revision: '1', created: `2026-01-01T00:00:0${id}Z`, initialized: false, ...more});
const event = (kind: string, object: string, more: Partial<DaemonEvent> = {}): DaemonEvent => ({id: 1, time: '2026-01-01T00:00:00Z', kind, severity: 'normal', object, text: '', ...more});
const view = (more: Partial<View> = {}): View => ({search: '', group: 'all', by: 'created', down: false, ...more});
const ids = (list: Machine[]) => list.map((m) => m.id).join('');

test('a status changes the machine at once, and asks for the rest of it', () => {
  const before = byId([machine('1', {status: 'up', addresses: ['10.0.0.1'], reason: 'x', firstBootRunning: true, progress: {stage: 'done', time: ''}}), machine('2')]);
  const {machines, stale} = applyEvents(before, [event('machine.status', '1', {status: 'down'})]);
  const now = machines.get('1');
  assert.equal(now?.status, 'down');
  assert.deepEqual([now?.addresses, now?.reason, now?.progress, now?.firstBootRunning], [undefined, undefined, undefined, undefined]);
  assert.deepEqual([...stale], ['1']);
  assert.equal(machines.get('2'), before.get('2'), 'the others are the same objects');
  assert.equal(before.get('1')?.status, 'up', 'what was is not written to');
});

test('a stage is progress, and a final one asks for the verdict', () => {
  const before = byId([machine('1', {status: 'powering_up'})]);
  const report = {machine: 'default/vm-1', stage: 'modules-config', module: 'config-runcmd', time: 't'};
  const going = applyEvents(before, [event('machine.report', '1', {report})]);
  assert.deepEqual(going.machines.get('1')?.progress, {stage: 'modules-config', module: 'config-runcmd', time: 't'});
  assert.equal(going.stale.size, 0);
  assert.deepEqual([...applyEvents(before, [event('machine.report', '1', {report: {...report, stage: 'done'}})]).stale], ['1']);
});

test('machines come and go', () => {
  const before = byId([machine('1')]);
  const {machines, stale} = applyEvents(before, [event('machine.added', '2'), event('machine.status', '1', {status: 'up'}), event('machine.removed', '1'), event('disk.removed', '9'), event('daemon.note', '')]);
  assert.deepEqual([...machines.keys()], []);
  assert.deepEqual([...stale], ['2']);
  assert.equal(ids([...replace(before, [machine('2')], ['1']).values()]), '2');
});

test('a boot that goes on counts before the one that was', () => {
  const done = {machine: 'x', stage: 'done', time: 't', ok: true};
  assert.equal(bootOf(machine('1')), 'none');
  assert.equal(bootOf(machine('1', {status: 'up', firstBoot: done})), 'ok');
  assert.equal(bootOf(machine('1', {status: 'up', firstBoot: {...done, ok: false}})), 'failed');
  assert.equal(bootOf(machine('1', {status: 'powering_up', firstBoot: done})), 'going');
  assert.equal(bootOf(machine('1', {status: 'reboot_in_progress', firstBoot: done})), 'ok', 'what it was before goes on until the guest is down');
  assert.equal(bootOf(machine('1', {status: 'down', progress: {stage: 'booting', time: 't'}})), 'none', 'it was stopped while it booted');
  assert.equal(bootOf(machine('1', {status: 'down', initialized: true})), 'ok', 'a guest of an answer file says nothing else');
  assert.equal(bootOf(machine('1', {status: 'up', initialized: true, firstBoot: done, firstBootRunning: true})), 'going', 'it is set up anew');
  assert.equal(bootOf(machine('1', {status: 'up', progress: {stage: 'booting', time: 't'}})), 'none', 'it was taken to be up');
});

test('groups and searches narrow the list down', () => {
  const all = byId([
    machine('1', {status: 'up', addresses: ['10.0.0.7']}), machine('2', {name: 'Web', namespace: 'shop'}), machine('3', {status: 'powering_up'}),
    machine('4', {status: 'up', firstBoot: {machine: 'x', stage: 'done', time: 't', ok: false}}), machine('5', {status: 'paused'}),
  ]);
  assert.deepEqual(countGroups(all, ''), {all: 5, up: 2, changing: 1, down: 1, trouble: 2});
  assert.equal(ids(pick(all, view({group: 'trouble'}))), '45');
  assert.equal(ids(pick(all, view({status: 'up'}))), '14');
  for (const [search, want] of [['WEB', '2'], ['shop/web', '2'], ['shop vm', ''], ['0.0.7', '1'], ['  ', '12345']] as const) assert.equal(ids(pick(all, view({search}))), want, search);
  assert.ok(matches(machine('ab12'), 'ab1') && !matches(machine('ab12'), 'b12 x'));
  assert.ok(inGroup(machine('1', {status: 'image_locked'}), 'changing'));
});

test('what is chosen stays while others are looked for and chosen', () => {
  const all = byId(['web', 'db', 'mail'].map((name, i) => machine(String(i), {name})));
  const first = toggled(new Set(), pick(all, view({search: 'web'})), true);
  const both = toggled(first, pick(all, view({search: 'mail'})), true);
  assert.deepEqual([...both], ['0', '2']);
  assert.deepEqual([...toggled(both, pick(all, view({search: 'web'})), false)], ['2']);
  assert.equal(first.size, 1, 'sets that were given away do not change');
});

test('names are sorted as people count', () => {
  const all = byId(['vm-10', 'VM-9', 'vm-1'].map((name, i) => machine(String(i), {name})));
  assert.equal(ids(pick(all, view({by: 'name'}))), '210');
  assert.equal(ids(pick(all, view({by: 'name', down: true}))), '012');
  assert.equal(ids(pick(all, view())), '012');
});

test('the address of the page holds the view', () => {
  for (const text of ['', '?search=web+1&group=down&sort=-name', '?status=paused', '?sort=created']) assert.equal(viewQuery(viewOf(new URLSearchParams(text))), text);
  assert.deepEqual(viewOf(new URLSearchParams('?group=x&status=<b>&sort=__proto__')), {...view(), by: 'created', down: true, status: undefined});
  assert.deepEqual(viewOf(new URLSearchParams('?sort=-created')), viewOf(new URLSearchParams()), 'the newest machines are the first');
});

test('the stages go forward', () => {
  const all = ['nothing', 'booting', 'init-local', 'init-network', 'modules-config', 'modules-final', 'done'].map(fraction);
  assert.deepEqual(all, [...all].sort((a, b) => a - b));
  assert.ok(all[0] === 0 && all.every((f) => f < 1));
});
