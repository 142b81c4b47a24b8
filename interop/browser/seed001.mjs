// The workflow of oVirt's page on Ignition: its config is pasted as the custom script of a new machine, which is started and watched.
import assert from 'node:assert/strict';
import {illustrate, logIn, open, picture} from './browser.mjs';
import {atMachine, importTemplate, script, sitDown, watch} from './guest.mjs';

const {browser, window, complaints} = await open();
// A guest boots beside the browser: animations would take their share of the processor.
const page = await (await window({reducedMotion: 'reduce'})).newPage();
await logIn(page);
await page.waitForURL('**/machines');
await importTemplate(page, process.env.PAGE_IMAGE, 'fcos');
await page.getByRole('link', {name: 'New machine from fcos'}).click();
await page.getByLabel('Name', {exact: true}).fill('fcosvm');
await script(page, 'Custom Script', process.env.PAGE_IGNITION);
await page.getByText('The script is an Ignition config').waitFor();
await page.getByText('Ignition Script').first().waitFor();
// How this image's Ignition was told to look for its config.
await page.getByLabel('Ignition platform').selectOption('openstack');
await page.getByRole('complementary').getByText(/config-2/).first().waitFor();
await picture(page, 'new-ignition');
await illustrate(page, 'ignition-script');
await page.getByRole('button', {name: 'Create and start'}).click();
await page.waitForURL(/\/machines\/[^/]+$/);
await atMachine(page, 'fcosvm');
console.log(`initialized after ${await watch(page, 'ignition', ['Fetch', 'Files', 'System'])} s`);
await sitDown(page, 'ignition', 'core', 'changeme');
assert.deepEqual(complaints, []);
await browser.close();
