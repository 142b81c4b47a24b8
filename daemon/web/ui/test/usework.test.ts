import assert from 'node:assert/strict';
import {mock, test, type TestContext} from 'node:test';
import {begin, useWork, type Work} from '../src/lib/work';
import {globals, hook, memory} from './hook';

const key = Buffer.alloc(32, 1).toString('base64');
const documents = (text: string): Work => begin([{name: 'machine.yaml', text}], {});
const text = (w: Work | undefined) => w?.documents[0]?.text;

const turn = () => new Promise((done) => setImmediate(done));

/** A tab of a browser with its storage, in which pages come and go. */
function tab(test: TestContext, options: {storage?: ReturnType<typeof memory> | undefined} = {storage: memory()}) {
  const events = new EventTarget();
  const restore = globals({sessionStorage: options.storage, addEventListener: events.addEventListener.bind(events), removeEventListener: events.removeEventListener.bind(events)});
  mock.timers.enable({apis: ['setTimeout']});
  test.after(() => {
    mock.timers.reset();
    restore();
  });
  const stored = () => options.storage?.map.get('vmseed.draft.edit:1');
  return {
    events,
    /** Does what has a draft kept, and waits until it is encrypted and in the storage. */
    async keeps(how: () => void) {
      const before = stored();
      how();
      for (const begun = performance.now(); stored() === before; await turn()) assert.ok(performance.now() < begun + 60_000, 'the draft is kept');
    },
    /** Lets the time go by after which a draft is kept. */
    pause: () => mock.timers.tick(1000),
  };
}

/** use opens a page of the tab, and waits until its draft has been looked for. */
async function use(work: Work, revision?: string) {
  const h = await hook(() => useWork('edit:1', key, work, revision));
  for (let i = 0; i < 100 && !h.now(); i++) await h.does(() => undefined);
  assert.ok(h.now(), 'the draft was looked for');
  return {...h, now: () => h.now()!, does: (what: (now: NonNullable<ReturnType<typeof useWork>>) => unknown) => h.does((now) => what(now!))};
}

test('work is there again after a reload, and not when it is done', async (test) => {
  const t = tab(test);
  let page = await use(documents('a'), '1');
  assert.deepEqual([text(page.now().work), page.now().dirty, page.now().restored, page.now().revision], ['a', false, undefined, '1']);
  await page.does((w) => w.put((x) => ({...x, documents: [{text: 'mine'}]})));
  assert.equal(page.now().dirty, true);
  await page.does(() => t.keeps(t.pause));
  await page.end();
  page = await use(documents('a'), '1');
  assert.deepEqual([text(page.now().work), page.now().dirty, page.now().outdated], ['mine', true, false]);
  assert.ok(page.now().restored);
  await page.does((w) => w.done());
  t.events.dispatchEvent(new Event('pagehide'));
  t.pause();
  for (let i = 0; i < 50; i++) await turn();
  await page.end();
  page = await use(documents('a'), '1');
  assert.deepEqual([text(page.now().work), page.now().restored], ['a', undefined], 'also when the page is left a moment later');
  await page.end();
});

test('a page that is left at once has kept its draft', async (test) => {
  const t = tab(test);
  let page = await use(documents('a'));
  await page.does((w) => w.put((x) => ({...x, documents: [{text: 'mine'}]})));
  await t.keeps(() => t.events.dispatchEvent(new Event('pagehide')));
  await page.end();
  page = await use(documents('a'));
  assert.equal(text(page.now().work), 'mine');
  await page.end();
});

test('a draft keeps the revision that it began with, so that saving it asks', async (test) => {
  const t = tab(test);
  let page = await use(documents('a'), '1');
  await page.does((w) => w.put((x) => ({...x, documents: [{text: 'mine'}]})));
  await page.does(() => t.keeps(t.pause));
  await page.end();
  page = await use(documents('theirs'), '2');
  assert.deepEqual([text(page.now().work), page.now().outdated, page.now().revision], ['mine', true, '1']);
  await page.does((w) => w.discard());
  assert.deepEqual([text(page.now().work), page.now().dirty, page.now().outdated, page.now().revision], ['theirs', false, false, '2']);
  await page.does((w) => w.back());
  assert.deepEqual([text(page.now().work), page.now().dirty, page.now().revision], ['mine', true, '1'], 'what was put away comes back, with its revision');
  await page.end();
});

test('what there is now takes the place of the work, which comes back as it was', async (test) => {
  const t = tab(test);
  let page = await use(documents('a'), '1');
  await page.does((w) => w.put((x) => ({...x, documents: [{text: 'mine'}]})));
  const before = page.now().turn;
  await page.does((w) => w.load(documents('theirs'), '2'));
  assert.deepEqual([text(page.now().work), page.now().revision, page.now().dirty, page.now().former?.why], ['theirs', '2', false, 'loaded']);
  assert.ok(page.now().turn > before, 'controls begin anew');
  await page.does((w) => w.put((x) => ({...x, documents: [{text: 'theirs, changed'}]})));
  await page.does((w) => w.back());
  assert.deepEqual([text(page.now().work), page.now().revision, text(page.now().former?.work)], ['mine', '1', 'theirs, changed']);
  await page.does(() => t.keeps(t.pause));
  await page.end();
  page = await use(documents('theirs'), '2');
  assert.deepEqual([text(page.now().work), text(page.now().former?.work)], ['mine', 'theirs, changed'], 'both are there after a reload');
  await page.does((w) => w.back());
  assert.deepEqual([text(page.now().work), page.now().revision], ['theirs, changed', '2']);
  await page.does((w) => w.forget());
  assert.equal(page.now().former, undefined);
  await page.does((w) => w.back());
  assert.equal(text(page.now().work), 'theirs, changed', 'there is nothing to go back to');
  await page.end();
});

test('a conversion keeps what it converted, also that which was typed after it', async (test) => {
  tab(test);
  const page = await use(documents('a'));
  await page.does((w) => w.replace('converted', (x) => x));
  assert.equal(page.now().former, undefined, 'nothing was replaced');
  const said = [{code: 'VS1', severity: 'warning' as const, summary: 'something is lost'}];
  await page.does((w) => w.replace('converted', (x) => ({...x, documents: [{text: 'native'}]}), said));
  assert.deepEqual([page.now().former?.why, text(page.now().former?.work), page.now().former?.diagnostics], ['converted', 'a', said]);
  await page.does((w) => w.put((x) => ({...x, documents: [{text: 'native, changed'}]})));
  await page.does((w) => w.back());
  assert.deepEqual([text(page.now().work), page.now().former?.why, text(page.now().former?.work)], ['a', 'back', 'native, changed']);
  await page.end();
});

test('where no draft can be kept, leaving the page is asked about', async (test) => {
  const t = tab(test, {storage: undefined});
  const page = await use(documents('a'));
  const asked = () => {
    const e = new Event('beforeunload', {cancelable: true});
    t.events.dispatchEvent(e);
    return e.defaultPrevented;
  };
  assert.deepEqual([page.now().volatile, asked()], [true, false]);
  await page.does((w) => w.put((x) => ({...x, documents: [{text: 'mine'}]})));
  assert.equal(asked(), true);
  await page.does((w) => w.done());
  assert.equal(asked(), false);
  await page.end();
});
