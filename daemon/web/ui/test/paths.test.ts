import assert from 'node:assert/strict';
import {test} from 'node:test';
import {recordWithout, without} from '../src/lib/paths';

test('what is known of the items of a list stays with them when one is taken out', () => {
  const cases: [string, string | undefined][] = [
    ['spec.users[0].name', 'spec.users[0].name'], ['spec.users[1].name', undefined], ['spec.users[1]', undefined], ['spec.users[2].keys[5]', 'spec.users[1].keys[5]'],
    ['spec.users[10]', 'spec.users[9]'], ['spec.files[1].path', 'spec.files[1].path'], ['spec.users', 'spec.users'], ['spec.usersX[1]', 'spec.usersX[1]'],
  ];
  for (const [path, want] of cases) assert.equal(without(path, 'spec.users', 1), want, path);
  assert.deepEqual(recordWithout({'spec.users[1].name': 'gone', 'spec.users[2].name': 'stays', verify: 'too'}, 'spec.users', 1), {'spec.users[1].name': 'stays', verify: 'too'});
});
