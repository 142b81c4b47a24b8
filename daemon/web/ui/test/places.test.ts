import assert from 'node:assert/strict';
import {test} from 'node:test';
import {bytesOf, hexDump, textOf} from '../src/lib/bytes';
import {diagnosticsOf, documentOf, offsetOf, positionOf, worst} from '../src/lib/places';
import {fieldPath, fieldSpan, placed, spanOf} from '../src/lib/spans';
import type {Diagnostic} from '../src/lib/types';

const remark = (d: Partial<Diagnostic>): Diagnostic => ({code: 'VS1001', severity: 'error', summary: 's', ...d});

test('columns count characters, offsets UTF-16 units', () => {
  const text = 'a\n💡é: x\nlast';
  assert.equal(offsetOf(text, {line: 2, column: 1}), 2);
  assert.equal(offsetOf(text, {line: 2, column: 3}), 5);
  assert.equal(text[offsetOf(text, {line: 2, column: 5})], 'x');
  assert.equal(offsetOf(text, {line: 2, column: 99}), 8);
  assert.equal(offsetOf(text, {line: 9, column: 1}), text.length);
  for (const at of [{line: 1, column: 1}, {line: 2, column: 3}, {line: 3, column: 2}]) assert.deepEqual(positionOf(text, offsetOf(text, at)), at);
});

test('a remark without an end marks the word at its place', () => {
  const at = (text: string, column: number) => {
    const span = spanOf(text, remark({range: {start: {line: 1, column}}}))!;
    return text.slice(span.from, span.to);
  };
  assert.equal(at('image: debian-12.raw # c', 8), 'debian-12.raw');
  assert.equal(at('mac: "52:54 x", b', 6), '"52:54 x"');
  assert.equal(at('  sudoo: x', 3), 'sudoo');
  assert.equal(at('url: http://a/b, c', 6), 'http://a/b');
  const whole = spanOf('ab\ncd', remark({range: {start: {line: 1, column: 2}, end: {line: 2, column: 2}}}));
  assert.deepEqual(whole, {from: 1, to: 2}, 'a mark stays in its line');
  assert.equal(spanOf('x', remark({})), undefined);
});

test('a field finds its place where the line is lost', () => {
  const text = '#cloud-config\nusers:\n- name: a\n  sudoo: x\nwrite_files:\n- path: /a\n';
  const found = (field: string) => {
    const span = fieldSpan(text, field);
    return span && text.slice(span.from, span.to);
  };
  assert.equal(found('users[0].sudoo'), 'sudoo');
  assert.equal(found('users[0].missing'), 'name');
  assert.equal(found('nothing'), undefined);
  assert.equal(found('users[0]'), 'name');
  const [at] = placed([remark({field: 'users[0].sudoo', range: {file: 'a', start: {line: 1, column: 1}}})], [{name: 'a', text}]);
  assert.deepEqual(at?.range, {file: 'a', start: {line: 4, column: 3}, end: {line: 4, column: 8}});
  const kept = remark({field: 'users[0]', range: {start: {line: 2, column: 1}}});
  assert.deepEqual(placed([kept], [{text}]), [kept]);
  const native = 'kind: Machine\nspec:\n  network:\n    nics:\n    - name: lan\n      mac: x\n';
  const nic = fieldSpan(native, 'network.nics[lan].mac')!;
  assert.equal(native.slice(nic.from, nic.to), 'mac');
  assert.deepEqual(fieldPath('a.b[2]["c.d"].e[k]'), ['a', 'b', 2, 'c.d', 'e', 'k']);
  assert.equal(fieldSpan('<vm/>', 'users[0]'), undefined);
  assert.equal(fieldSpan('a: [', 'b'), undefined);
});

test('remarks belong to the document that they name', () => {
  const documents = [{name: 'a', text: ''}, {text: ''}];
  assert.equal(documentOf(remark({range: {file: 'a'}}), documents), 0);
  assert.equal(documentOf(remark({range: {file: 'document 2'}}), documents), 1);
  assert.equal(documentOf(remark({range: {file: 'x'}}), documents), -1);
  assert.equal(documentOf(remark({}), [{text: ''}]), 0);
  assert.equal(diagnosticsOf([remark({range: {file: 'a'}}), remark({})], documents, 0).length, 1);
  assert.equal(worst([remark({severity: 'note'}), remark({severity: 'warning'})]), 'warning');
  assert.equal(worst([]), undefined);
});

test('bytes are shown, and told from texts', () => {
  assert.equal(hexDump(bytesOf(btoa('GIF\x00ABCDEFGHIJKLMNOP'))), '00000000  47 49 46 00 41 42 43 44 45 46 47 48 49 4a 4b 4c  GIF.ABCDEFGHIJKL\n00000010  4d 4e 4f 50                                      MNOP');
  assert.equal(textOf(new Uint8Array([0xff, 0xfe, 0x61, 0])), 'a');
  assert.equal(textOf(new Uint8Array([0x61, 0, 0x62])), undefined);
  assert.equal(textOf(new Uint8Array([0xc3, 0x28])), undefined);
});
