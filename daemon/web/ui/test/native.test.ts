import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import {edit, open} from '../src/lib/definition';
import {adopted, isConvertible, toNative, useNative} from '../src/lib/native';
import {begin, useWork} from '../src/lib/work';
import {globals, hook} from './hook';

const foreign = [{name: 'vm.xml', text: '<vm><name>a</name></vm>'}];
const native = 'apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: a}\nspec: {identity: {hostname: b}}\n';
const loss = {code: 'VS1', severity: 'warning', summary: 'this is lost'} as const;

/** An API that converts as a test says, and keeps what it was asked. */
function api(t: TestContext, answer: () => [status: number, body: unknown]) {
  const asked: unknown[] = [];
  const fetch = (url: string, init: RequestInit) => {
    asked.push([url, JSON.parse(init.body as string)]);
    const [status, body] = answer();
    return Promise.resolve(new Response(JSON.stringify(body), {status}));
  };
  t.after(globals({fetch, sessionStorage: undefined, addEventListener: () => undefined, removeEventListener: () => undefined}));
  return asked;
}

test('a run takes the conversion of its documents with the first change, and can give it back', async (t) => {
  const asked = api(t, () => [200, {documents: [{name: 'default/a', text: native}], diagnostics: [loss]}]);
  const page = await hook(() => {
    const working = useWork('run:1', '', begin(foreign, {}))!;
    const opening = open(working.work.documents);
    return {working, opening, converting: useNative(working.work.documents, isConvertible(opening))};
  });
  for (let i = 0; i < 100 && !page.now().converting.native; i++) await page.does(() => new Promise((done) => setTimeout(done)));
  assert.deepEqual(asked, [['/api/v1/convert', {documents: foreign, to: 'native'}]]);
  const n = page.now().converting.native!;
  assert.deepEqual([n.diagnostics, n.opened.tree.text('spec.identity.hostname')], [[loss], 'b']);
  assert.deepEqual([page.now().working.work.documents, page.now().working.dirty], [foreign, false], 'until then the run is that of its documents');
  const change = (name: string) => page.does(({working}) => {
    working.replace('run', (w) => adopted(w, n), n.diagnostics);
    working.put((w) => ({...w, documents: edit(w.documents, 0, (tree) => tree.set('spec.identity.hostname', name))}));
  });
  await change('c');
  await change('d'); // a second one before anything is drawn is no other conversion
  const opened = page.now().opening;
  assert.equal(opened.ok && opened.opened.tree.text('spec.identity.hostname'), 'd');
  assert.deepEqual([page.now().working.former?.why, page.now().working.former?.work.documents], ['run', foreign]);
  assert.equal(asked.length, 1);
  await page.does(({working}) => working.back());
  assert.equal(page.now().working.work.documents, foreign);
  await page.end();
});

test('documents that cannot be converted are told why', async (t) => {
  const wrong = {code: 'VS2', severity: 'error', summary: 'this is wrong', remedy: 'mend it'};
  const answers: [number, unknown][] = [[200, {documents: [], diagnostics: [loss, wrong]}], [409, {title: 'Conflict', detail: 'not now'}],
    [200, {documents: [{text: native}, {text: native}], diagnostics: []}]];
  api(t, () => answers.shift()!);
  assert.equal(await toNative(foreign, {}), 'This is wrong; mend it.');
  assert.equal(await toNative(foreign, {}), 'not now');
  assert.match(String(await toNative(foreign, {})), /several machines/);
});

test('only what is whole is converted for a run', () => {
  const of = (text: string) => isConvertible(open([{text}]));
  assert.deepEqual([of('<vm/>'), of(native), of(native.replace('{hostname: b}', '&x {hostname: b}')), of(native + '---\n' + native), of(native + ' :\n - {')], [true, false, true, false, false]);
});
