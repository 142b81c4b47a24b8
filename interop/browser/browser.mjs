// A browser at the page of a daemon. The environment says where that is, and who logs in; see page_test.go.
import {chromium} from 'playwright-core';
import {mkdir, readFile, writeFile} from 'node:fs/promises';
import path from 'node:path';

/** What the test that runs a script tells it. */
export const told = {
  url: process.env.PAGE_URL ?? '', user: process.env.PAGE_USER ?? '', password: process.env.PAGE_PASSWORD ?? '',
  browser: process.env.PAGE_BROWSER ?? '/usr/bin/chromium', pictures: process.env.PAGE_PICTURES ?? '', illustrations: process.env.PAGE_ILLUSTRATIONS ?? '',
};

/** The page of the documentation that shows pictures of these. */
const howTo = new URL('../../docs/how-to/page.md', import.meta.url);

/** The limit of everything that is waited for: these machines may be busy. */
export const limit = 300_000;

/** The limit of what waits for a guest to boot. */
export const bootLimit = 1_200_000;

/** The windows in which every page is looked at. */
export const views = {
  desktop: {width: 1280, height: 800},
  phone: {width: 390, height: 844},
};

/**
 * open starts the browser and returns it with a function that makes windows. What pages complain of (errors of scripts, violations of the
 * content security policy, answers that say no) is collected in complaints, and so is what no page of the daemon does: a dialog of the
 * browser's own, which the texts of the XSS corpus open when they are run, and a request to another host.
 */
export async function open() {
  const args = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  if (process.getuid?.() === 0) args.push('--no-sandbox'); // which Chromium refuses to do without as root
  const browser = await chromium.launch({executablePath: told.browser, args});
  const complaints = [];
  const window = async (options = {}) => {
    const context = await browser.newContext({baseURL: told.url, ignoreHTTPSErrors: true, viewport: views.desktop, ...options});
    context.setDefaultTimeout(limit);
    context.on('page', (page) => {
      page.on('pageerror', (e) => complaints.push(`${page.url()}: ${e.message}`));
      page.on('console', (m) => { if (m.type() === 'error' && !/Failed to load resource/.test(m.text())) complaints.push(`${page.url()}: ${m.text()}`); });
      page.on('dialog', (d) => { complaints.push(`${page.url()}: a dialog says ${d.message()}`); void d.dismiss(); });
      page.on('request', (r) => { if (!/^(data|blob|about):/.test(r.url()) && new URL(r.url()).origin !== told.url) complaints.push(`${page.url()}: asks for ${r.url()}`); });
      page.on('response', (r) => { if (r.status() >= 500) complaints.push(`${r.url()}: ${r.status()}`); });
    });
    return context;
  };
  return {browser, window, complaints};
}

/** logIn logs in by the form, as people do. */
export async function logIn(page, user = told.user, password = told.password, query = '') {
  await page.goto('/login' + query);
  await page.getByLabel('User name').fill(user);
  await page.getByLabel('Password', {exact: true}).fill(password);
  await page.getByRole('button', {name: 'Log in'}).click();
}

/** paste puts a text into what has the focus, by way of the clipboard. */
export async function paste(page, text) {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate((t) => navigator.clipboard.writeText(t), text);
  await page.keyboard.press('ControlOrMeta+v');
}

/** picture keeps a screenshot, if pictures are wanted. */
export async function picture(page, name) {
  if (!told.pictures) return;
  await mkdir(told.pictures, {recursive: true});
  await page.screenshot({path: path.join(told.pictures, name + '.png'), fullPage: false, animations: 'disabled'});
}

/** illustrate makes a picture, if those are wanted and the how-to shows this one: small, and without what is over the page for a moment. */
export async function illustrate(page, name) {
  if (!told.illustrations || !(await readFile(howTo, 'utf8')).includes(`images/${name}.webp`)) return;
  await mkdir(told.illustrations, {recursive: true});
  const session = await page.context().newCDPSession(page);
  const {data} = await session.send('Page.captureScreenshot', {format: 'webp', quality: 60});
  await session.detach();
  await writeFile(path.join(told.illustrations, name + '.webp'), Buffer.from(data, 'base64'));
}
