import assert from 'node:assert/strict';
import {test} from 'node:test';
import {boots, chart, recorded, split, ticks, type Boot} from '../src/lib/boot';
import type {FirstBoot, GuestReport} from '../src/lib/types';

const start = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number) => new Date(start + seconds * 1000).toISOString();
const report = (seconds: number, stage: string, more: Partial<GuestReport> = {}): GuestReport => ({machine: 'a/b', source: 'agent', stage, time: at(seconds), boot: 'one', ...more});
const module = (stage: string, name: string, begin: number, seconds: number, outcome: 'SUCCESS' | 'WARN' | 'FAIL' = 'SUCCESS') => ({stage, module: name, start: begin, seconds, outcome});
const bars = (b: Boot) => b.rows.map((r) => [r.name, r.bar && [r.bar.start, r.bar.end, r.bar.outcome], r.parts.map((p) => [p.name, p.start, p.end, p.outcome])]);

/** What a guest of cloud-init says: its kernel began 5 s after the run. */
const going = [
  report(1, 'init-local', {source: 'console', boot: ''}),
  report(40, 'init-network', {uptime: 35, modules: [module('init-local', 'search-NoCloud', 30, 1)]}),
  report(42, 'init-network', {uptime: 37, module: 'ssh', modules: [module('init-network', 'growpart', 35, 1.5)]}),
];

test('a boot that goes on', () => {
  const b = chart(going.slice(1), {started: at(0), now: start + 50_000, running: true});
  assert.deepEqual(bars(b), [
    ['init-local', [35, 36, 'ok'], [['search-NoCloud', 35, 36, 'ok']]],
    ['init-network', [40, undefined, 'running'], [['growpart', 40, 41.5, 'ok'], ['ssh', 42, undefined, 'running']]],
    ['modules-config', undefined, []],
    ['modules-final', undefined, []],
  ]);
  assert.deepEqual(b.early.map((e) => [e.name, e.start, e.end]), [['firmware', 0, 5], ['kernel', 5, 35]]);
  assert.equal(b.span, 50);
  assert.equal(b.last, undefined);
});

test('a boot that ended', () => {
  const b = chart([...going.slice(1),
    report(60, 'done', {uptime: 55, modules: [module('init-network', 'ssh', 37, 2), module('modules-final', 'scripts_user', 50, 3, 'FAIL')], result: {firstBoot: true, seconds: {'modules-final': 4.5}}}),
  ], {started: at(0), now: start + 500_000, running: true});
  assert.deepEqual(bars(b).slice(1), [
    ['init-network', [40, 44, 'ok'], [['growpart', 40, 41.5, 'ok'], ['ssh', 42, 44, 'ok']]],
    ['modules-config', undefined, []],
    ['modules-final', [55, 59.5, 'fail'], [['scripts_user', 55, 58, 'fail']]],
  ]);
  assert.equal(b.span, 60);
  assert.equal(b.last?.stage, 'done');
});

test('without the guest\'s own times those of the reports count', () => {
  const b = chart([
    report(10, 'init-local', {source: 'console', boot: ''}), report(20, 'init-network', {source: 'console', boot: ''}),
    report(25, 'modules-config', {source: 'http', boot: '', module: 'locale'}), report(30, 'done', {source: 'console', boot: ''}),
  ], {started: at(0), now: start + 99_000, running: false});
  assert.deepEqual(bars(b), [
    ['init-local', [10, 20, 'ok'], []],
    ['init-network', [20, 25, 'ok'], []],
    ['modules-config', [25, 30, 'ok'], [['locale', 25, 30, 'ok']]],
    ['modules-final', undefined, []],
  ]);
  assert.deepEqual(b.early.map((e) => [e.name, e.start, e.end]), [['early', 0, 10]]);
});

test('a run that ended in the middle of a boot is cut off', () => {
  const b = chart([report(10, 'init-network', {boot: ''})], {started: at(0), now: start + 99_000, running: false});
  assert.deepEqual(b.rows[1]?.bar && [b.rows[1].bar.start, b.rows[1].bar.end, b.rows[1].bar.outcome], [10, 10, 'cut']);
});

test('nothing was said yet', () => {
  const b = chart([], {started: at(0), now: start + 7000, running: true});
  assert.deepEqual(b.rows.map((r) => r.bar), [undefined, undefined, undefined, undefined]);
  assert.deepEqual(b.early.map((e) => [e.name, e.start, e.end, e.outcome]), [['early', 0, undefined, 'running']]);
  assert.equal(b.span, 7);
});

test('a guest that restarts has several boots in a run', () => {
  const again = report(90, 'init-network', {boot: 'two'});
  assert.deepEqual(boots([...going, again]).map((b) => b.length), [3, 1]);
  assert.deepEqual(boots([report(1, 'modules-final', {boot: ''}), report(9, 'init-local', {boot: ''})]).map((b) => b.length), [1, 1]);
  assert.deepEqual(boots([]), []);
});

test('a first boot of which only the final word is kept', () => {
  const first: FirstBoot = {...report(100, 'done'), ok: true, result: {firstBoot: true, seconds: {'init-local': 2, 'modules-final': 3}}};
  assert.deepEqual(recorded(first).rows.map((r) => r.bar && [r.bar.start, r.bar.end]), [[0, 2], undefined, undefined, [2, 5]]);
});

test('short parts are set apart, unless something is to be said of them', () => {
  const part = (name: string, seconds: number, outcome: 'ok' | 'fail' = 'ok') => ({name, stage: 'init-local', start: 1, end: 1 + seconds, outcome, exact: true});
  const {shown, short} = split([part('long', 2), part('short', 0.01), part('failed', 0.01, 'fail')], 60);
  assert.deepEqual([shown.map((p) => p.name), short.map((p) => p.name)], [['long', 'failed'], ['short']]);
});

test('ticks are round', () => {
  assert.deepEqual(ticks(10, 5), [0, 2, 4, 6, 8, 10].slice(0, ticks(10, 5).length));
  assert.deepEqual(ticks(121, 5), [0, 30, 60, 90, 120]);
  assert.deepEqual(ticks(1, 5), [0, 1]);
  assert.equal(ticks(100_000, 5).length <= 6, true);
});
