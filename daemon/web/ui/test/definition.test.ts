import assert from 'node:assert/strict';
import {test} from 'node:test';
import {edit, forPreview, fresh, open} from '../src/lib/definition';
import type {Tree} from '../src/lib/tree';
import {steps} from '../src/lib/tree';

const own = `# The web server.
apiVersion: vmseed.dev/v1alpha1
kind: Machine
metadata:
  name: web # its name
spec:
  identity:
    hostname: 'web'
  x-unknown: {a: 1}   # stays
  users:
  - name: ada
    uid: 0x10
    groups: [sudo, "adm"]
  files:
  - path: /etc/motd
    mode: "0644"
    content: |
      Hello

      there
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {token: "no"}
`;

function changed(text: string, change: (t: Tree) => void): string {
  const documents = [{name: 'user-data', role: 'user-data', text: '#cloud-config\n'}, {text}];
  const opening = open(documents);
  assert.ok(opening.ok, JSON.stringify(opening));
  assert.equal(opening.opened.file, 1);
  const after = edit(documents, opening.opened.file, change);
  assert.equal(after[0], documents[0]);
  return after[1]?.text ?? '';
}

test('a path is taken apart', () => {
  assert.deepEqual(steps('spec.users[10].sshAuthorizedKeys[0]'), ['spec', 'users', 10, 'sshAuthorizedKeys', 0]);
});

test('what is not changed stays as it is written', () => {
  const after = changed(own, (t) => t.set('metadata.name', 'api'));
  assert.equal(after, own.replace('name: web #', 'name: api #').replace('}   # stays', '} # stays'));
});

test('values are added where people expect them, and quoted where readers differ', () => {
  const after = changed(own, (t) => {
    t.set('spec.users[0].password', '0644');
    t.set('spec.network.nics[0].mac', '52:54:00:12:34:56');
    t.set('spec.network.nics[0].dhcp4', true);
    t.set('spec.guest.timezone', 'Etc/GMT');
    t.set('spec.hardware.memory', '2Gi');
    t.append('spec.users', {name: 'no', sshAuthorizedKeys: ['ssh-ed25519 AAAA']});
    t.append('spec.runcmd', 'a\nb\n');
  });
  const body = after.slice(after.indexOf('spec:'), after.indexOf('---'));
  assert.match(body, /identity:[^]*guest:\n    timezone: Etc\/GMT\n  x-unknown[^]*users:[^]*files:[^]*runcmd:\n  - \|\n    a\n    b\n  network:\n    nics:\n    - mac: "52:54:00:12:34:56"\n      dhcp4: true\n  hardware:\n    memory: 2Gi/);
  assert.match(body, /name: ada\n {4}uid: 0x10\n {4}groups: .*\n {4}password: "0644"\n/);
  assert.match(body, /- name: "no"\n {4}sshAuthorizedKeys:\n {4}- ssh-ed25519 AAAA\n/);
});

test('what becomes empty goes, and what was empty fills', () => {
  const after = changed(own, (t) => {
    t.set('spec.identity.hostname', '');
    t.set('spec.users', []);
    t.remove('spec.files[0]');
  });
  assert.doesNotMatch(after, /identity|users|files/);
  const machine = fresh('a');
  const back = edit([machine], 0, (t) => {
    t.set('spec.identity.hostname', 'b');
    t.set('spec.identity.hostname', undefined);
  });
  assert.equal(back[0]?.text, machine.text);
  assert.match(edit([machine], 0, (t) => t.set('spec.identity.hostname', 'b'))[0]?.text ?? '', /spec:\n {2}identity:\n {4}hostname: b\n/);
  assert.match(edit([machine], 0, (t) => t.keep('spec.identity.hostname', ''))[0]?.text ?? '', /hostname: ""\n/);
});

test('an item that is written over as a whole leaves its neighbours alone', () => {
  const after = changed(own, (t) => t.set('spec.files[0].content', 'one line'));
  assert.match(after, /mode: "0644"\n {4}content: one line\n/);
});

test('documents that the form does not fit', () => {
  const why = (...texts: string[]) => {
    const o = open(texts.map((text) => ({text})));
    return o.ok ? 'ok' : o.why + (o.line ? ':' + o.line : '');
  };
  assert.equal(why('#cloud-config\n'), 'other');
  assert.equal(why('<vm/>'), 'other');
  assert.equal(why(own, own), 'several');
  assert.equal(why(own + '---\n' + own), 'several');
  assert.equal(why(own.replace('identity:', 'identity: [')), 'broken:9');
  assert.equal(why(own.replace('{a: 1}', '&a {a: 1}')), 'aliases');
  assert.equal(why('{"apiVersion": "vmseed.dev/v1alpha1", "kind": "Machine", "metadata": {"name": "a"}}'), 'ok');
  assert.equal(why('{"apiVersion": "v1", "metadata": {"x": "vmseed.dev/y"}}'), 'other');
});

test('a machine without a name gets one to be looked at', () => {
  const documents = [fresh()];
  const opening = open(documents);
  assert.match(forPreview(documents, opening)[0]?.text ?? '', /name: "?machine"?\n/);
  const named = [fresh('a')];
  assert.equal(forPreview(named, open(named)), named);
});
