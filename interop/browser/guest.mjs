// What people do with a machine whose guest boots: make it, watch it, sit at its console, switch it off.
import assert from 'node:assert/strict';
import {bootLimit, illustrate, paste, picture} from './browser.mjs';

/** importTemplate makes a template of an image of the repository. */
export async function importTemplate(page, image, name) {
  await page.getByRole('link', {name: 'Images', exact: true}).click();
  await page.getByRole('button', {name: `Import ${image}`}).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', {exact: true}).fill(name);
  await dialog.getByRole('button', {name: 'Import', exact: true}).click();
  await page.getByRole('link', {name: `New machine from ${name}`}).waitFor();
}

/** script puts a text into the editor of a fold, in the place of what is there. */
export async function script(page, title, text) {
  const fold = page.locator('details', {has: page.locator('summary', {hasText: title})});
  if (!(await fold.evaluate((e) => e.open))) await fold.locator('summary').click();
  const editor = fold.getByRole('textbox', {name: title});
  await fold.locator('[data-ready="true"]').waitFor();
  await editor.focus();
  await page.keyboard.press('ControlOrMeta+a');
  await paste(page, text);
}

/** atMachine waits for the page of a machine and returns its address. */
export async function atMachine(page, name) {
  await page.getByRole('heading', {level: 1, name, exact: true}).waitFor();
  return page.url();
}

/**
 * watch looks on while a guest boots for the first time: its stages appear as bars, one of them runs, and at the end the page says that the
 * guest has set itself up. It returns how long that took in seconds.
 */
export async function watch(page, name, stages) {
  const begin = Date.now();
  const chart = page.getByRole('table', {name: /What the guest did/});
  const row = (stage) => chart.getByRole('row').filter({has: page.getByRole('rowheader', {name: new RegExp(`(^| )${stage} `)})}).filter({has: page.locator('.timeline__bar')}).first();
  const failed = page.locator('.machine__state').getByText('First boot failed');
  /** until waits for something that a boot which fails does not come to. */
  const until = async (what) => {
    await what.or(failed).first().waitFor({timeout: bootLimit});
    if (await failed.isVisible()) assert.fail('the first boot failed:\n' + await page.locator('.troubles').innerText());
  };
  await chart.waitFor();
  await until(page.locator('.timeline__bar.is-running').first());
  for (const stage of stages) {
    await until(row(stage));
    console.log(`${stage} runs after ${seconds(begin)} s`);
    if (stage === stages.at(-2)) {
      await picture(page, `${name}-booting`);
      await illustrate(page, `${name}-booting`);
    }
  }
  // A guest that sets itself up anew was initialized before.
  await until(chart.and(page.locator('table:not(:has(.is-running))')));
  await until(page.locator('.machine__state').getByText(/^Initialized/));
  assert.match(await row(stages.at(-1)).getByRole('cell').last().innerText(), /\d/, 'the last stage has taken some time');
  await picture(page, `${name}-initialized`);
  await illustrate(page, `${name}-initialized`);
  return seconds(begin);
}

const seconds = (begin) => Math.round((Date.now() - begin) / 1000);

/** screen is the text that stands on the console. */
export const screen = async (page) => (await page.locator('.xterm-rows').innerText()).replaceAll('\u00a0', ' ');

/** says waits until the console shows something. */
export async function says(page, what) {
  await page.waitForFunction((source) => new RegExp(source).test((document.querySelector('.xterm-rows')?.innerText ?? '').replaceAll('\u00a0', ' ')), what.source, {timeout: bootLimit, polling: 500});
}

/** sitDown logs in at the console, has the guest work something out, and logs out. */
export async function sitDown(page, name, user, password) {
  await page.getByRole('tab', {name: 'Console'}).click();
  await page.getByText('Connected', {exact: true}).waitFor();
  // getty may have asked before the console was opened.
  await page.keyboard.press('Enter');
  await says(page, /login: *$/m);
  await page.keyboard.type(user + '\n');
  await says(page, /Password: *$/m);
  await page.keyboard.type(password + '\n');
  await says(page, /[$#] *$/m);
  await page.keyboard.type('echo "$((6 * 7)) is what $(id -un) finds"\n');
  await says(page, new RegExp(`42 is what ${user} finds`));
  await picture(page, `${name}-console`);
  await illustrate(page, `${name}-console`);
  await page.keyboard.type('exit\n');
  await says(page, /login: *$/m);
  await page.keyboard.press('Control+F6');
  assert.equal(await page.evaluate(() => document.activeElement?.closest('.xterm') ?? null), null, 'Ctrl+F6 leaves the console');
}

/** confirm presses a button of the head, and the same in the question that follows. */
async function confirm(page, button, answer) {
  await button.click();
  await page.getByRole('dialog').getByRole('button', {name: answer, exact: true}).click();
}

/** shutDown has the guest switch itself off. */
export async function shutDown(page) {
  await confirm(page, page.getByRole('button', {name: 'Shut down', exact: true}), 'Shut down');
  await page.locator('.machine__state').getByText('Down', {exact: true}).waitFor({timeout: bootLimit});
}

/** more chooses from the menu of further actions. */
export async function more(page, item) {
  await page.getByRole('button', {name: 'More actions'}).click();
  await page.getByRole('menuitem', {name: item, exact: true}).click();
}

/** remove removes the machine of the page. */
export async function remove(page) {
  await more(page, 'Remove');
  await page.getByRole('dialog').getByRole('button', {name: 'Remove', exact: true}).click();
  await page.getByText(/was removed/).first().waitFor();
}
