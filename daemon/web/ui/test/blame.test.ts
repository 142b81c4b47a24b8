import assert from 'node:assert/strict';
import {test} from 'node:test';
import {causes, clue, moduleClue} from '../src/lib/blame';
import {readable, troubles} from '../src/lib/trouble';
import type {Doc, FirstBoot} from '../src/lib/types';

const native = `apiVersion: vmseed.dev/v1alpha1
kind: Machine
metadata: {name: web}
spec:
  users:
  - name: alice
  - name: bob
  packages:
    install: [nginx, hello]
  files:
  - path: /etc/motd
    content: hello
  runcmd:
  - systemctl start shop
  mounts:
  - device: /dev/vdz
    path: /srv
  userData:
    layers:
    - |
      #cloud-config
      bootcmd:
      - false
      ntp: {enabled: true}
  units: [{name: shop.service}]
`;
const config = `#cloud-config
users:
- name: carol
write_files:
- path: /etc/a
runcmd: [ls]
`;
const kubevirt = `apiVersion: kubevirt.io/v1
kind: VirtualMachine
spec:
  template:
    spec:
      volumes:
      - cloudInitNoCloud:
          userData: |
            #cloud-config
            runcmd:
            - "ls /nowhere"
            ssh_import_id: [gh:x]
`;
const docs: Doc[] = [{name: 'web.yaml', text: native}];
const places = (text: string, documents = docs) => causes(clue(text), documents).map((c) => `${c.field} ${c.file}:${c.line}`);

test('messages lead to fields', () => {
  const cases: [string, string[]][] = [
    ["Failed to install packages: ['hello']", ['spec.packages.install web.yaml:9']],
    ["('scripts-user', RuntimeError('Runparts: 1 failures (runcmd) in 1 attempted commands'))", ['spec.runcmd web.yaml:13']],
    ["Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)", ['spec.runcmd web.yaml:13']],
    ["Running module write-files (<module 'cloudinit.config.cc_write_files' from '/usr/lib/python3/dist-packages/cloudinit/config/cc_write_files.py'>) failed", ['spec.files web.yaml:10']],
    ["Failed to create user bob", ['spec.users web.yaml:7']],
    ["Activate mounts: FAIL:mount -a", ['spec.mounts web.yaml:15']],
    ["modules-final: the module bootcmd failed", ['bootcmd web.yaml:22']],
    ["cc_ntp.py: something", ['ntp web.yaml:24']],
    ['Failed loading yaml blob. Invalid format at line 2 column 1', ['line 2 web.yaml:22']],
    ['Ignition failed: failed to create user "alice": exit status 1', ['spec.users web.yaml:6']],
    ['the unit shop.service failed (exit-code)', ['spec.units web.yaml:25']],
    ['the unit getty@tty1.service failed (exit-code)', []],
    ['warning at $.storage.files.0.path, line 1 col 2: odd', ['spec.files web.yaml:10']],
    ['something unheard of', []],
  ];
  for (const [text, want] of cases) assert.deepEqual(places(text), want, text);
});

test('in plain files and in texts within other documents, too', () => {
  const plain = [{name: 'user-data', text: config}];
  assert.deepEqual(places("Failed to create user carol", plain), ['users user-data:3']);
  assert.deepEqual(places("Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)", plain), ['runcmd user-data:6']);
  const pod = [{text: kubevirt}];
  assert.deepEqual(places("('ssh-import-id', ProcessExecutionError('x'))", pod), ['ssh_import_id document 1:12']);
  assert.deepEqual(places('Failed loading yaml blob. Invalid format at line 3 column 3', pod), ['line 3 document 1:11']);
});

test('in a config for Ignition, in whatever it stands', () => {
  const json = JSON.stringify({ignition: {version: '3.4.0'}, passwd: {users: [{name: 'core'}]}, systemd: {units: [{name: 'shop.service', enabled: true}]}}, null, 2);
  const butane = 'variant: fcos\nversion: 1.5.0\nstorage:\n  files:\n  - path: /etc/motd\n  - path: /etc/shop\nsystemd:\n  units:\n  - name: shop.service\n';
  const machine = `apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nspec:\n  dataSource: ignition\n  ignition:\n  - |\n${butane.replace(/^/gm, '    ')}`;
  const cases: [string, string, string[]][] = [
    ['the unit shop.service failed (exit-code)', json, ['units c:15']],
    ['the unit shop.service failed (exit-code)', butane, ['units c:9']],
    ['the unit shop.service failed (exit-code)', machine, ['spec.ignition c:15']],
    ['the unit shop.service failed (exit-code)', JSON.stringify(JSON.parse(json)), ['units c:1']],
    ['the unit getty@tty1.service failed (exit-code)', butane, []],
    ['Ignition failed: failed to create user "core": exit status 1', json, ['users c:8']],
    ['Ignition failed: failed to write file "/etc/shop": no space', butane, ['files c:6']],
    ['warning at $.storage.files.0.path, line 1 col 2: odd', butane, ['files c:4']],
    ['Failed to create user core', butane, []],
  ];
  for (const [text, document, want] of cases) assert.deepEqual(places(text, [{name: 'c', text: document}]), want, text);
});

test('a module that says nothing has its keys', () => {
  assert.deepEqual(causes(moduleClue('config-set_hostname'), [{name: 'u', text: '#cloud-config\nfqdn: a.b\n'}]).map((c) => c.line), [2]);
  assert.deepEqual(causes(moduleClue('unheard-of'), docs), []);
});

test('a text that is no YAML has no causes, and throws nothing', () => {
  for (const text of ['{', '\t- : :\n', '<vm/>', '\u0000', '#cloud-config\n"a: [', '&a [*a, *a]']) {
    assert.doesNotThrow(() => causes(clue('Failed to run module runcmd'), [{text}]), text);
  }
});

test('what the guest says several times is one trouble', () => {
  const boot: FirstBoot = {machine: 'a/b', stage: 'failed', time: '', ok: false, error: "('scripts-user', RuntimeError('Runparts: 1 failures (runcmd) in 1 attempted commands'))",
    result: {firstBoot: true, errors: ["('scripts-user', RuntimeError('Runparts: 1 failures (runcmd) in 1 attempted commands'))"], warnings: [
      "Failed to install packages: ['hello']", '1 failed with exceptions, re-raising the last one',
      'Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)', 'something else']}};
  const found = troubles(boot, [{stage: 'modules-config', module: 'ntp', start: 1, seconds: 1, outcome: 'FAIL'}], docs);
  assert.deepEqual(found.map((t) => [t.severity, t.texts, t.causes.map((c) => c.line)]), [
    ['error', ['Runparts: 1 failures (runcmd) in 1 attempted commands'], [13]],
    ['error', ['The module ntp failed.'], [24]],
    ['warning', ["Failed to install packages: ['hello']"], [9]],
    ['warning', ['something else'], []],
  ]);
});

test('an error comes before warnings about the same', () => {
  const boot: FirstBoot = {machine: 'a/b', stage: 'failed', time: '', ok: false, result: {firstBoot: true, errors: ["('scripts-user', RuntimeError('Runparts: 1 failures (runcmd)\\nStdout: long'))"],
    warnings: Array.from({length: 3}, (_, i) => `cc_runcmd.py[WARNING]: warning ${i}`)}};
  assert.deepEqual(troubles(boot, [], docs).map((t) => [t.severity, t.texts[0], t.texts.length]), [['error', 'Runparts: 1 failures (runcmd)\nStdout: long', 4]]);
});

test('a Python exception becomes lines', () => {
  assert.equal(readable(`('a-b', ProcessExecutionError("Unexpected error.\\nCommand: ['x']\\nExit code: 1\\nReason: -\\nStdout: -\\nStderr: oops"))`),
    "Unexpected error.\nCommand: ['x']\nExit code: 1\nStderr: oops");
  assert.equal(readable('plain'), 'plain');
});
