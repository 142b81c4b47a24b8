import assert from 'node:assert/strict';
import {test} from 'node:test';
import {find, join, SerialLog, isReply} from '../src/lib/serial';

const bytes = (s: string) => new TextEncoder().encode(s);

function read(...pieces: (string | Uint8Array)[]): string[] {
  const log = new SerialLog();
  for (const p of pieces) log.write(typeof p === 'string' ? bytes(p) : p);
  return log.all();
}

test('what steers terminals is no text', () => {
  const cases: [string, string, string[]][] = [
    ['lines', 'one\r\ntwo\nthree', ['one', 'two', 'three']],
    ['colours', '\x1b[0;1;31mFAILED\x1b[0m to start', ['FAILED to start']],
    ['a progress bar', '10 %\r20 %\r100 %\n', ['100 %']],
    ['a correction', 'ab\b\bxy\n', ['xy']],
    ['tabs', 'a\tb\n', ['a       b']],
    ['a title', '\x1b]0;evil title\x07shell\n', ['shell']],
    ['a title with its other end', '\x1b]0;evil\x1b\\shell\n', ['shell']],
    ['a link', '\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07\n', ['click']],
    ['a string without an end hides one line', '\x1b]0;title\nnext\n', ['', 'next']],
    ['a device control string', '\x1bP1$r0m\x1b\\x\n', ['x']],
    ['a character set', '\x1b(Bx\x1b)0y\n', ['xy']],
    ['a sequence of one character', '\x1bcx\x1b7y\n', ['xy']],
    ['eight-bit controls', '\u009b31mred\u009d0;t\u009cx\n', ['redx']],
    ['the clipboard', '\x1b]52;c;ZXZpbA==\x07x\n', ['x']],
    ['other controls', 'a\0b\x01\x7fc\n', ['abc']],
    ['text that turns around', 'a\u202egnp.exe\u2066\n', ['agnp.exe']],
    ['letters beyond ASCII', 'Grüße 🐧 日本\n', ['Grüße 🐧 日本']],
    ['markup is text', '<img src=x onerror=alert(1)>\n', ['<img src=x onerror=alert(1)>']],
  ];
  for (const [name, input, want] of cases) {
    assert.deepEqual(read(input), want, name);
    assert.deepEqual(read(...[...bytes(input)].map((b) => Uint8Array.of(b))), want, name + ', byte by byte');
  }
});

test('bytes that are no UTF-8 do not end the log', () => {
  assert.deepEqual(read(Uint8Array.of(0x61, 0xff, 0xfe, 0x62, 0x0a), 'after\n'), ['a\ufffd\ufffdb', 'after']);
});

test('a log is bounded', () => {
  const log = new SerialLog();
  log.write(bytes('x'.repeat(4500) + '\n'));
  assert.deepEqual(log.lines.map((l) => l.length), [2000, 2000, 500]);
  log.write(bytes('y\n'.repeat(60_000)));
  assert.equal(log.lines.length, 50_000);
  assert.equal(log.dropped, 10_003);
});

test('join finds what both have', () => {
  const text = (a: string, b: string) => new TextDecoder().decode(join(bytes(a), bytes(b)));
  assert.equal(text('boot\nlogin: ', 'login: root'), 'boot\nlogin: root');
  assert.equal(text('boot', ''), 'boot');
  assert.equal(text('', 'live'), 'live');
  assert.equal(text('abc', 'def'), 'abcdef');
  assert.equal(text('abab', 'ababab'), 'ababab');
});

test('find is blind to case', () => {
  assert.deepEqual(find(['Error: a', 'fine', 'an ERROR'], 'error'), [0, 2]);
  assert.deepEqual(find(['a'], ''), []);
});

test('what a terminal answers by itself is told from what is typed', () => {
  for (const reply of ['\x1b[?1;2c', '\x1b[>0;276;0c', '\x1b[0n', '\x1b[24;80R', '\x1b[?2004;2$y', '\x1b]10;rgb:ff/ff/ff\x1b\\', '\x1bP1$r0m\x1b\\']) assert.equal(isReply(reply), true, JSON.stringify(reply));
  for (const typed of ['a', '\r', '\x1b', '\x1b[A', '\x1b[15~', '\x1bOP', '\x1b[<0;3;4M', '\x1b[200~x\x1b[201~', 'R', 'ls -l\r']) assert.equal(isReply(typed), false, JSON.stringify(typed));
});
