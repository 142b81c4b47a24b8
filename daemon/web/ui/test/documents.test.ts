import assert from 'node:assert/strict';
import {test} from 'node:test';
import {added, edited, renamed, withRole} from '../src/lib/documents';
import {isPlain, kindOf, languageOf, nameFor, unique, type Kind, type Language} from '../src/lib/language';

const samples: [string, Kind, Language][] = [
  ['apiVersion: vmseed.dev/v1alpha1\nkind: Machine\n', 'native', 'yaml'],
  ['# a comment\napiVersion: v1\nkind: Secret\n---\napiVersion: vmseed.dev/v1alpha1\nkind: Machine\n', 'native', 'yaml'],
  ['{"apiVersion": "vmseed.dev/v1alpha1", "kind": "Machine"}', 'native', 'json'],
  ['apiVersion: kubevirt.io/v1\nkind: VirtualMachine\n', 'kubevirt', 'yaml'],
  ['apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    kubernetes.io/target-runtime: virtlet.cloud\n', 'virtlet', 'yaml'],
  ['apiVersion: v1\nkind: Secret\n', 'kubernetes', 'yaml'],
  ['<?xml version="1.0"?>\n<vm><name>a</name></vm>', 'ovirt', 'xml'],
  ['<action><vm/></action>', 'ovirt', 'xml'],
  ['<domain type="kvm"/>', 'other', 'xml'],
  ['\uFEFF#cloud-config\nhostname: a\n', 'cloud-config', 'yaml'],
  ['## template: jinja\n#cloud-config\n', 'cloud-config', 'yaml'],
  ['variant: fcos\nversion: 1.5.0\n', 'butane', 'yaml'],
  ['{"ignition": {"version": "3.4.0"}}', 'ignition', 'json'],
  ['#!/bin/sh\necho "apiVersion: kubevirt.io/v1"\n', 'script', 'shell'],
  ['#!/usr/bin/env python3\n', 'script', 'text'],
  ['version: 2\nethernets:\n  eth0: {dhcp4: true}\n', 'network-config', 'yaml'],
  ['instance-id: i-1\nlocal-hostname: a\n', 'meta-data', 'yaml'],
  ['MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n', 'mime', 'text'],
  ['hello world', 'other', 'text'],
  ['', 'other', 'text'],
];

test('documents are told by their marks', () => {
  for (const [text, kind, language] of samples) {
    assert.equal(kindOf(text), kind, text);
    assert.equal(languageOf(text), language, text);
  }
  assert.equal(isPlain('butane'), true);
  assert.equal(isPlain('kubernetes'), false);
  assert.equal(languageOf('[Match]\nName=eth0', '10-eth0.network'), 'text');
});

test('names are given once', () => {
  assert.equal(unique('web.yaml', ['web.yaml', 'web-2.yaml']), 'web-3.yaml');
  assert.equal(unique('user-data', ['user-data']), 'user-data-2');
  assert.equal(nameFor('#cloud-config\n', []), 'user-data');
  assert.equal(nameFor('<vm/>', ['vm.xml']), 'vm-2.xml');
});

test('a name that nobody gave follows the text, another stays', () => {
  let documents = edited([], 0, 'v');
  assert.deepEqual(documents, [{name: 'document', text: 'v'}]);
  documents = edited(documents, 0, 'variant: fcos\nversion: 1.5.0\n');
  assert.equal(documents[0]?.name, 'config.bu');
  documents = renamed(documents, 0, 'mine');
  documents = edited(documents, 0, '#cloud-config\n');
  assert.equal(documents[0]?.name, 'mine');
  assert.equal(renamed(documents, 0, '  ')[0]?.name, 'user-data');
});

test('what is added keeps names apart, and takes the place of nothing', () => {
  const first = added([{text: ' \n'}], [{name: 'a.yaml', text: 'apiVersion: v1\nkind: Secret\n'}]);
  assert.deepEqual(first.map((d) => d.name), ['a.yaml']);
  assert.deepEqual(added(first, [{name: 'a.yaml', text: 'x'}, {text: '<vm/>'}]).map((d) => d.name), ['a.yaml', 'a-2.yaml', 'vm.xml']);
});

test('roles come from names where only the name tells, and go with the kind', () => {
  const [meta, user] = added([], [{name: 'meta-data', text: 'foo: bar\n'}, {name: 'user-data', text: '#cloud-config\n'}]);
  assert.equal(meta?.role, 'meta-data');
  assert.equal(user?.role, undefined);
  const chosen = withRole([{name: 'a', text: 'foo: bar'}], 0, 'vendor-data');
  assert.equal(chosen[0]?.role, 'vendor-data');
  assert.equal('role' in edited(chosen, 0, 'apiVersion: vmseed.dev/v1alpha1\nkind: Machine')[0]!, false);
  assert.equal('role' in withRole(chosen, 0, '')[0]!, false);
});
