import assert from 'node:assert/strict';
import {test} from 'node:test';
import {absolute, bytes, clock, count, duration, relative} from '../src/lib/format';

test('sizes have binary units and at most one digit behind the point', () => {
  for (const [n, want] of [[0, '0 B'], [1023, '1023 B'], [1024, '1 KiB'], [1536, '1.5 KiB'], [1048524, '1 MiB'], [734003200, '700 MiB'], [2 ** 31, '2 GiB'], [2 ** 60, '1024 PiB']] as const) assert.equal(bytes(n), want);
  assert.equal(count(1234567), '1,234,567');
});

test('durations have their two largest units', () => {
  for (const [s, want] of [[-1, '0 s'], [0.04, '0 s'], [4.25, '4.3 s'], [9.94, '9.9 s'], [9.96, '10 s'], [59.6, '1 min'], [185, '3 min 5 s'], [3600, '1 h'], [7830, '2 h 10 min'], [90000, '1 d 1 h']] as const) assert.equal(duration(s), want);
});

test('times are told from now, and old ones are dates', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  const ago = (s: number) => relative(new Date(now - s * 1000).toISOString(), now);
  assert.deepEqual([0, 44, 50, 3000, 7200, 86400 * 3].map(ago), ['just now', 'just now', '1 min ago', '50 min ago', '2 h ago', '3 d ago']);
  assert.equal(ago(-3600), 'just now');
  assert.match(ago(86400 * 40), /^2026-01-2\d$/);
  assert.equal(relative('soon', now), 'soon');
});

test('exact times are of the zone of the browser, and what is no time stays as it is', () => {
  assert.match(absolute('2026-03-01T12:00:05Z'), /^2026-0[23]-\d\d \d\d:\d\d:05$/);
  assert.match(clock('2026-03-01T12:00:05Z'), /^\d\d:\d\d:05$/);
  assert.equal(absolute('never'), 'never');
});
