// Run Once of a machine whose definition is in the form of oVirt: it has the fields of Initial Run, and the definition stays as it is.
import assert from 'node:assert/strict';
import {logIn, open, picture} from './browser.mjs';

const {browser, window, complaints} = await open();
const page = await (await window()).newPage();
const definition = `<vm><name>of-ovirt</name><initialization><host_name>before.example.org</host_name><user_name>alice</user_name>
<root_password>not-to-be-seen</root_password><custom_script>packages: [tree]
</custom_script></initialization></vm>`;

/** api asks as the page does. */
const api = (method, path, body) => page.evaluate(async ([m, p, b]) => {
  const response = await fetch('/api/v1' + p, {method: m, headers: {'Content-Type': 'application/json'}, ...(b && {body: JSON.stringify(b)})});
  return response.status === 204 ? undefined : response.json();
}, [method, path, body]);

await logIn(page);
await page.waitForURL('**/machines');
const {machines: [{id}]} = await api('POST', '/machines', {documents: [{name: 'vm.xml', text: definition}]});
const before = await api('GET', `/machines/${id}/documents`);

await page.goto(`/machines/${id}/run`);
const hostname = page.getByLabel('VM Hostname');
await hostname.waitFor();
assert.equal(await hostname.inputValue(), 'before.example.org');
assert.equal(await page.getByLabel('User Name', {exact: true}).inputValue(), 'alice');
await page.getByLabel('Attach CD').waitFor();
for (const option of ['Use Cloud-Init', 'Initialize', 'Use already configured password']) assert.ok(await page.getByLabel(option, {exact: true}).isChecked(), option);
const preview = page.getByRole('complementary');
await preview.getByText('before.example.org').first().waitFor();

await hostname.fill('');
await hostname.pressSequentially('after.example.org'); // the first key converts the definition, and the others go to the same field
assert.equal(await hostname.inputValue(), 'after.example.org');
await preview.getByText('after.example.org').first().waitFor();
await page.getByLabel('Use already configured password').uncheck();
await page.getByLabel('Password', {exact: true}).fill('seen-by-nobody');
await page.getByLabel('Verify Password').fill('seen-by-nobody');
await picture(page, 'run-once-of-ovirt');
assert.equal(await preview.getByText('seen-by-nobody').count(), 0, 'the preview masks the password');

await page.reload();
await page.getByText('Your unsaved work').waitFor();
assert.equal(await hostname.inputValue(), 'after.example.org');
await page.getByRole('button', {name: 'Take it back'}).click();
await preview.getByText('before.example.org').first().waitFor();
assert.equal(await hostname.inputValue(), 'before.example.org');
assert.deepEqual(await api('GET', `/machines/${id}/documents`), before, 'the definition that is kept is untouched');
await api('DELETE', `/machines/${id}`);
assert.deepEqual(complaints, []);
await browser.close();
