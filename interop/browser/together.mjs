// Two people at one machine, and one who changes their mind: nothing that was typed is lost.
import assert from 'node:assert/strict';
import {logIn, open, paste, picture} from './browser.mjs';

const {browser, window, complaints} = await open();
const page = await (await window({reducedMotion: 'reduce'})).newPage();
await logIn(page);
await page.waitForURL('**/machines');
const machine = await page.getByRole('link', {name: 'vm-0003'}).getAttribute('href');
const other = await page.context().newPage();
const hostname = (p) => p.getByLabel('VM Hostname');
const memory = (p) => p.getByLabel('Memory', {exact: true});
const save = (p) => p.getByRole('button', {name: 'Save', exact: true}).click();
const shown = (p, text) => p.getByText(text, {exact: true}).waitFor();

for (const p of [page, other]) {
  await p.goto(machine + '/edit');
  await hostname(p).waitFor();
}
await hostname(page).fill('mine');
await hostname(other).fill('theirs');
await memory(other).fill('2Gi');
await save(other);
await other.waitForURL('**' + machine);

// What the other one has saved is not replaced unasked.
await save(page);
await shown(page, 'Somebody else has changed this machine meanwhile');
await picture(page, 'conflict-desktop-light');
await page.getByRole('button', {name: 'Load what is there now'}).click();
await shown(page, 'This is what is there now');
assert.deepEqual([await hostname(page).inputValue(), await memory(page).inputValue()], ['theirs', '2Gi']);
await picture(page, 'conflict-loaded-desktop-light');
await page.getByRole('button', {name: 'Bring mine back'}).click();
await shown(page, 'What stood here before is back');
assert.deepEqual([await hostname(page).inputValue(), await memory(page).inputValue()], ['mine', '']);

// It is of the former revision still, also after a reload.
await page.reload();
await page.getByText(/you are asked before/).waitFor();
assert.equal(await hostname(page).inputValue(), 'mine');
await save(page);
await page.getByRole('button', {name: 'Save all the same'}).click();
await page.waitForURL('**' + machine);
await page.goto(machine + '/edit');
assert.deepEqual([await hostname(page).inputValue(), await memory(page).inputValue()], ['mine', '']);

// A conversion is taken back, and brought forward again with what was typed after it.
await page.goto('/machines/new');
await page.getByRole('tab', {name: 'Documents', exact: true}).click();
const editor = page.getByRole('textbox', {name: /^Text of/});
await page.locator('.documents [data-ready="true"]').waitFor();
await editor.focus();
await page.keyboard.press('ControlOrMeta+a');
await paste(page, '#cloud-config\nhostname: by-hand\n');
await page.getByRole('tab', {name: 'Form', exact: true}).click();
await page.getByLabel('Name', {exact: true}).fill('converted');
await page.getByRole('button', {name: 'Convert to the native form'}).click();
await shown(page, 'The definition is in the native form now');
await memory(page).fill('512Mi');
await page.getByRole('button', {name: 'Take it back'}).click();
await page.getByRole('button', {name: 'Convert to the native form'}).waitFor();
await page.getByRole('tab', {name: 'Documents', exact: true}).click();
await page.getByText('hostname: by-hand').first().waitFor();
await picture(page, 'converted-back-desktop-light');
await page.getByRole('button', {name: 'The other one again'}).click();
await page.getByRole('tab', {name: 'Form', exact: true}).click();
assert.equal(await memory(page).inputValue(), '512Mi');
assert.deepEqual(complaints, []);
await browser.close();
