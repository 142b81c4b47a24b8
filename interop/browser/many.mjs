// A list of very many machines.
import assert from 'node:assert/strict';
import {logIn, open, picture} from './browser.mjs';

const {browser, window, complaints} = await open();
const context = await window();
const page = await context.newPage();
const number = Number(process.env.PAGE_MACHINES);
await logIn(page);
await page.waitForURL('**/machines');
const nameOf = (n) => `vm-${String(n).padStart(4, '0')}`;
const link = (name) => page.getByRole('link', {name, exact: true});
const newest = link(nameOf(number));
await newest.waitFor();
await page.getByText(new RegExp(number.toLocaleString('en') + '|' + number)).first().waitFor();
const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
console.log(`${number} machines: the page has ${nodes} elements`);
assert.ok(nodes < 3000, 'the rows out of sight are not in the document');
await picture(page, 'machines-many-desktop-light');

// Its end is reached by scrolling, and by the keyboard.
const oldest = link(nameOf(1));
await newest.focus();
for (let i = 0; i < 200 && !(await oldest.isVisible()); i++) await page.keyboard.press('End');
await oldest.waitFor();

// How long a frame takes while the list runs past.
const slow = await page.evaluate(async () => {
  const scroller = document.scrollingElement;
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

/** walk goes through the list from its begin to its end, and returns the names that it shows, row by row, and how large it said to be meanwhile. */
const walk = () => page.evaluate(async () => {
  const rows = {};
  const sizes = new Set();
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  for (let y = 0, last = false; !last; y += innerHeight / 2) {
    last = y >= document.documentElement.scrollHeight - innerHeight;
    scrollTo({top: y, behavior: 'instant'});
    await drawn();
    for (const row of document.querySelectorAll('.machines__table tbody tr[aria-rowindex]')) rows[row.getAttribute('aria-rowindex')] = row.querySelector('th a').textContent;
    sizes.add(document.querySelector('.machines__table').getAttribute('aria-rowcount'));
  }
  return {names: Object.keys(rows).sort((a, b) => a - b).map((i) => rows[i]), sizes: [...sizes]};
});

// While somebody renames every tenth, no row is lost.
const other = await context.newPage();
await other.goto('/images');
await page.bringToFront();
const made = await other.evaluate(async () => (await (await fetch('/api/v1/machines')).json()).machines.map((m) => m.name));
assert.equal(made.length, number);
const wanted = made.toReversed().map((name) => (name.endsWith('0') ? `${name}-renamed` : name));
const rename = other.evaluate(async () => {
  const {machines} = await (await fetch('/api/v1/machines')).json();
  for (const m of machines.filter(({name}) => name.endsWith('0'))) {
    const answer = await fetch(`/api/v1/machines/${m.id}`, {method: 'PATCH', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({name: `${m.name}-renamed`})});
    if (!answer.ok) throw new Error(`${m.name}: ${answer.status}`);
  }
});
let renaming = true;
const over = rename.finally(() => { renaming = false; });
let walks = 0;
do {
  const {names, sizes} = await walk();
  walks++;
  assert.deepEqual(sizes, [String(number + 1)], 'the list is as long as ever');
  assert.deepEqual(names.map((n) => n.replace('-renamed', '')), wanted.map((n) => n.replace('-renamed', '')), 'every row is there, in its place');
} while (renaming);
await over;
await link(`${nameOf(10)}-renamed`).waitFor();
assert.deepEqual((await walk()).names, wanted, 'every new name has come');
console.log(`${walks} times through the list while ${number / 10} machines were renamed`);

await page.getByRole('searchbox').fill('0777');
await link(nameOf(777)).waitFor();
assert.equal(await page.getByRole('link', {name: /^vm-/}).count(), 1, 'the search leaves one machine');
assert.deepEqual(complaints, []);
await browser.close();
