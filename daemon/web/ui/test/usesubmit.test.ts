import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import {open} from '../src/lib/definition';
import {lacksName, useSubmit} from '../src/lib/submit';
import type {Machine} from '../src/lib/types';
import {begin, useWork, type ComposeData, type Working} from '../src/lib/work';
import {globals, hook} from './hook';

const native = (host: string) => `apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: a}\nspec: {identity: {hostname: ${host}}}\n`;
const machine = (revision: string, name = 'a') => ({id: '1', name, revision}) as Machine;

/** An API that answers as a test says, and keeps what it was asked. */
function api(t: TestContext, answers: Record<string, (body: unknown, headers: Record<string, string>) => [status: number, body: unknown]>) {
  const asked: {what: string; body: unknown; revision: string | undefined}[] = [];
  const went: string[] = [];
  const fetch = (url: string, init: RequestInit) => {
    const what = `${init.method} ${url.replace('/api/v1', '')}`;
    const headers = init.headers as Record<string, string>;
    const body: unknown = init.body ? JSON.parse(init.body as string) : undefined;
    asked.push({what, body, revision: headers['If-Match']});
    const [status, answer] = answers[what]?.(body, headers) ?? [404, {}];
    return Promise.resolve(new Response(JSON.stringify(answer), {status}));
  };
  t.after(globals({fetch, sessionStorage: undefined, addEventListener: () => undefined, removeEventListener: () => undefined,
    location: {assign: (to: string) => went.push(to), search: ''}}));
  return {asked, went};
}

/** page is the page that edits the machine: its work, and what sends it. */
async function page(mode: ComposeData['mode'] = 'edit', held = new Map<string, string>()) {
  const told: Machine[] = [];
  const h = await hook(() => {
    const working = useWork('edit:1', '', begin([{text: native('old')}], {}), '1')!;
    const data = {mode, machine: machine('1'), templates: []} as unknown as ComposeData;
    return {working, submit: useSubmit({data, working, opening: open(working.work.documents), rendered: [], held, mismatch: false, onMachine: (m) => told.push(m)})};
  });
  await h.does((now) => now.working.put((w) => ({...w, documents: [{text: native('mine')}]})));
  return {...h, told};
}

test('a change is sent for the revision that it began with, and the page goes on to the machine', async (t) => {
  const {asked, went} = api(t, {'PATCH /machines/1': () => [200, machine('2')]});
  const p = await page();
  await p.does(({submit}) => submit.go('plain'));
  assert.deepEqual(asked, [{what: 'PATCH /machines/1', body: {documents: [{text: native('mine')}]}, revision: '"1"'}]);
  assert.deepEqual(went, ['/machines/1']);
});

test('a machine that somebody else has changed is not overwritten unasked', async (t) => {
  const theirs = {revision: '2'};
  const {asked, went} = api(t, {
    'PATCH /machines/1': (_, headers) => (headers['If-Match'] === `"${theirs.revision}"` ? [200, machine('9')] : [412, {title: 'Precondition Failed'}]),
    'GET /machines/1': () => [200, machine(theirs.revision)],
  });
  const p = await page();
  await p.does(({submit}) => submit.go('plain'));
  assert.deepEqual([p.now().submit.conflict?.machine?.revision, p.now().submit.busy, p.now().submit.problem, went], ['2', undefined, undefined, []]);
  assert.deepEqual(p.told.map((m) => m.revision), ['2'], 'the page learns of it');
  assert.deepEqual(p.now().working.work.documents, [{text: native('mine')}], 'the work stays');
  await p.does(({submit}) => submit.go('plain'));
  assert.deepEqual(went, [], 'asking again changes nothing');
  theirs.revision = '3';
  await p.does(({submit}) => submit.overwrite());
  assert.deepEqual([p.now().submit.conflict?.machine?.revision, went], ['3', []], 'nor does an answer to what was there before');
  await p.does(({submit}) => submit.overwrite());
  assert.deepEqual(went, ['/machines/1']);
  assert.deepEqual(asked.filter((a) => a.what.startsWith('PATCH')).map((a) => a.revision), ['"1"', '"1"', '"2"', '"3"']);
});

test('what is there now is loaded, and the work comes back', async (t) => {
  const {asked, went} = api(t, {
    'PATCH /machines/1': (_, headers) => (headers['If-Match'] === '"2"' ? [200, machine('3')] : [412, {}]),
    'GET /machines/1': () => [200, machine('2', 'b')],
    'GET /machines/1/documents': () => [200, {documents: [{text: native('theirs')}]}],
  });
  const p = await page();
  await p.does(({submit}) => submit.go('plain'));
  await p.does(({submit}) => submit.load());
  assert.deepEqual([p.now().working.work.documents, p.now().working.revision, p.now().working.former?.work.documents], [[{text: native('theirs')}], '2', [{text: native('mine')}]]);
  await p.does(({working}) => working.back());
  await p.does(({submit}) => submit.go('plain'));
  assert.deepEqual([went, p.now().submit.conflict !== undefined], [[], true], 'the work that came back is still of the first revision');
  await p.does(({working}) => working.back());
  await p.does(({submit}) => submit.go('plain'));
  assert.deepEqual([went, asked.at(-1)?.revision], [['/machines/1'], '"2"']);
});

test('what the daemon refuses is told until the work is another', async (t) => {
  const wrong = {code: 'VS1', severity: 'error', field: 'spec.identity.hostname', summary: 'no host name', remedy: 'write one'};
  api(t, {'PATCH /machines/1': () => [422, {title: 'Unprocessable', diagnostics: [wrong]}]});
  const p = await page();
  await p.does(({submit}) => submit.go('plain'));
  assert.deepEqual(p.now().submit.wrong.map((w) => [w.field, w.text]), [['spec.identity.hostname', 'No host name; write one.']]);
  assert.equal(p.now().submit.problem, '', 'it is said at the field');
  await p.does(({working}) => working.put((w) => ({...w, documents: [{text: native('other')}]})));
  assert.deepEqual([p.now().submit.wrong, p.now().submit.problem], [[], undefined]);
});

test('nothing is sent while something is missing, nor twice', async (t) => {
  const {asked, went} = api(t, {'POST /machines/1/start': () => [200, machine('1')]});
  const p = await page('run', new Map([['cd', 'Choose a CD.']]));
  await p.does(({submit}) => submit.go('plain'));
  assert.deepEqual([asked, p.now().submit.wrong.map((w) => w.field)], [[], ['cd']]);
  const q = await page('run');
  await q.does(({submit}) => submit.go('plain'));
  await q.does(({submit}) => submit.go('plain'));
  assert.deepEqual([asked.map((a) => [a.what, a.revision]), went], [[['POST /machines/1/start', undefined]], ['/machines/1']]);
});

test('a daemon that cannot be reached leaves the work where it is', async (t) => {
  api(t, {});
  globalThis.fetch = () => Promise.reject(new TypeError('failed'));
  const p = await page();
  await p.does(({submit}) => submit.go('plain'));
  assert.ok(p.now().submit.problem);
  assert.equal(p.now().submit.busy, undefined);
  assert.equal(p.now().working.dirty, true);
});

test('who is over the documents is told that the machine has no name', () => {
  const lacks = (mode: ComposeData['mode'], text: string, name?: string) => {
    const work = begin([{text}], name ? {name} : {});
    return lacksName({data: {mode} as ComposeData, opening: open(work.documents), working: {work} as Working});
  };
  const blank = native('a').replace('{name: a}', '{name: ""}');
  assert.deepEqual([lacks('new', blank), lacks('new', native('a')), lacks('edit', blank), lacks('run', blank)], [true, false, true, false]);
  assert.deepEqual([lacks('new', '#cloud-config\n'), lacks('new', '#cloud-config\n', 'web'), lacks('new', '<vm><name>a</name></vm>')], [true, false, false]);
});
