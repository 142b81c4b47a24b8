import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Echo} from '../src/lib/echo';

test('what the user typed is not put back, what the page changes is', () => {
  const echo = new Echo();
  for (const text of ['a', 'ab', 'abc']) echo.say(text);
  assert.equal(echo.hears('a'), true);
  assert.equal(echo.hears('abc'), true);
  assert.equal(echo.hears('a'), false, 'an earlier text is a change when the latest has come back');
  echo.say('x');
  assert.equal(echo.hears('other'), false);
  assert.equal(echo.hears('x'), false, 'what came before a change of the page is over');
});
