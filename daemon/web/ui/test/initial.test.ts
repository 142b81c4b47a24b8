import assert from 'node:assert/strict';
import {test} from 'node:test';
import {edit, fresh, open} from '../src/lib/definition';
import {agentOf, isHash, keysPath, passwordOf, scriptKind, scriptOf, setAgent, setPassword, setScript, setUserName, mainPath} from '../src/lib/initial';
import {addNIC, addressOf, addressPath, bitsMask, isAddressed, join, maskBits, nameOfNIC, protocolOf, putAddress, setAddress, setNICName, setProtocol, split, whyNoAddress, type TypedAddress} from '../src/lib/nics';
import type {Tree, View} from '../src/lib/tree';

/** after is the spec of a machine as text, and how the form reads it, when changes were made to it one after the other. */
function after(...changes: ((t: Tree) => void)[]): {text: string; view: View} {
  let docs = [fresh('web')];
  for (const change of changes) docs = edit(docs, 0, change);
  const opening = open(docs);
  assert.ok(opening.ok);
  return {text: (docs[0]?.text ?? '').replace(/^[^]*\nspec:/, ''), view: opening.opened.tree};
}

test('the default user has a name, a password and keys', () => {
  const {text, view} = after((t) => setUserName(t, 'ada'), (t) => setPassword(t, 's'), (t) => setPassword(t, 'secret'));
  assert.equal(text, '\n  users:\n    - name: ada\n      default: true\n      password: secret\n  ssh:\n    passwordAuth: true\n');
  assert.deepEqual(passwordOf(view, mainPath(view)), {kind: 'clear', text: 'secret'});
  assert.equal(keysPath(view), 'spec.ssh.authorizedKeys');
  assert.equal(after((t) => setUserName(t, 'ada'), (t) => setPassword(t, 's'), (t) => setPassword(t, ''), (t) => setUserName(t, '')).text, ' {}\n');
});

test('a hash is taken as one', () => {
  const {text} = after((t) => setPassword(t, '$6$salt$hash'));
  assert.match(text, /- default: true\n {6}passwordHash: \$6\$salt\$hash\n/);
  assert.match(after((t) => setPassword(t, '$6$salt$hash'), (t) => setPassword(t, 'x')).text, /default: true\n {6}password: x\n/);
  assert.ok(!isHash('$6$') && !isHash('secret') && isHash('$2b$05$abc'));
});

test('root may log in when it is the user', () => {
  assert.match(after((t) => setUserName(t, 'root')).text, /disableRoot: false/);
  assert.doesNotMatch(after((t) => setUserName(t, 'root'), (t) => setUserName(t, 'roo')).text, /ssh/);
});

test('an Ignition config in the custom script makes the machine one for Ignition', () => {
  assert.equal(scriptKind('{"ignition": {"version": "3.3.0"}}'), 'ignition');
  assert.equal(scriptKind('variant: fcos\nversion: 1.5.0\n'), 'ignition');
  assert.equal(scriptKind('#cloud-config\nvariant: x\n'), 'user-data');
  const {view} = after((t) => setScript(t, 'packages: [tree]\n'), (t) => setScript(t, '{"ignition": {"version": "3.3.0"}}'));
  assert.equal(agentOf(view), 'ignition');
  assert.equal(view.count('spec.userData.layers'), 0);
  assert.equal(scriptOf(view, 'ignition').text, '{"ignition": {"version": "3.3.0"}}');
  assert.equal(view.text('spec.dataSource'), 'ignition');
  assert.equal(after((t) => setScript(t, 'a: 1'), (t) => setScript(t, '')).text, ' {}\n');
  assert.equal(after((t) => setAgent(t, 'ignition'), (t) => setAgent(t, 'cloud-init')).text, ' {}\n');
});

test('the custom script is the last layer, also one with a name', () => {
  const {view, text} = after((t) => t.set('spec.userData.layers', ['#!/bin/sh', {name: 'own', data: 'a: 1'}]), (t) => setScript(t, 'a: 2'));
  assert.deepEqual(scriptOf(view, 'user-data'), {path: 'spec.userData.layers[1].data', text: 'a: 2', elsewhere: false, others: 1});
  assert.match(text, /name: own\n {8}data: "?a: 2"?\n/);
});

test('NICs in every form', () => {
  let {text, view} = after((t) => void addNIC(t), (t) => void addNIC(t), (t) => setProtocol(t, 1, 4, 'static'), (t) => setAddress(t, 1, 4, '192.0.2.7/24'),
    (t) => t.set('spec.network.nics[1].gateway4', '192.0.2.1'), (t) => setProtocol(t, 1, 6, 'static'), (t) => setAddress(t, 1, 6, '2001:db8::7/64'),
    (t) => setProtocol(t, 0, 6, 'both'), (t) => t.set('spec.network.nics[1].onBoot', false));
  assert.equal(text, `
  network:
    nics:
      - name: eth0
        rename: eth0
        dhcp4: true
        dhcp6: stateful
        slaac: true
      - name: eth1
        rename: eth1
        addresses:
          - 192.0.2.7/24
          - 2001:db8::7/64
        gateway4: 192.0.2.1
        onBoot: false
`.replaceAll(/(192\.0\S*|2001\S*)/g, '"$1"'));
  assert.deepEqual([protocolOf(view, 0, 4), protocolOf(view, 0, 6), protocolOf(view, 1, 4), protocolOf(view, 1, 6)], ['dhcp', 'both', 'static', 'static']);
  assert.deepEqual([addressPath(view, 0, 4), addressPath(view, 1, 4), addressPath(view, 1, 6)], [undefined, 'spec.network.nics[1].addresses[0]', 'spec.network.nics[1].addresses[1]']);
  ({text, view} = after((t) => void addNIC(t), (t) => setAddress(t, 0, 4, '192.0.2.7/24'), (t) => t.append('spec.network.nics[0].addresses', '192.0.2.8/24'),
    (t) => setAddress(t, 0, 4, '192.0.2.9/24'), (t) => setNICName(t, 0, 'lan0')));
  assert.equal(addressOf(view, 0, 4), '192.0.2.9/24');
  assert.equal(view.count('spec.network.nics[0].addresses'), 2, 'further addresses stay');
  assert.equal(nameOfNIC(view, 0), 'lan0');
  assert.equal(view.text('spec.network.nics[0].name'), 'lan0');
  for (const protocol of ['none', 'dhcp', 'autoconf', 'both'] as const) {
    assert.equal(protocolOf(after((t) => void addNIC(t), (t) => setProtocol(t, 0, 6, protocol)).view, 0, 6), protocol);
  }
});

test('name servers need an interface that says how it gets its address', () => {
  const of = (...changes: ((t: Tree) => void)[]) => isAddressed(after(...changes).view);
  assert.equal(of(), false);
  assert.equal(of((t) => void addNIC(t), (t) => setProtocol(t, 0, 4, 'none')), false);
  for (const [family, protocol] of [[4, 'dhcp'], [6, 'autoconf'], [6, 'dhcp']] as const) {
    assert.ok(of((t) => void addNIC(t), (t) => setProtocol(t, 0, 4, 'none'), (t) => setProtocol(t, 0, family, protocol)), protocol);
  }
  assert.ok(of((t) => void addNIC(t), (t) => setProtocol(t, 0, 4, 'static'), (t) => setAddress(t, 0, 4, '192.0.2.1/24')));
});

test('what is typed and no address yet is kept beside the definition, which gets the address where the last one stood', () => {
  let docs = edit([fresh('web')], 0, (t) => {
    addNIC(t);
    t.set('spec.network.nics[0].addresses', ['2001:db8::1/64', '192.0.2.7/24', '192.0.2.8/24']);
  });
  let kept: TypedAddress | undefined;
  const type = (address: string) => { docs = edit(docs, 0, (t) => { kept = putAddress(t, 0, 4, {address, mask: '255.255.255.0'}, kept); }); };
  const addresses = () => {
    const opening = open(docs);
    return opening.ok && opening.opened.tree.get('spec.network.nics[0].addresses');
  };
  for (const typed of ['', '1', 'myhost', 'web.example.org', '2001:db8::2']) {
    type(typed);
    assert.deepEqual([kept, addresses()], [{address: typed, mask: '255.255.255.0', at: 1}, ['2001:db8::1/64', '192.0.2.8/24']], typed);
  }
  type('198.51.100.1');
  assert.deepEqual([kept, addresses()], [undefined, ['2001:db8::1/64', '198.51.100.1/24', '192.0.2.8/24']]);
  assert.deepEqual(['', 'myhost', 'web.example.org', '2001:db8::1', '192.0.2.1', '192.0.2', '192.0.2.1/24'].map((t) => whyNoAddress(t, 4)), ['missing', 'none', 'none', 'other', undefined, undefined, undefined]);
  assert.deepEqual([' ', '2001', '192.0.2.1', '::1'].map((t) => whyNoAddress(t, 6)), ['missing', 'none', 'other', undefined]);
});

test('netmasks', () => {
  for (let bits = 0; bits <= 32; bits++) assert.equal(maskBits(bitsMask(bits)), bits);
  assert.equal(bitsMask(20), '255.255.240.0');
  assert.equal(maskBits('255.0.255.0'), undefined);
  assert.equal(maskBits('24'), undefined);
  assert.equal(join('192.0.2.7', '255.255.255.0'), '192.0.2.7/24');
  assert.equal(join('192.0.2.7', '/24'), '192.0.2.7/24');
  assert.equal(join('192.0.2.7/25', '255.255.255.0'), '192.0.2.7/25');
  assert.equal(join('', '24'), '');
  assert.deepEqual(split('192.0.2.7/24', 4), {address: '192.0.2.7', mask: '255.255.255.0'});
  assert.deepEqual(split('2001:db8::1/64', 6), {address: '2001:db8::1', mask: '64'});
});
