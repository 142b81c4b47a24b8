import assert from 'node:assert/strict';
import {test} from 'node:test';
import {decodedIn, indented} from '../src/lib/decoded';

test('contents are read where their file says that they are encoded', () => {
  const text = `#cloud-config
write_files:
  - path: /etc/motd
    encoding: b64
    content: aGVsbG8=
  - path: /etc/plain
    content: aGVsbG8=
  - content: "w7YKYQ=="
    encoding: base64
  - encoding: b64
    content: /w==
  - {path: /a, encoding: b64, content: aGVsbG8=}
`;
  const found = decodedIn(text);
  assert.deepEqual(found.map((d) => [text.slice(d.to - 6, d.to), d.text, d.alone]), [['VsbG8=', 'hello', true], ['KYQ=="', 'ö\na', true]]);
});

test('data URLs are read wherever they stand', () => {
  const text = '{"source":"data:,d%C3%B6me%0A"},{"source": "data:text/plain;charset=utf-8;base64,aGk="},{"source":"data:;base64,/w=="},{"source":"data:,"},{"x":"data:,%ZZ"}';
  assert.deepEqual(decodedIn(text).map((d) => [d.text, d.alone]), [['döme\n', false], ['hi', false]]);
  assert.equal(text[decodedIn(text)[0]!.to - 1], '"');
});

test('a URL on a line of its own may have its text below', () => {
  const text = indented('{"a":[{"source":"data:;base64,' + btoa('{"b":{"c":1}}') + '"},{"source":"data:,x","y":1}]}');
  const [first, second] = decodedIn(text);
  assert.deepEqual([first?.alone, first?.text, second?.alone], [true, '{\n  "b": {\n    "c": 1\n  }\n}\n', true]);
  assert.equal(text.slice(first!.from, first!.from + 6), '"data:');
  assert.equal(indented('{broken'), '{broken');
  assert.equal(indented('a: 1'), 'a: 1');
});

test('what is large is left alone', () => {
  assert.deepEqual(decodedIn('"data:,a"' + ' '.repeat(1 << 18)), []);
});
