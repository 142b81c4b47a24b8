// Both test cases of oVirt's page on cloud-init, by clicking: "Initialize vm parameters", and the same with a CD. PAGE_PART says which; the
// test looks into the guest between them.
import assert from 'node:assert/strict';
import {illustrate, logIn, open, picture, told} from './browser.mjs';
import {atMachine, importTemplate, more, remove, script, shutDown, sitDown, watch} from './guest.mjs';
import {hostileScript, showsHostile} from './hostile.mjs';

const {browser, window, complaints} = await open();
// A guest boots beside the browser: animations would take their share of the processor.
const page = await (await window({reducedMotion: 'reduce'})).newPage();
const part = process.env.PAGE_PART;
const key = process.env.PAGE_KEY ?? '';
const stages = ['Local', 'Network', 'Configuration', 'Final'];

/** fill fills in Initial Run. */
async function fill(fields) {
  const on = page.getByLabel('Use Cloud-Init');
  await on.uncheck();
  await page.getByText('No seed is made for this run').waitFor();
  await on.check();
  await page.getByLabel('VM Hostname').fill(fields.hostname);
  await page.getByLabel('Configure Time Zone').check();
  await page.getByLabel('Time Zone', {exact: true}).selectOption(fields.timezone);
  await page.getByLabel('User Name', {exact: true}).fill('alice');
  await page.getByLabel('Password', {exact: true}).fill(fields.password);
  await page.getByLabel('Verify Password').fill(fields.password);
  await page.getByLabel('SSH Authorized Keys').first().fill(key);
  await script(page, 'Custom Script', fields.script);
}

/** run goes through Run Once and on to the machine. */
async function run() {
  await page.getByRole('button', {name: 'Run', exact: true}).click();
  await page.waitForURL(/\/machines\/[^/]+$/);
  await atMachine(page, 'web');
}

if (part === 'first') {
  await page.goto('/login');
  await illustrate(page, 'login');
}
await logIn(page);
await page.waitForURL('**/machines');
if (part === 'first') {
  await importTemplate(page, 'Debian 12 with cloud-init', 'debian');
  await page.getByRole('link', {name: 'New machine from debian'}).click();
  await page.getByLabel('Name', {exact: true}).fill('web');
  assert.match(await page.getByLabel('Boot from').locator('option:checked').innerText(), /^debian$/);
  await page.getByRole('button', {name: 'Create', exact: true}).click();
  await atMachine(page, 'web');
  await page.locator('.machine__state').getByText('Down', {exact: true}).waitFor();
  await more(page, 'Run once');
  await fill({hostname: 'web-1.example.org', timezone: 'Europe/Berlin', password: 'changed-by-hand',
    script: '#cloud-config\nwrite_files:\n- path: /etc/typed-by-hand\n  content: in the custom script\n'});
  const preview = page.getByRole('complementary');
  await preview.getByText('typed-by-hand').first().waitFor();
  assert.equal(await preview.getByText('changed-by-hand').count(), 0, 'the preview masks the password');
  await picture(page, 'run-once-filled');
  await illustrate(page, 'run-once');
  await run();
  console.log(`initialized after ${await watch(page, 'first-boot', stages)} s`);
  await sitDown(page, 'machine', 'alice', 'changed-by-hand');
} else {
  await page.getByRole('link', {name: 'web', exact: true}).waitFor();
  await illustrate(page, 'machines');
  await page.getByRole('link', {name: 'web', exact: true}).click();
  await atMachine(page, 'web');
  await shutDown(page);
}
if (part === 'second') {
  await more(page, 'Run once');
  await page.getByLabel('Attach CD').check();
  await page.getByLabel('CD', {exact: true}).selectOption('data.iso');
  await fill({hostname: 'web-2.example.org', timezone: 'Asia/Tokyo', password: 'changed-again', script: hostileScript});
  await page.locator('summary', {hasText: 'Networks'}).click();
  await page.getByRole('button', {name: 'Add new'}).click();
  await page.getByLabel('In-guest Network Interface Name').fill('eth0');
  await page.getByLabel('IPv4 Boot Protocol').selectOption('Static');
  await page.getByLabel('IPv4 Address').fill('192.168.100.10');
  await page.getByLabel('IPv4 Netmask').fill('255.255.255.0');
  await page.getByLabel('IPv4 Gateway').fill('192.168.100.1');
  await page.getByLabel('DNS Servers').fill('192.168.100.1');
  await run();
  await page.getByText('This run has a definition of its own').waitFor();
  console.log(`initialized again after ${await watch(page, 'run-once', stages)} s`);
  await showsHostile(page);
} else if (part === 'end') {
  await remove(page);
}
assert.deepEqual(complaints, []);
console.log(`${part}: done as ${told.user}`);
await browser.close();
