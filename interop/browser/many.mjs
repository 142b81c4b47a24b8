// A list of very many machines.
import assert from 'node:assert/strict';
import {logIn, open, picture} from './browser.mjs';

const {browser, window, complaints} = await open();
const context = await window();
const page = await context.newPage();
const number = Number(process.env.PAGE_MACHINES);
await logIn(page);
await page.waitForURL('**/machines');
const first = page.getByRole('link', {name: 'vm-0001'});
await first.waitFor();
await page.getByText(new RegExp(number.toLocaleString('en') + '|' + number)).first().waitFor();
const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
console.log(`${number} machines: the page has ${nodes} elements`);
await picture(page, 'machines-many-desktop-light');

// Its end is reached by scrolling, and by the keyboard.
const last = page.getByRole('link', {name: `vm-${String(number).padStart(4, '0')}`});
await first.focus();
for (let i = 0; i < 200 && !(await last.isVisible()); i++) await page.keyboard.press('End');
await last.waitFor();

// How long a frame takes while the list runs past.
const slow = await page.evaluate(async () => {
  const scroller = [...document.querySelectorAll('*')].find((e) => e.scrollHeight > e.clientHeight + 1000) ?? document.scrollingElement;
  const frames = [];
  let before = performance.now();
  for (let i = 0; i <= 60; i++) {
    scroller.scrollTop = (scroller.scrollHeight * i) / 60;
    await new Promise(requestAnimationFrame);
    frames.push(performance.now() - before);
    before = performance.now();
  }
  return frames.sort((a, b) => a - b)[Math.floor(frames.length * 0.95)];
});
console.log(`19 of 20 frames take at most ${Math.round(slow)} ms while the list runs past`);

await page.getByRole('searchbox').or(page.getByLabel(/search/i)).first().fill('0777');
await page.getByRole('link', {name: 'vm-0777'}).waitFor();
assert.equal(await page.getByRole('link', {name: /^vm-/}).count(), 1, 'the search leaves one machine');
assert.deepEqual(complaints, []);
await browser.close();
