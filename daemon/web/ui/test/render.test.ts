import assert from 'node:assert/strict';
import {mock, test} from 'node:test';
import {after, delay, patience, Scheduler} from '../src/lib/render';

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

test('what comes together is one question', async () => {
  const w = world();
  w.scheduler.put('a');
  await w.pass(delay - 1);
  w.scheduler.put('ab');
  await w.pass(delay - 1);
  assert.equal(w.asked.length, 0);
  await w.pass(1);
  assert.deepEqual(w.asked.map((x) => x.question), ['ab']);
  w.asked[0]!.answer('ok');
  await w.pass(0);
  assert.deepEqual(w.told, ['ab=ok']);
  w.end();
});

test('an earlier question is aborted, and its failure is nobody\'s', async () => {
  const w = world();
  w.scheduler.put('a');
  await w.pass(delay);
  w.scheduler.put('b');
  await w.pass(delay);
  assert.equal(w.asked[0]!.signal.aborted, true);
  w.asked[1]!.refuse(new Error('refused'));
  await w.pass(0);
  assert.deepEqual(w.told, ['b!refused']);
  w.end();
});

test('who types on and on gets an answer all the same', async () => {
  const w = world();
  w.scheduler.put('0');
  let n = 0;
  for (let t = 0; t < patience + 300; t += 50) {
    await w.pass(50);
    w.scheduler.put(String(++n));
  }
  const last = w.asked.at(-1)!;
  assert.equal(last.signal.aborted, false);
  last.answer('ok');
  await w.pass(0);
  assert.deepEqual(w.told, [`${last.question}=ok`]);
  assert.equal(w.asked.at(-1)!.question, String(n));
  w.end();
});

test('what is stopped says nothing more', async () => {
  const w = world();
  w.scheduler.put('a');
  await w.pass(delay);
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
