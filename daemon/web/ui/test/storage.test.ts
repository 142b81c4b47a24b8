import assert from 'node:assert/strict';
import {test} from 'node:test';
import {isDisc} from '../src/lib/source';
import {nameTrouble, news, suggestName, touches, usable} from '../src/lib/storage';
import type {DaemonEvent, Diagnostic, Image, Job} from '../src/lib/types';

const event = (kind: string, more: Partial<DaemonEvent> = {}): DaemonEvent => ({id: 1, time: '', kind, severity: 'normal', text: '', ...more});

test('names are made of those of images', () => {
  for (const [name, want] of [['debian-13.qcow2', 'debian-13'], ['Debian 13 (cloud).RAW', 'debian-13-cloud'], ['..', ''], ['Fedora CoreOS 42.x', 'fedora-coreos-42.x']] as const) assert.equal(suggestName({name}), want);
});

test('names hold the rules of the daemon', () => {
  assert.equal(nameTrouble('  ', []), 'nameEmpty');
  assert.equal(nameTrouble('ü'.repeat(128), []), 'nameLong');
  assert.equal(nameTrouble('a/b', []), 'nameSlash');
  assert.equal(nameTrouble('Debian', ['debian']), 'nameTaken');
  assert.equal(nameTrouble('Debian 13', ['debian']), undefined);
});

test('an image with an error cannot be imported, one with a warning can', () => {
  const image = (severity: Diagnostic['severity']): Image => ({id: '', name: '', domain: '', file: 'a.img', path: '/srv/a.img', format: 'raw', size: 0, problems: [{code: '', severity, summary: ''}]});
  assert.deepEqual([usable(image('error')), usable(image('warning'))], [false, true]);
  assert.deepEqual([isDisc({file: 'x.ISO'}), isDisc({file: 'x.iso.img'})], [true, false]);
});

test('only jobs that were seen going on are told of', () => {
  const job = (id: string, status: Job['status']): Job => ({id, status, description: '', started: ''});
  assert.deepEqual(news([job('a', 'started'), job('b', 'finished')], [job('a', 'failed'), job('b', 'finished'), job('c', 'finished')]).map((j) => j.id), ['a']);
});

test('events about disks are heard, those of boots are not', () => {
  assert.ok(touches([event('machine.report'), event('template.changed')]));
  assert.ok(touches([event('machine.status', {status: 'down'})]));
  assert.ok(!touches([event('machine.report'), event('machine.status', {status: 'up'}), event('daemon.note')]));
});
