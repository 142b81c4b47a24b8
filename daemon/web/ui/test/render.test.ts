import assert from 'node:assert/strict';
import {mock, test} from 'node:test';
import {call, Problem} from '../src/lib/api';
import {after, isPassing, patience, refused, Scheduler, slow} from '../src/lib/render';
import {globals} from './hook';

/** A world in which each question waits for an answer by hand. */
function world() {
  let clock = 0;
  const asked: {question: string; signal: AbortSignal; answer: (a: string) => void; refuse: (e: Error) => void}[] = [];
  const told: string[] = [];
  mock.timers.enable({apis: ['setTimeout']});
  const scheduler = new Scheduler<string, string>({
    ask: (question, signal) => new Promise((answer, refuse) => {
      asked.push({question, signal, answer, refuse});
      signal.addEventListener('abort', () => refuse(new Error('aborted')));
    }),
    tell: (answer, question) => told.push(`${question}=${answer}`),
    fail: (error, question) => told.push(`${question}!${(error as Error).message}`),
    now: () => clock,
  });
  const pass = async (ms: number) => {
    clock += ms;
    mock.timers.tick(ms);
    for (let i = 0; i < 5; i++) await Promise.resolve();
  };
  return {asked, told, scheduler, pass, end: () => mock.timers.reset()};
}

test('the first question is asked at once, and of those that come meanwhile the last', async () => {
  const w = world();
  w.scheduler.put('a');
  assert.deepEqual(w.asked.map((x) => x.question), ['a']);
  w.scheduler.put('ab');
  await w.pass(slow - 1);
  w.scheduler.put('abc');
  assert.equal(w.asked.length, 1, 'one at a time');
  w.asked[0]!.answer('ok');
  await w.pass(0);
  assert.deepEqual(w.asked.map((x) => x.question), ['a', 'abc']);
  assert.deepEqual(w.told, [], 'what is overtaken is not shown');
  w.asked[1]!.answer('ok');
  await w.pass(0);
  assert.deepEqual(w.told, ['abc=ok']);
  await w.pass(10 * slow);
  assert.equal(w.asked.length, 2, 'then there is nothing to ask');
  w.end();
});

test('a slow question is overtaken, and its failure is nobody\'s', async () => {
  const w = world();
  w.scheduler.put('a');
  await w.pass(slow / 2);
  w.scheduler.put('b');
  await w.pass(slow / 2 - 1);
  assert.equal(w.asked[0]!.signal.aborted, false);
  await w.pass(1);
  assert.equal(w.asked[0]!.signal.aborted, true);
  w.asked[1]!.refuse(new Error('refused'));
  await w.pass(0);
  assert.deepEqual(w.told, ['b!refused']);
  w.end();
});

test('a question that nobody overtakes has all the time that it needs', async () => {
  const w = world();
  w.scheduler.put('a');
  await w.pass(10 * patience);
  assert.equal(w.asked[0]!.signal.aborted, false);
  w.asked[0]!.answer('ok');
  await w.pass(0);
  assert.deepEqual(w.told, ['a=ok']);
  w.end();
});

test('who types on and on gets an answer all the same, from a slow daemon and from a quick one', async () => {
  for (const takes of [3 * slow, 30]) {
    const w = world();
    let n = 0;
    let answered = 0;
    for (let t = 0; t < patience + 6 * slow; t += 10) {
      if (t % 20 === 0) w.scheduler.put(String(n++));
      await w.pass(10);
      const last = w.asked.at(-1)!;
      if (!last.signal.aborted && ++answered * 10 >= takes) {
        last.answer('ok');
        answered = 0;
        await w.pass(0);
      }
      if (w.asked.at(-1) !== last) answered = 0;
    }
    assert.ok(w.told.length >= 1, `an answer takes ${takes} ms`);
    assert.ok(w.told.length <= 3, `few of those that are overtaken are drawn: ${w.told.join(' ')}`);
    w.end();
  }
});

test('what is stopped says nothing more', async () => {
  const w = world();
  w.scheduler.put('a');
  w.scheduler.stop();
  w.asked[0]!.answer('late');
  await w.pass(0);
  assert.deepEqual(w.told, []);
  w.end();
});

test('the files stay while the documents have errors', () => {
  const good = {seeds: [{namespace: 'n', name: 'a', dataSource: 'nocloud'}], diagnostics: []};
  const bad = {seeds: [], diagnostics: [{code: 'VS1', severity: 'error' as const, summary: 's'}]};
  const nothing = {diagnostics: [], stale: false, busy: true};
  assert.equal(after(nothing, bad).result, bad);
  const shown = after(after(nothing, good), bad);
  assert.equal(shown.result, good);
  assert.equal(shown.stale, true);
  assert.equal(shown.diagnostics.length, 1);
  assert.equal(after(shown, good).stale, false);
});

test('every failure is told, and asked about again unless it is about the question', async () => {
  const good = {result: {seeds: [], diagnostics: []}, diagnostics: [], stale: false, busy: true};
  const answers: Record<string, () => Promise<Response>> = {
    unreachable: () => Promise.reject(new TypeError('failed')),
    broken: () => Promise.resolve(new Response(new ReadableStream({start: (c) => { c.enqueue(new TextEncoder().encode('{"seeds": [')); c.error(new TypeError('cut')); }}))),
    half: () => Promise.resolve(new Response('{"seeds": [')),
    foreign: () => Promise.resolve(new Response('<p>Sign in to the proxy')),
    fault: () => Promise.resolve(new Response('<p>Bad gateway', {status: 502, statusText: 'Bad Gateway'})),
    busy: () => Promise.resolve(new Response('{"title": "Too Many Requests"}', {status: 429})),
  };
  for (const [name, fetch] of Object.entries(answers)) {
    const restore = globals({fetch});
    const error: unknown = await call('POST', '/render', {}).then(() => undefined, (e: unknown) => e);
    restore();
    assert.ok(error instanceof Problem, name);
    const shown = refused(good, error);
    assert.deepEqual([shown.result === good.result, shown.stale, shown.busy], [true, true, false], name);
    assert.ok(shown.problem && isPassing(shown.problem), name);
  }
  const own = refused({diagnostics: [], stale: false, busy: true}, new RangeError('of the page itself'));
  assert.deepEqual([own.problem?.message, own.stale], ['of the page itself', false]);
  const remark = {code: 'VS1', severity: 'error' as const, summary: 's'};
  const wrong = refused(good, new Problem(422, 'Unprocessable', '', [remark], ''));
  assert.deepEqual([wrong.diagnostics, isPassing(wrong.problem!)], [[remark], false]);
});

test('an answer that nobody waits for any more is no problem', async () => {
  const flight = new AbortController();
  const restore = globals({fetch: () => Promise.resolve(new Response(new ReadableStream({start: (c) => { flight.abort(); c.error(new DOMException('gone', 'AbortError')); }})))});
  await assert.rejects(call('GET', '/x', undefined, flight.signal), (e: Error) => e.name === 'AbortError');
  restore();
});
