import assert from 'node:assert/strict';
import {test} from 'node:test';
import {editAt, linkedPlace} from '../src/lib/linked';

test('a link leads to its line', () => {
  const link = editAt({id: 'a b'}, 'x & y#.yaml', 7);
  assert.equal(link.startsWith('/machines/a%20b/edit#'), true);
  assert.deepEqual(linkedPlace(link.slice(link.indexOf('#')))?.range, {file: 'x & y#.yaml', start: {line: 7, column: 1}});
});

test('other addresses lead nowhere', () => {
  for (const hash of ['', '#', '#console', '#file=a', '#line=1', '#file=a&line=0', '#file=a&line=x', '#file=a&line=1.5']) assert.equal(linkedPlace(hash), undefined, hash);
});
