// The lists, in a browser without JavaScript.
import assert from 'node:assert/strict';
import {logIn, open, told} from './browser.mjs';

const {browser, window, complaints} = await open();
const context = await window({javaScriptEnabled: false});
const page = await context.newPage();
await logIn(page, undefined, 'wrong');
await page.getByRole('alert').waitFor();
await logIn(page);
await page.waitForURL('**/machines');
const row = page.getByRole('row').filter({hasText: 'vm-0002'});
await row.getByText(/^down$/i).waitFor();
await row.getByRole('link', {name: 'vm-0002'}).click();
await page.getByRole('heading', {name: /vm-0002/}).waitFor();
await page.goto('/machines?search=0003');
assert.equal(await page.getByRole('link', {name: /^vm-/}).count(), 1, 'the search finds one machine');
await page.goto('/images');
await page.getByText('Debian 12 with cloud-init').first().waitFor();
await page.goto('/machines/new');
await page.getByText(/JavaScript/).first().waitFor();
await page.goto('/machines');
await page.locator('summary', {hasText: told.user}).click();
await page.getByRole('button', {name: 'Log out'}).click();
await page.waitForURL('**/login*');
await page.goto('/machines');
await page.waitForURL('**/login*');
assert.deepEqual(complaints, []);
await browser.close();
