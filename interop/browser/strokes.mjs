// How long it takes from a key stroke until the preview that says it is painted. This measures and prints; the machine that it runs on may be busy.
import assert from 'node:assert/strict';
import {logIn, open} from './browser.mjs';

/** How many keys are pressed each way. */
const number = 30;
/** Milliseconds between two keys of somebody who does not wait for the preview: 120 words a minute. */
const between = 100;

const {browser, window, complaints} = await open();
const page = await (await window({reducedMotion: 'reduce'})).newPage();

/** clock notes in the page when keys go down, and which changes of the form previews are painted of (lib/render.ts measures these). */
function clock() {
  globalThis.strokes = [];
  globalThis.painted = [];
  document.addEventListener('keydown', (e) => { if (e.key.length === 1) globalThis.strokes.push(e.timeStamp); }, true);
  new PerformanceObserver((list) => {
    for (const e of list.getEntriesByName('vmseed:preview')) globalThis.painted.push({of: e.startTime, at: e.startTime + e.duration});
  }).observe({type: 'measure'});
}

/** taken is how long each stroke took until the first preview that has it was painted. */
const taken = () => page.evaluate(() => globalThis.strokes.map((down) => (globalThis.painted.find((p) => p.of >= down)?.at ?? Infinity) - down));

/** isPainted waits until the preview of the last stroke is. */
const isPainted = () => page.waitForFunction(() => { const down = globalThis.strokes.at(-1) ?? Infinity; return globalThis.painted.some((p) => p.of >= down); });

/** press types a host name, in a form with a seed of some size. */
async function press(way, wait) {
  await page.goto('/machines/new');
  await page.getByLabel('Name', {exact: true}).fill('measured');
  await page.getByLabel('User Name', {exact: true}).fill('ada');
  await page.getByLabel('SSH Authorized Keys').first().fill('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMWkcV0ZzVvQ0DJ3sGvKxK0jFdVJw1cQm8pD2N5tXn9S ada@example.org');
  const field = page.getByLabel('VM Hostname');
  await field.fill('h');
  await page.locator('.preview[data-busy="false"] .seed').waitFor();
  await page.locator('.file [data-ready="true"]').waitFor();
  await page.evaluate(clock);
  let name = 'h';
  for (let i = 0; i < number; i++) {
    const letter = String.fromCharCode(97 + (i % 26));
    name += letter;
    await page.keyboard.press(letter);
    await wait();
  }
  await isPainted();
  await page.getByRole('complementary').getByText(name, {exact: true}).first().waitFor();
  const ms = (await taken()).sort((a, b) => a - b);
  assert.equal(ms.length, number);
  const at = (part) => Math.round(ms[Math.min(Math.floor(ms.length * part), ms.length - 1)]);
  console.log(`result from a key stroke to the painted preview, ${number} strokes ${way}: median ${at(0.5)} ms, 9 of 10 within ${at(0.9)} ms, worst ${at(1)} ms`);
}

await logIn(page);
await page.waitForURL('**/machines');
await press('one after the other', isPainted);
await press(`every ${between} ms`, () => page.waitForTimeout(between));
assert.deepEqual(complaints, []);
await browser.close();
