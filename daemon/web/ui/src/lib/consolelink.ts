// The connection to a machine's serial console. It brings what the guest wrote lately first, and comes back when it breaks.
import {get} from './api';
import {running} from './actions';
import {machinePath} from './linked';
import {join} from './serial';
import {readLog} from './stream';
import type {Machine} from './types';

/** What goes to the guest: bytes that somebody types, or the text that a terminal answers by itself. The daemon takes only the former for use of the session. */
export type ConsoleInput = Uint8Array<ArrayBuffer> | string;

/** How the connection is. */
export type LinkState = {kind: 'connecting'} | {kind: 'open'} | {kind: 'waiting'; seconds: number} | {kind: 'ended'};

/** Who listens to a console. */
export interface LinkListener {
  /** The screen begins anew with what was written before; input must not go to the guest until then has come of it. */
  onPast: (bytes: Uint8Array, then: () => void) => void;
  onBytes: (bytes: Uint8Array) => void;
  onState: (state: LinkState) => void;
}

/** How much of the past is shown, in bytes. */
const past = 128 << 10;
/** The longest pause between two attempts, in seconds. */
const longest = 15;
/** A connection that lasted so long, in milliseconds, was a good one: the next attempt comes soon. */
const good = 10_000;

/** ConsoleLink is a console that is open until close. */
export class ConsoleLink {
  private socket: WebSocket | undefined;
  private abort = new AbortController();
  private timer = 0;
  private attempts = 0;
  private since = 0;
  private closed = false;
  /** What came before the past was read. */
  private early: Uint8Array[] | undefined;

  constructor(private readonly id: string, private readonly listener: LinkListener) {}

  /** connect opens the connection, or opens it now when it would be tried again later. */
  connect(): void {
    window.clearTimeout(this.timer);
    if (this.closed || this.socket) return;
    this.listener.onState({kind: 'connecting'});
    const url = new URL('/api/v1' + machinePath(this.id, '/console'), location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.early = [];
    socket.onopen = () => void this.opened(socket);
    socket.onmessage = (e: MessageEvent<ArrayBuffer | string>) => this.heard(typeof e.data === 'string' ? new TextEncoder().encode(e.data) : new Uint8Array(e.data));
    socket.onclose = () => void this.broke();
  }

  /** send types something. */
  send(input: ConsoleInput): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(input);
  }

  /** close ends the connection for good. */
  close(): void {
    this.closed = true;
    window.clearTimeout(this.timer);
    this.abort.abort();
    this.socket?.close(1000);
  }

  private async opened(socket: WebSocket): Promise<void> {
    this.since = Date.now();
    const pieces: Uint8Array[] = [];
    this.abort = new AbortController();
    await readLog(this.id, false, this.abort.signal, (b) => pieces.push(b)).catch(() => undefined);
    if (this.closed || this.socket !== socket) return;
    const all = join(concat(pieces), concat(this.early ?? []));
    this.early = undefined;
    this.listener.onPast(tail(all), () => { if (this.socket === socket && !this.closed) this.listener.onState({kind: 'open'}); });
  }

  private heard(bytes: Uint8Array): void {
    if (this.early) this.early.push(bytes);
    else this.listener.onBytes(bytes);
  }

  /** broke finds out why: the machine may have ended, and then there is nothing to come back to. */
  private async broke(): Promise<void> {
    this.socket = undefined;
    this.abort.abort();
    if (this.closed) return;
    const machine = await get<Machine>(machinePath(this.id)).catch(() => undefined);
    if (this.closed) return;
    if (machine && !running(machine.status)) {
      this.listener.onState({kind: 'ended'});
      return;
    }
    if (Date.now() - this.since > good) this.attempts = 0;
    this.wait(Math.min(longest, 2 ** this.attempts++));
  }

  private wait(seconds: number): void {
    if (seconds <= 0) return this.connect();
    this.listener.onState({kind: 'waiting', seconds});
    this.timer = window.setTimeout(() => this.wait(seconds - 1), 1000);
  }
}

function concat(pieces: Uint8Array[]): Uint8Array {
  const out = new Uint8Array(pieces.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of pieces) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

/** tail is the end of the past, from the beginning of a line. */
function tail(all: Uint8Array): Uint8Array {
  if (all.length <= past) return all;
  const end = all.subarray(all.length - past);
  return end.subarray(end.indexOf(10) + 1);
}
