import assert from 'node:assert/strict';
import {test} from 'node:test';
import {reveal, slice} from '../src/lib/window';

test('the rows near the window are drawn, and the table keeps its height', () => {
  for (const top of [500, 0, -1, -39, -4000, -199_900, -1e9]) {
    const s = slice(5000, 40, top, 800);
    assert.equal(s.above + (s.end - s.first) * 40 + s.below, 5000 * 40, `at ${top}`);
    assert.ok(s.end - s.first <= 800 / 40 + 26, `at ${top}`);
    for (let row = Math.max(0, Math.floor(-top / 40)); row < Math.min(5000, (800 - top) / 40); row++) assert.ok(row >= s.first && row < s.end, `row ${row} at ${top}`);
  }
  assert.deepEqual(slice(0, 40, 0, 800), {first: 0, end: 0, above: 0, below: 0});
});

test('a row that is not seen is scrolled to, by no more than needed', () => {
  assert.equal(reveal(3, 40, 100, 84, 800), 0);
  assert.equal(reveal(20, 40, 100, 84, 800), 140);
  assert.equal(reveal(0, 40, -100, 84, 800), -184);
});
