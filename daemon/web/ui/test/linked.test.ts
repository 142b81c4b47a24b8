import assert from 'node:assert/strict';
import {test} from 'node:test';
import {editAt, linkedPlace, ranAt, tabOf} from '../src/lib/linked';

test('a link leads to its line', () => {
  const link = editAt({id: 'a b'}, 'x & y#.yaml', 7);
  assert.equal(link.startsWith('/machines/a%20b/edit#'), true);
  assert.deepEqual(linkedPlace(link.slice(link.indexOf('#')))?.range, {file: 'x & y#.yaml', start: {line: 7, column: 1}});
});

test('a link to a tab leads there, and to a line in it', () => {
  const link = ranAt('x?y&z#.yaml', 3);
  assert.deepEqual([tabOf(link), linkedPlace(link)?.range], ['definition', {file: 'x?y&z#.yaml', start: {line: 3, column: 1}}]);
  assert.deepEqual(['', '#', '#log'].map(tabOf), ['', '', 'log']);
});

test('other addresses lead nowhere', () => {
  for (const hash of ['', '#', '#console', '#definition?file=a', '#file=a', '#line=1', '#file=a&line=0', '#file=a&line=x', '#file=a&line=1.5']) assert.equal(linkedPlace(hash), undefined, hash);
});
