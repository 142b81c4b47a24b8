// The corpus of hostile texts in every text field, in names, in documents of each form and in addresses: each of them stays a text.
import assert from 'node:assert/strict';
import {logIn, open, paste, picture} from './browser.mjs';
import {corpus, isText} from './hostile.mjs';

const {browser, window, complaints} = await open();
const context = await window({reducedMotion: 'reduce'});
const page = await context.newPage();
const settled = (p = page) => p.locator('main [aria-busy="true"]').first().waitFor({state: 'detached'});

/** typed puts a text into every field that takes one, as if it were typed there, and returns how many there are. */
function typed(text) {
  const fields = [...document.querySelectorAll('main input:not([type=checkbox], [type=radio], [type=file]), main textarea')].filter((e) => !e.disabled && !e.readOnly && !e.closest('.editor'));
  for (const e of fields) {
    if (!e.isConnected) continue; // a field before it has changed the form
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(e), 'value').set.call(e, text);
    e.dispatchEvent(new Event('input', {bubbles: true}));
    e.dispatchEvent(new Event('change', {bubbles: true}));
    e.dispatchEvent(new FocusEvent('blur'));
  }
  return fields.length;
}

/** inForm goes through every fold of the form and adds one of each thing that can be added. */
async function inForm(where) {
  await page.locator('details.fold').first().waitFor();
  await page.evaluate(() => { for (const d of document.querySelectorAll('main details')) d.open = true; });
  for (const name of ['Add new', 'Add user', 'Add file', 'Add disk', 'Add mount']) await page.getByRole('button', {name}).click();
  for (const family of ['IPv4', 'IPv6']) await page.getByLabel(`${family} Boot Protocol`).selectOption('static');
  await page.getByLabel('Configure Time Zone').check();
  let fields = 0;
  for (const text of corpus) {
    fields = Math.max(fields, await page.evaluate(typed, text));
    await page.waitForTimeout(20); // let it be drawn, and now and then be rendered as well
    await isText(page, `${where}: ${text}`);
  }
  await settled();
  await page.getByRole('complementary').getByText(/\S/).first().waitFor();
  await isText(page, where);
  await picture(page, `xss-${where}`);
  console.log(`${where}: ${corpus.length} texts in ${fields} fields each`);
  assert.ok(fields >= 20, 'the form has its fields');
}

/** The whole corpus in a document of each form, at places whose contents the page repeats. */
// What looks like a template that nobody has rendered is not read at all.
const quoted = (value) => JSON.stringify(value).replaceAll(/\{(?=[{%#])/g, '\\u007b');
const list = (indent) => corpus.map((text) => `${indent}- ${quoted(text)}\n`).join('');
const map = (indent) => corpus.map((text, i) => `${indent}k${i}: ${quoted(text)}\n`).join('');
const keys = (indent) => corpus.filter((text) => text.length < 500).map((text) => `${indent}${quoted(text)}: 1\n`).join('');
const xml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('{', '&#123;');
const documents = {
  native: `apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata:\n  name: native\n  annotations:\n${map('    ')}spec:\n  identity: {hostname: ${quoted(corpus[0])}}\n  ssh:\n    authorizedKeys:\n${list('    ')}  unknown:\n${keys('    ')}`,
  kubevirt: `apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: kubevirt\n  annotations:\n${map('    ')}spec:\n${keys('  ')}  template:\n    spec:\n      hostname: ${quoted(corpus[1])}\n      domain: {devices: {}}\n      volumes:\n${corpus.map((t) => `      - name: ${quoted(t)}\n        cloudInitNoCloud: {userData: ${quoted('#cloud-config\nhostname: ' + t)}}\n`).join('')}`,
  virtlet: `apiVersion: v1\nkind: Pod\nmetadata:\n  name: virtlet\n  annotations:\n    kubernetes.io/target-runtime: virtlet.cloud\n    VirtletCloudInitUserData: |\n${map('      ')}    VirtletSSHKeys: |\n${corpus.map((t) => `      ${t.replaceAll('{', '(').replaceAll('\n', ' ')}\n`).join('')}spec:\n  containers:\n${corpus.map((t) => `  - {name: ${quoted(t)}, image: ${quoted(t)}}\n`).join('')}`,
  ovirt: `<vm><name>ovirt</name>${corpus.map((t) => `<description>${xml(t)}</description>`).join('')}<initialization><host_name>${xml(corpus[2])}</host_name><custom_script>${corpus.map(xml).join('\n')}</custom_script></initialization></vm>`,
  cloudconfig: `#cloud-config\n${keys('')}runcmd:\n${list('')}`,
  ignition: quoted({ignition: {version: '3.0.0'}, passwd: {users: corpus.map((name) => ({name}))}, storage: {files: corpus.map((path) => ({path}))}}),
  butane: `variant: fcos\nversion: 1.5.0\npasswd:\n  users:\n${corpus.map((t) => `  - name: ${quoted(t)}\n`).join('')}systemd:\n  units:\n${corpus.map((t) => `  - name: ${quoted(t)}\n`).join('')}`,
};

/** inDocuments pastes a document and looks at what the page makes of it everywhere. */
async function inDocuments(form, text) {
  const page = await context.newPage(); // with no unsaved work
  await page.goto('/machines/new');
  await page.getByRole('tab', {name: 'Documents', exact: true}).click();
  const editor = page.getByRole('textbox', {name: /^Text of/});
  await page.locator('.documents [data-ready="true"]').waitFor();
  await editor.focus();
  await page.keyboard.press('ControlOrMeta+a');
  await paste(page, text);
  // Each has something that is remarked on, in words that may repeat the texts.
  await page.locator('.documents__remarks li').first().waitFor();
  await settled(page);
  await isText(page, form);
  const more = page.getByRole('button', {name: /^Show \d+ more/});
  while (await more.count() > 0) await more.first().click();
  await isText(page, `${form}, its remarks`);
  const remarks = await page.locator('.documents__remarks li').count();
  await page.getByRole('tab', {name: 'Form', exact: true}).click();
  await isText(page, `${form} in the form`);
  console.log(`${form}: ${remarks} remarks`);
  await page.close();
  assert.ok(remarks > 0, `${form} is remarked on`);
}

/** hostile makes a machine of one that there is, with texts for everything that people and guests say of it. */
const hostile = (m, texts) => ({...m, name: texts[0], namespace: texts[0], status: 'up', reason: texts[0], started: m.created, initialized: false, login: texts[0], sshPort: 22, addresses: texts,
  template: texts[0], postedPassword: texts[0], progress: {stage: texts[0], module: texts[0], time: m.created},
  firstBoot: {machine: texts[0], stage: 'failed', module: texts[0], time: m.created, ok: false, error: texts[0], reasons: texts,
    result: {firstBoot: true, agent: texts[0], dataSource: texts[0], instance: texts[0], errors: texts, warnings: texts.map((t) => t + ' '), deprecations: texts, hostKeys: texts}}});

/** answering has the daemon say of machines what a test makes of it, in its pages and in its API. */
async function answering(page, {machines, reports = [], events = []}) {
  const json = (route, body) => route.fulfill({json: body});
  await page.route(/\/machines(\/[^/?]+)?(\?[^/]*)?$/, async (route) => {
    const response = await route.fetch();
    if (route.request().resourceType() !== 'document') return route.fulfill({response, json: machines(await response.json())});
    const body = (await response.text()).replace(/(id="page-data">)(.*?)(<\/script>)/s, (_, begin, data, end) => begin + JSON.stringify(machines(JSON.parse(data))).replaceAll('<', '\\u003c') + end);
    return route.fulfill({response, body});
  });
  const stream = (list) => list.map((e, i) => `id: ${i + 1}\ndata: ${JSON.stringify(e)}\n\n`).join('');
  await page.route(/\/boot$/, (route) => route.fulfill({contentType: 'text/event-stream', body: `id: 0\nevent: begin\ndata: {}\n\n${stream(reports)}id: ${reports.length}\nevent: end\ndata: {}\n\n`}));
  await page.route(/\/events\?machine=/, (route) => json(route, {items: events}));
}

/** reads waits until each text stands on the page, as it is but for white space. */
async function reads(page, where, among = 'main') {
  const missing = await page.locator(among).evaluateAll((elements, texts) => {
    const plain = (t) => t.replaceAll(/[\s\u0000]+/g, '');
    const all = elements.map((e) => plain(e.textContent)).join(' ');
    return texts.filter((t) => !all.includes(plain(t)));
  }, corpus);
  assert.deepEqual(missing, [], `${where} shows every text`);
  await isText(page, where);
}

/** inDisplays has the daemon say the texts of machines: their names, reasons, addresses, what their guests report, and what happens to them. */
async function inDisplays() {
  for (const status of ['up', 'powering_up']) { // whose first boot has failed, and goes on
    const page = await context.newPage();
    const all = (m) => corpus.map((text, i) => ({...hostile(m, [text, text]), status, id: `${i}-${m.id}`}));
    await answering(page, {machines: (d) => ('machines' in d ? {...d, more: false, next: undefined, machines: all(d.machines[0])} : d)});
    await page.goto('/machines');
    await page.locator('.machines__table tbody tr').nth(corpus.length - 1).waitFor();
    for (const column of ['name', 'status', 'boot', 'addresses']) await reads(page, `the list's column ${column}`, `.machines__table tbody .machines__${column}`);
    await page.getByRole('checkbox', {name: 'Choose all'}).check();
    await isText(page, 'the list with all machines chosen');
    await picture(page, `xss-machines-${status}`);
    await page.close();
  }

  const one = await context.newPage();
  await one.goto('/machines');
  const path = await one.locator('.machines__name a').first().getAttribute('href');
  const whole = (m) => hostile(m, corpus);
  await answering(one, {
    machines: (d) => ('machine' in d ? {...d, machine: whole(d.machine)} : 'machines' in d ? d : whole(d)),
    reports: corpus.map((text) => ({machine: text, stage: text, module: text, time: '2026-01-01T00:00:00Z', modules: [{stage: text, module: text, start: 1, seconds: 1, outcome: 'FAIL'}]})),
    events: corpus.map((text, i) => ({id: i + 1, time: '2026-01-01T00:00:00Z', kind: 'machine.report', severity: 'error', text, actor: text, place: text, code: text})),
  });
  await one.goto(path);
  await one.locator('.troubles').waitFor();
  await one.getByRole('button', {name: /^Show \d+ more/}).click();
  await one.evaluate(() => { for (const d of document.querySelectorAll('main details')) d.open = true; });
  await settled(one);
  await reads(one, 'the verdict', '.troubles');
  await reads(one, 'the addresses of a machine', '.pairs');
  await isText(one, 'the chart of a boot');
  await picture(one, 'xss-machine');
  await one.getByRole('tab', {name: 'Events', exact: true}).click();
  await one.locator('.events tbody tr').nth(corpus.length - 1).waitFor();
  await reads(one, 'the events of a machine', '.events');
  await one.close();
  console.log(`machines: ${corpus.length} texts as names, reasons, addresses, reports and events`);
}

await logIn(page);
await page.waitForURL('**/machines');
await inDisplays();
await page.goto('/images');
await settled();
const names = await page.locator('main').innerText();
assert.equal(corpus.filter((text) => names.includes(text.replaceAll(/\s+/g, ' ').trim())).length, corpus.length, 'every name of an image is shown as it is');
await isText(page, 'images');
await picture(page, 'xss-images');
await page.goto('/machines/new');
await inForm('form');
for (const [form, text] of Object.entries(documents)) await inDocuments(form, text);
for (const text of corpus) {
  const q = encodeURIComponent(text);
  await page.goto(`/machines?search=${q}&status=${q}&sort=${q}#${q}`);
  await page.getByRole('searchbox').waitFor();
  assert.equal(await page.getByRole('searchbox').inputValue(), text.replaceAll(/[\r\n]/g, ''), 'the search is what was asked for');
  await isText(page, `search for ${text}`);
}
const stranger = await (await window()).newPage();
for (const text of corpus) {
  await stranger.goto(`/login?next=${encodeURIComponent(text)}#${encodeURIComponent(text)}`);
  await isText(stranger, `log-in before ${text}`);
}
for (const next of ['javascript:alert(1)', '//evil.example/', '/\\evil.example', 'https://evil.example/', '/machines?search=%3Cscript%3Ealert(1)%3C/script%3E']) {
  const guest = await (await window()).newPage();
  await logIn(guest, undefined, undefined, `?next=${encodeURIComponent(next)}`);
  await guest.waitForURL(/^[^?]*\/machines(\?.*)?$/);
  await isText(guest, `after the log-in with ${next}`);
  await guest.context().close();
}
console.log(`addresses: ${corpus.length} searches, ${corpus.length} log-ins`);
assert.deepEqual(complaints, []);
await browser.close();
