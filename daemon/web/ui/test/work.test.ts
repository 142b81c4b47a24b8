import assert from 'node:assert/strict';
import {test} from 'node:test';
import {fresh} from '../src/lib/definition';
import {closest, isWithin, remarkAt, sentence, warningAt} from '../src/lib/remarks';
import {bootable, discAt, discName, discOf, freeDisk, imageOf, preparedOf, rootDisk, setDisc, setImage, setPrepared} from '../src/lib/source';
import {edit, open} from '../src/lib/definition';
import type {Tree} from '../src/lib/tree';
import type {Diagnostic, Image, Template} from '../src/lib/types';
import {mismatch} from '../src/components/form/authentication';
import {begin, replaced, withoutBlank, type ComposeData, type Work, type Working} from '../src/lib/work';
import {wrongs} from '../src/lib/submit';

const vm = 'apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\n';
const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n';

test('the blank machine makes room for a definition, and stays for what it refers to', () => {
  const blank = fresh();
  const text = (...texts: string[]) => withoutBlank([blank, ...texts.map((t) => ({text: t}))]).map((d) => d.text);
  assert.deepEqual(text(vm), [vm]);
  assert.deepEqual(text(vm + '---\n' + secret), [vm + '---\n' + secret]);
  assert.deepEqual(text('#cloud-config\n'), ['#cloud-config\n']);
  assert.deepEqual(text(secret), [blank.text, secret]);
  assert.deepEqual(text(''), [blank.text, '']);
  assert.deepEqual(withoutBlank([{...blank, text: vm + blank.text}]), [{name: 'vm.yaml', text: vm}], 'pasted before it');
  assert.deepEqual(withoutBlank([{...blank, text: blank.text + vm}]).map((d) => d.text), [vm], 'pasted behind it');
  assert.deepEqual(withoutBlank([{...blank, text: blank.text + '# a note'}]).map((d) => d.text), [blank.text + '# a note']);
  assert.deepEqual(withoutBlank([fresh('a'), {text: vm}]).length, 2, 'what somebody has written stays');
});

test('a password is asked for twice only where it was typed', () => {
  const clear = (text: string) => ({kind: text ? 'clear' : 'none', text} as const);
  const none = {typed: '', verify: ''};
  assert.ok(!mismatch(clear(''), none), 'nothing was typed');
  assert.ok(mismatch(clear(''), {typed: '', verify: 'x'}), 'the second time alone');
  assert.ok(mismatch(clear('x'), {typed: 'x', verify: ''}));
  assert.ok(!mismatch(clear('x'), {typed: 'x', verify: 'x'}));
  assert.ok(!mismatch(clear('x'), none), 'it came with the definition');
  assert.ok(!mismatch({kind: 'elsewhere', text: ''}, none), 'it stands in a Secret');
  assert.ok(!mismatch({kind: 'hash', text: '$6$a$b'}, {typed: '$6$a$b', verify: ''}), 'a hash');
});

function after(...changes: ((t: Tree) => void)[]): Tree {
  const documents = changes.reduce((d, c) => edit(d, 0, c), [fresh('a')]);
  const opening = open(documents);
  assert.ok(opening.ok);
  return opening.opened.tree as Tree;
}

test('what a machine boots from, and what is attached to it', () => {
  const data = (t: Tree) => t.append('spec.disks', {name: 'data', source: {blank: true}, size: '1Gi'});
  let t = after(data, (t) => setImage(t, '/srv/a.qcow2'), (t) => setImage(t, '/srv/b.qcow2'));
  assert.equal(imageOf(t), '/srv/b.qcow2');
  assert.equal(rootDisk(t), 0);
  assert.equal(t.count('spec.disks'), 2);
  t = after(data, (t) => setImage(t, '/srv/a.qcow2'), (t) => setImage(t, ''));
  assert.deepEqual(t.get('spec.disks'), [{name: 'data', source: {blank: true}, size: '1Gi'}]);
  t = after((t) => setDisc(t, '/srv/a.iso'), (t) => setDisc(t, '/srv/b.iso'));
  assert.equal(discOf(t), '/srv/b.iso');
  assert.equal(discOf(after((t) => setDisc(t, '/srv/a.iso'), (t) => setDisc(t, undefined))), undefined);
  const drive = {name: 'cdrom', device: 'cdrom', source: {image: 'https://example.org/a.iso'}};
  t = after((t) => t.set('spec.disks', [drive, {name: 'tools', device: 'cdrom', source: {path: '/srv/c.iso'}}]), (t) => setDisc(t, '/srv/b.iso'));
  assert.deepEqual([t.get('spec.disks[1]'), t.count('spec.disks')], [{name: 'tools', device: 'cdrom', source: {path: '/srv/b.iso'}}, 2], 'the CD of the definition is changed, whatever its name');
  t = after((t) => t.set('spec.disks', [drive]), (t) => setDisc(t, '/srv/b.iso'));
  assert.deepEqual([t.text('spec.disks[1].name'), discOf(t), freeDisk(t, 'data', true)], ['cdrom1', '/srv/b.iso', 'data1'], 'a drive that the form cannot fill stays as it is');
  assert.equal(after((t) => t.set('spec.dataSource', 'configdrive'), (t) => setPrepared(t, undefined)).text('spec.dataSource'), 'configdrive', 'nothing is taken away where nothing is');
  t = after((t) => t.set('spec.dataSource', 'configdrive'), (t) => setPrepared(t, '/srv/seed.iso'));
  assert.deepEqual([preparedOf(t), t.text('spec.dataSource')], ['/srv/seed.iso', 'none']);
  t = after((t) => setPrepared(t, '/srv/seed.iso'), (t) => setPrepared(t, undefined, 'configdrive'));
  assert.deepEqual([preparedOf(t), t.text('spec.dataSource'), t.get('spec.media')], [undefined, 'configdrive', undefined]);
});

test('of several CDs the form attaches one, and leaves the others when it is taken away', () => {
  const two = (t: Tree) => t.set('spec.disks', ['a', 'b'].map((name) => ({name, device: 'cdrom', source: {path: `/srv/${name}.iso`}})));
  let t = after(two);
  assert.deepEqual([discAt(t), discAt(t, 'b'), discAt(t, 'gone'), discAt(t, null)], [0, 1, 0, -1]);
  t = after(two, (t) => setDisc(t, undefined, 0));
  assert.deepEqual([discOf(t, discAt(t, null)), t.count('spec.disks'), t.text('spec.disks[0].name')], [undefined, 1, 'b'], 'none is shown in its place');
  const name = discName(t, -1);
  t = after(two, (t) => setDisc(t, undefined, 0), (t) => setDisc(t, '/srv/c.iso', -1));
  assert.deepEqual([discOf(t, discAt(t, name)), t.text('spec.disks[0].source.path')], ['/srv/c.iso', '/srv/b.iso'], 'another one is attached beside the second');
});

test('a machine boots from disks that can be read', () => {
  const image = (file: string, ...problems: Diagnostic['severity'][]) => ({file, path: file, problems: problems.map((severity) => ({severity}))}) as Image;
  const template = (id: string, status: Template['status'], disk?: string) => ({id, status, disk}) as Template;
  const from = bootable([template('a', 'ok', 'd'), template('blank', 'ok'), template('made', 'locked', 'd'), template('bad', 'illegal', 'd')],
    [image('a.qcow2'), image('cd.iso'), image('packed.img', 'error'), image('b.img', 'warning'), {file: 'link.img'} as Image], undefined);
  assert.deepEqual([from.templates.map((t) => t.id), from.images.map((i) => i.file)], [['a'], ['a.qcow2', 'b.img']]);
  assert.deepEqual(bootable([template('blank', 'ok')], [], 'blank').templates.length, 1, 'what is chosen is shown');
});

test('remarks find their controls', () => {
  const d = (field: string, severity: Diagnostic['severity'] = 'error'): Diagnostic => ({code: 'VS1', severity, field, summary: 'this is wrong', remedy: 'mend it'});
  assert.ok(isWithin('spec.users[0].name', 'users[0]') && isWithin('users[0].name', 'spec.users[0].name') && !isWithin('users[10]', 'users[1]'));
  assert.equal(remarkAt([d('users[0].name', 'warning'), d('spec.users[0].name')], 'spec.users[0].name')?.severity, 'error');
  assert.equal(remarkAt([d('spec.files[0]')], 'spec.files[0].path'), undefined);
  const odd = d('identity.hostname', 'warning');
  assert.deepEqual([warningAt([odd], 'spec.identity.hostname'), remarkAt([odd], 'spec.identity.hostname')], [odd, undefined], 'a warning is no error');
  assert.deepEqual([warningAt([odd], 'spec.identity'), warningAt([d('identity.hostname')], 'spec.identity.hostname')], [undefined, undefined]);
  assert.equal(sentence(d('a')), 'This is wrong; mend it.');
  assert.equal(closest(['spec.users[0].name', 'spec.users[0].password'], 'users[0].name'), 'spec.users[0].name');
  assert.equal(closest(['spec.users[0].name', 'spec.ssh.authorizedKeys'], 'spec.ssh.authorizedKeys[3]'), 'spec.ssh.authorizedKeys');
  assert.equal(closest(['spec.users[0].name'], 'users'), 'spec.users[0].name');
  assert.equal(closest(['spec.users[0].name'], 'disks'), undefined);
});

test('a definition that comes takes the proposed template away, a file for the guest does not', () => {
  const work = begin([fresh()], {template: 't'});
  assert.deepEqual(replaced(work, [fresh(), {text: vm}]).settings, {});
  assert.deepEqual(replaced(work, [fresh(), {text: '#cloud-config\n'}]).settings, {template: 't'});
  assert.deepEqual(replaced(work, [{...fresh(), text: fresh().text + '# more\n'}]).settings, {template: 't'});
  assert.deepEqual(replaced({...work, documents: [{text: vm}]}, [{text: vm + '# more\n'}]).settings, {template: 't'}, 'chosen after it came');
});

test('what keeps the work from being sent', () => {
  const wrong = (work: Work, mode: ComposeData['mode'], rendered: Diagnostic[] = []) => wrongs({data: {mode} as ComposeData, working: {work} as Working, opening: open(work.documents),
    rendered, held: new Map([['cd', 'Choose a CD.']].slice(0, mode === 'run' ? 1 : 0) as [string, string][]), mismatch: false}).map((w) => w.field);
  assert.deepEqual(wrong(begin([fresh()], {}), 'new', [{code: 'VS1', severity: 'error', field: 'metadata.name', summary: 'no name'}]), ['metadata.name'], 'said once');
  assert.deepEqual(wrong(begin([fresh('a')], {}), 'new', [{code: 'VS1', severity: 'warning', field: 'spec.users', summary: 'a warning'}]), []);
  assert.deepEqual(wrong(begin([{text: '#cloud-config\n'}], {}), 'new'), ['metadata.name']);
  assert.deepEqual(wrong(begin([{text: '#cloud-config\n'}], {name: 'a'}), 'new'), []);
  assert.deepEqual(wrong(begin([{text: vm}], {}), 'new'), []);
  assert.deepEqual(wrong(begin([fresh()], {}), 'run'), ['cd']);
});
