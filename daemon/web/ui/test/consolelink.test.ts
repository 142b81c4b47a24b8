import assert from 'node:assert/strict';
import {afterEach, beforeEach, mock, test} from 'node:test';
import {ConsoleLink, type LinkState} from '../src/lib/consolelink';

const bytes = (s: string) => new TextEncoder().encode(s);
const text = (b: Uint8Array) => new TextDecoder().decode(b);

/** What the browser would have: sockets that the test opens, feeds and closes, and answers of the API. */
class Socket {
  static readonly OPEN = 1;
  static all: Socket[] = [];
  readyState = 0;
  sent: string[] = [];
  onopen?: () => void;
  onmessage?: (e: {data: ArrayBuffer}) => void;
  onclose?: () => void;
  constructor(readonly url: URL) { Socket.all.push(this); }
  send(b: Uint8Array) { this.sent.push(text(b)); }
  close() { this.readyState = 3; }
  opens() { this.readyState = Socket.OPEN; this.onopen?.(); }
  says(s: string) { this.onmessage?.({data: bytes(s).buffer as ArrayBuffer}); }
  breaks() { this.readyState = 3; this.onclose?.(); }
}

let log = '';
let status = 'up';
let seen: string[] = [];
let states: string[] = [];
/** settled lets what waits for answers go on. */
const settled = () => new Promise<void>((done) => setImmediate(done));

function link(): ConsoleLink {
  return new ConsoleLink('a/b', {
    onPast: (b, then) => { seen.push('past ' + text(b)); then(); }, onBytes: (b) => seen.push(text(b)),
    onState: (s: LinkState) => states.push(s.kind + ('seconds' in s ? ` ${s.seconds}` : '')),
  });
}

beforeEach(() => {
  Object.assign(globalThis, {window: globalThis, location: new URL('https://host:1/machines/x#console'), WebSocket: Socket,
    fetch: async (url: string) => (url.endsWith('/log') ? new Response(log) : Response.json({status}))});
  [Socket.all, seen, states, log, status] = [[], [], [], '', 'up'];
  mock.timers.enable({apis: ['setTimeout', 'Date']});
});
afterEach(() => mock.timers.reset());

test('the past comes first, and nothing twice', async () => {
  log = 'boot\nlogin: ';
  const l = link();
  l.connect();
  const s = Socket.all[0]!;
  assert.equal(s.url.href, 'wss://host:1/api/v1/machines/a%2Fb/console');
  s.opens();
  s.says('login: ');
  for (let i = 0; i < 5; i++) await settled();
  s.says('root');
  assert.deepEqual(seen, ['past boot\nlogin: ', 'root']);
  l.send(bytes('x'));
  assert.deepEqual(s.sent, ['x']);
  assert.deepEqual(states, ['connecting', 'open']);
  l.close();
});

test('a connection that breaks comes back, each time a little later', async () => {
  const l = link();
  l.connect();
  Socket.all[0]!.breaks();
  for (let i = 0; i < 5; i++) await settled();
  mock.timers.tick(1000);
  assert.equal(Socket.all.length, 2);
  Socket.all[1]!.breaks();
  for (let i = 0; i < 5; i++) await settled();
  assert.deepEqual(states, ['connecting', 'waiting 1', 'connecting', 'waiting 2']);
  l.connect(); // the user does not want to wait
  assert.equal(Socket.all.length, 3);
  l.close();
});

test('a machine that has ended has no console to come back to', async () => {
  status = 'down';
  const l = link();
  l.connect();
  Socket.all[0]!.breaks();
  for (let i = 0; i < 5; i++) await settled();
  mock.timers.tick(60_000);
  assert.deepEqual(states, ['connecting', 'ended']);
  assert.equal(Socket.all.length, 1);
});

test('a closed console stays closed', async () => {
  const l = link();
  l.connect();
  l.close();
  Socket.all[0]!.breaks();
  for (let i = 0; i < 5; i++) await settled();
  mock.timers.tick(60_000);
  assert.equal(Socket.all.length, 1);
});
