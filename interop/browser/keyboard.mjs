// The page by the keyboard alone: what has the focus is seen, nothing holds it, and all that a mouse does can be done.
import assert from 'node:assert/strict';
import {logIn, open, paste, picture} from './browser.mjs';

const {browser, window, complaints} = await open();
const page = await (await window({reducedMotion: 'reduce'})).newPage();
const name = 'by-keys';
const key = (name) => page.keyboard.press(name);

/** focused tells what has the focus, and how it looks there: its outline and shadow, and those of what is drawn around it. */
const focused = () => page.evaluate(() => {
  let e = document.activeElement;
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; // editors keep to themselves
  if (!e || e === document.body) return undefined;
  const host = e.getRootNode().host;
  const look = (x) => { const s = getComputedStyle(x); return [s.outlineStyle === 'none' ? '' : `${s.outlineWidth} ${s.outlineColor}`, s.boxShadow, s.borderColor, s.backgroundColor, s.color, s.left, s.top].join(';'); };
  const at = [e, e.parentElement, e.closest('.cm-editor, .xterm, .tabs'), e.closest('.console__screen'), host, host?.closest('.editor')].filter(Boolean);
  const with_ = at.map(look).join('|');
  e.blur();
  const without = at.map(look).join('|');
  e.focus();
  const box = e.getBoundingClientRect();
  return {name: (e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent.trim() || e.title || e.querySelector('[aria-label]')?.getAttribute('aria-label') || e.tagName).trim().slice(0, 40), id: e.tagName + (e.id || e.dataset?.field || e.textContent?.slice(0, 20)), seen: with_ !== without && (box.width > 0 && box.height > 0 || !!e.closest('.xterm')), editor: !!e.closest('.cm-editor'), console: !!e.closest('.xterm')};
});

/** round goes through a page by Tab until it comes around, and returns how many stops there were. */
async function round(where) {
  await page.locator('main [aria-busy="true"]').first().waitFor({state: 'detached'});
  await page.evaluate(() => { document.activeElement?.blur(); window.scrollTo(0, 0); });
  const stops = [];
  for (let i = 0; i < 200; i++) {
    await key('Tab');
    const now = await focused();
    if (!now) break; // the end of the page
    if (!now.seen) assert.fail(`${where}: nobody sees that ${now.name} (${now.id}) has the focus`);
    stops.push(now.name);
    if (now.editor) await key('Escape'); // as the line below the editor says
  }
  assert.ok(stops.length < 200, `${where}: the focus does not come around: ${stops.slice(-6).join(', ')}`);
  console.log(`${where}: ${stops.length} stops`);
  return stops;
}

/** to goes on by Tab, or back by Shift+Tab, until something has the focus. */
async function to(locator, by = 'Tab') {
  await locator.waitFor();
  for (let i = 0; i < 200; i++) {
    if (await locator.evaluate((e) => e === e.getRootNode().activeElement)) return;
    if ((await focused())?.editor) await key('Escape');
    await key(by);
  }
  assert.fail(`${by} does not come to ${locator}`);
}

await page.goto('/login');
await round('log-in');
await logIn(page);
await page.waitForURL('**/machines');
await page.getByRole('link', {name: 'vm-0001'}).waitFor();
await key('Tab');
assert.equal((await focused())?.name, 'Skip to the content', 'the first stop leads past the head');
await round('machines');

// Filter.
await to(page.getByRole('searchbox'));
await page.keyboard.type('vm-0002');
await page.getByRole('link', {name: 'vm-0001'}).waitFor({state: 'detached'});
await key('ControlOrMeta+a');
await key('Delete');
await page.getByRole('link', {name: 'vm-0001'}).waitFor();

// Import an image, and make a machine of the template.
await page.evaluate(() => { document.activeElement?.blur(); });
await to(page.getByRole('navigation').getByRole('link', {name: 'Images'}));
await key('Enter');
await page.getByRole('button', {name: 'Import Debian 12 with cloud-init'}).waitFor();
await round('images');
await to(page.getByRole('button', {name: 'Import Debian 12 with cloud-init'}));
await key('Enter');
await to(page.getByRole('dialog').getByLabel('Name', {exact: true}));
await key('ControlOrMeta+a');
await page.keyboard.type('debian');
await key('Enter');
await to(page.getByRole('link', {name: 'New machine from debian'}));
await key('Enter');
await page.getByRole('heading', {name: 'New machine'}).waitFor();
await page.getByLabel('Name', {exact: true}).waitFor();
await round('new machine');
await to(page.getByLabel('Name', {exact: true}));
await page.keyboard.type(name);
const fold = page.locator('summary', {hasText: 'Custom Script'});
await to(fold);
await key('Enter');
const editor = page.getByRole('textbox', {name: 'Custom Script'});
await page.locator('.script [data-ready="true"]').waitFor();
await to(editor);
await paste(page, '#cloud-config\nruncmd: [date]\n');
await key('Escape');
await key('Tab');
assert.equal((await focused())?.editor, false, 'Escape and Tab leave the editor');
await picture(page, 'keyboard-focus');
await to(page.getByRole('button', {name: 'Create', exact: true}));
await key('Enter');
await page.getByRole('heading', {level: 1, name, exact: true}).waitFor();
await round('machine');

// Run once, from the menu of actions, and back.
await to(page.getByRole('button', {name: 'More actions'}));
await key('Enter');
await page.getByRole('menuitem', {name: 'Run once'}).waitFor();
await key('Escape');
assert.equal((await focused())?.name, 'More actions', 'Escape leaves the menu where it was opened');
await key('Enter');
await page.getByRole('menuitem', {name: 'Run once'}).waitFor();
for (let i = 0; i < 10 && (await focused())?.name !== 'Run once'; i++) await key('ArrowDown');
await key('Enter');
await page.getByRole('heading', {name: /^Run by-keys.* once/}).waitFor();
await page.getByLabel('Use Cloud-Init').waitFor();
await round('run once');
await to(page.getByLabel('Attach CD'));
await key('Space');
await to(page.getByLabel('Path of the CD image').or(page.getByLabel('CD', {exact: true})).first());
await key('Shift+Tab');
await key('Space');
await to(page.getByRole('button', {name: 'Run', exact: true}));
await key('Enter');

// Its guest is not waited for.
await page.getByRole('heading', {level: 1, name, exact: true}).waitFor();
await page.locator('.machine__state').getByText(/Up|Powering up/).first().waitFor();
await page.evaluate(() => { document.activeElement?.blur(); });
await to(page.getByRole('tab', {name: 'Overview'}));
await key('ArrowRight');
await page.getByText('Connected', {exact: true}).waitFor();
await page.waitForFunction(() => document.activeElement?.closest('.xterm'));
assert.ok((await focused())?.seen, 'the console shows that it has the focus');
await key('Tab');
assert.ok((await focused())?.console, 'the guest gets the key Tab');
await key('Control+F6');
assert.ok(!(await focused())?.console, 'Ctrl+F6 leaves the console');

// Power it off, by the menu and the question that follows.
await to(page.getByRole('button', {name: 'More actions'}), 'Shift+Tab');
await key('Enter');
for (let i = 0; i < 10 && (await focused())?.name !== 'Power off'; i++) await key('ArrowDown');
await key('Enter');
await to(page.getByRole('dialog').getByRole('button', {name: 'Power off'}));
await key('Enter');
await page.locator('.machine__state').getByText('Down', {exact: true}).waitFor();
assert.deepEqual(complaints, []);
await browser.close();
