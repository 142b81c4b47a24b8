// Every page, in windows of two sizes and in both colour schemes.
import {readFile} from 'node:fs/promises';
import {createRequire} from 'node:module';
import {logIn, open, picture, views} from './browser.mjs';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const {browser, window, complaints} = await open();
const problems = [];

/** watchLayout adds up in the page how far things move by themselves (Layout Instability API). */
function watchLayout() {
  globalThis.moved = [];
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) {
      if (!e.hadRecentInput) globalThis.moved.push({value: e.value, what: e.sources.map((s) => s.node?.outerHTML?.slice(0, 120) ?? s.node?.nodeName)});
    }
  }).observe({type: 'layout-shift', buffered: true});
}

/** settled waits until a page has all that it asks for. */
async function settled(page) {
  await page.locator('main h1').first().waitFor();
  await page.waitForLoadState('load');
  await page.locator('[aria-busy="true"]').first().waitFor({state: 'detached'});
}

/** look judges a page. */
async function look(page, name) {
  await settled(page);
  await picture(page, name);
  // Its policy allows no script of another origin, nor one in the page; this way is for tools.
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', {expression: axe});
  const found = await page.evaluate(() => globalThis.axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}));
  for (const v of found.violations) problems.push(`${name}: ${v.id}: ${v.help}: ${v.nodes.map((n) => n.target.join(' ')).slice(0, 5).join(', ')}`);
  const moved = await page.evaluate(() => globalThis.moved);
  const sum = moved.reduce((total, m) => total + m.value, 0);
  // What moves by less is not seen (web.dev's own limit for a good page is 0.1).
  if (sum > 0.01) problems.push(`${name}: things move by ${sum.toFixed(3)}: ${JSON.stringify(moved)}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) problems.push(`${name}: it is ${wide} pixels wider than the window`);
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  console.log(`${name}: first paint after ${Math.round(paint ?? 0)} ms, ${found.passes.length} rules of accessibility hold`);
}

for (const [view, viewport] of Object.entries(views)) {
  for (const colorScheme of ['light', 'dark']) {
    const context = await window({viewport, colorScheme});
    await context.addInitScript(watchLayout);
    const page = await context.newPage();
    const as = (name) => `${name}-${view}-${colorScheme}`;
    await page.goto('/login');
    await look(page, as('login'));
    await logIn(page);
    await page.waitForURL('**/machines');
    await look(page, as('machines'));
    const machine = await page.getByRole('link', {name: 'vm-0001'}).first().getAttribute('href');
    for (const [name, path] of [['images', '/images'], ['new', '/machines/new'], ['machine', machine], ['edit', machine + '/edit'], ['run-once', machine + '/run']]) {
      await page.goto(path);
      await look(page, as(name));
    }
    await context.close();
  }
}
await browser.close();
problems.push(...complaints);
for (const p of problems) console.log('problem: ' + p);
process.exitCode = problems.length ? 1 : 0;
