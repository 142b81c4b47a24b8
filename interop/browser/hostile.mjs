// Texts that are harmless unless a page takes them for more than text, in what a guest says of itself.
import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';
import {says, screen} from './guest.mjs';
import {picture} from './browser.mjs';

/** The corpus that the tests of the server's templates use too. */
export const corpus = JSON.parse(await readFile(new URL('../../daemon/web/testdata/xss.json', import.meta.url), 'utf8'));

/** What a terminal could be made to do beside showing text: a title, a link, a copy to the clipboard. */
const sequences = '\x1b]0;<img src=x onerror=alert(1)>\x07\x1b]8;;javascript:alert(1)\x1b\\link of the guest\x1b]8;;\x1b\\\x1b]52;c;YWxlcnQoMSk=\x07';

const lines = Buffer.from(corpus.map((text) => text.replaceAll(/[\r\n]/g, ' ') + '\n').join('') + sequences + '\nend of the corpus\n').toString('base64');

/** A custom script that has the guest say every text: on its serial console, and as warnings and as names of modules in cloud-init's log. */
export const hostileScript = `#cloud-config
write_files:
- path: /etc/typed-by-hand
  content: in the second script
- path: /run/corpus
  encoding: b64
  content: ${lines}
runcmd:
- |
  # What starts a getty hangs up whoever writes to its line.
  until pidof agetty >/dev/null; do sleep 1; done
  cat /run/corpus >/dev/ttyS0
  while IFS= read -r text; do
    printf '%s - guest.py[WARNING]: %s\\n' "$(date '+%Y-%m-%d %H:%M:%S,%3N')" "$text"
  done </run/corpus >>/var/log/cloud-init.log
  for end in 'start: modules-final/config-<img/src=x/onerror=alert(1)>: runs' 'finish: modules-final/config-<img/src=x/onerror=alert(1)>: FAIL: <svg/onload=alert(1)>'; do
    printf '%s - handlers.py[DEBUG]: %s\\n' "$(date '+%Y-%m-%d %H:%M:%S,%3N')" "$end"
  done >>/var/log/cloud-init.log
`;

/** markup is every element that the corpus would make of itself. */
const markup = 'main :is(script, iframe, object, embed, video, audio, marquee, base, meta, link, math, [onerror], [onload], [onclick], [onfocus], [href^="javascript:" i], [srcdoc])';

/** isText checks that no text of the corpus has become an element of the page. */
export async function isText(page, where) {
  assert.deepEqual(await page.locator(markup).evaluateAll((all) => all.map((e) => e.outerHTML)), [], `${where}: texts have become elements`);
}

/** scrolledBack goes back through what the console has shown, screen by screen, until nothing earlier comes, and returns it all. */
export async function scrolledBack(page) {
  await page.locator('.xterm').hover();
  let all = '';
  for (let i = 0, before = ''; i < 100; i++) {
    const now = await screen(page);
    if (now === before) break;
    before = now;
    all = now + '\n' + all;
    await isText(page, 'console');
    await page.mouse.wheel(0, -200);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  return all;
}

/** showsHostile looks for the texts everywhere where the page repeats what a guest says. */
export async function showsHostile(page) {
  const found = (text) => corpus.filter((c) => text.includes(c.replaceAll(/[\r\n]/g, ' '))).length;
  await page.locator('.troubles').first().waitFor();
  await page.getByRole('button', {name: /^Show \d+ more/}).click();
  await page.evaluate(() => { for (const d of document.querySelectorAll('.troubles details')) d.open = true; });
  const verdict = found(await page.locator('main').innerText());
  await isText(page, 'verdict');
  await picture(page, 'machine-hostile-overview');
  await page.getByRole('tab', {name: 'Log', exact: true}).click();
  const search = page.getByRole('searchbox', {name: 'Search the log'});
  // The guest's kernel may speak in the middle of a line.
  const written = await page.evaluate(() => fetch(`/api/v1${location.pathname}/log`).then((r) => r.text()));
  const whole = corpus.filter((text) => /^[ -~]+$/.test(text) && written.includes(text));
  assert.ok(whole.length >= 50, `the log has ${whole.length} of the texts`);
  const searched = whole.slice(0, 10);
  for (const text of searched) {
    await search.fill(text);
    await page.locator('mark').filter({hasText: text}).first().waitFor();
  }
  await isText(page, 'log');
  await page.getByRole('tab', {name: 'Console'}).click();
  await page.getByText('Connected', {exact: true}).waitFor();
  await page.keyboard.press('Enter');
  await says(page, /login: *$/m);
  const shown = found(await scrolledBack(page));
  for (const tab of ['Files', 'Definition', 'Events']) {
    await page.getByRole('tab', {name: tab, exact: true}).click();
    await page.getByRole('tabpanel', {name: tab, exact: true}).waitFor();
    await page.locator('main [aria-busy="true"]').first().waitFor({state: 'detached'});
    await isText(page, tab);
  }
  console.log(`of ${corpus.length} texts the verdict repeats ${verdict}, the console ${shown}, and the log is searched for ${searched.length}`);
  assert.ok(verdict >= 20, 'the verdict repeats the warnings');
  assert.ok(shown >= 20, 'the screen shows what the guest has written');
}
