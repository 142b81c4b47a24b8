// The screen of a serial console: xterm.js, fitted to its place and held to what a guest may do. Loaded when a console is opened. What
// build.mjs changes in xterm.js for the page's policy is in xterm.mjs.
import {FitAddon} from '@xterm/addon-fit';
import {Terminal} from '@xterm/xterm';
import type {ConsoleInput} from './consolelink';
import {isReply} from './serial';

/** What the screen tells. */
export interface ScreenListener {
  /** The user typed something. */
  onInput: (input: ConsoleInput) => void;
  /** The user wants to leave the console by the keyboard. */
  onLeave: () => void;
  /** The user wants the selection in the clipboard. */
  onCopy: () => void;
}

/** A screen that is shown. */
export interface Screen {
  write: (bytes: Uint8Array) => void;
  /** Begins anew with what was written before. What a terminal answers to that is not sent: nobody waits for it any more. */
  replay: (bytes: Uint8Array, then: () => void) => void;
  focus: () => void;
  /** Types a text, as a shell expects pasted text. */
  paste: (text: string) => void;
  selection: () => string;
  /** The lines that are on the screen. */
  text: () => string;
  size: () => {rows: number; columns: number};
  /** Makes the lines readable for screen readers, which costs time when a guest writes much. */
  readable: (on: boolean) => void;
  dispose: () => void;
}

/** A guest's lines are rarely shorter: a window with fewer columns is scrolled sideways. */
const leastColumns = 80;

/** The console is dark in either scheme of the page: programs choose their colours for that. */
const theme = {
  background: '#0b0e11', foreground: '#e5e9ec', cursor: '#54bcd4', cursorAccent: '#0b0e11', selectionBackground: '#1d4651',
  black: '#20262b', red: '#ff938a', green: '#5fca8c', yellow: '#e2b150', blue: '#8db7f7', magenta: '#c9a2ec', cyan: '#54bcd4', white: '#cfd6db',
  brightBlack: '#8d98a2', brightRed: '#ffb3ad', brightGreen: '#8ee0af', brightYellow: '#f0cb82', brightBlue: '#b3cffa', brightMagenta: '#dcc2f5', brightCyan: '#7dd0e3', brightWhite: '#ffffff',
};

/** openScreen shows a terminal in an element. */
export function openScreen(host: HTMLElement, label: string, l: ScreenListener): Screen {
  const terminal = new Terminal({
    theme, fontFamily: getComputedStyle(host).fontFamily, fontSize: 13, lineHeight: 1.2, scrollback: 5000,
    minimumContrastRatio: 4.5, cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    // A guest's links lead nowhere: what they show need not be where they go.
    linkHandler: {activate: () => undefined},
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(host);
  terminal.textarea?.setAttribute('aria-label', label);
  let replaying = false;
  const encoder = new TextEncoder();
  terminal.onData((text) => {
    if (!replaying) l.onInput(isReply(text) ? text : encoder.encode(text));
  });
  terminal.onBinary((text) => { if (!replaying) l.onInput(Uint8Array.from(text, (c) => c.charCodeAt(0))); });
  terminal.attachCustomKeyEventHandler((e) => keys(e, l));
  const adapt = () => {
    const size = fit.proposeDimensions();
    if (size && size.rows > 1) terminal.resize(Math.max(leastColumns, size.cols), size.rows);
  };
  const watcher = new ResizeObserver(adapt);
  watcher.observe(host);
  adapt();
  return {
    write: (bytes) => terminal.write(bytes),
    replay: (bytes, then) => {
      replaying = true;
      terminal.reset();
      terminal.write(bytes, () => {
        replaying = false;
        then();
      });
    },
    focus: () => terminal.focus(),
    paste: (text) => terminal.paste(text),
    selection: () => terminal.getSelection(),
    text: () => lines(terminal),
    size: () => ({rows: terminal.rows, columns: terminal.cols}),
    readable: (on) => { terminal.options.screenReaderMode = on; },
    dispose: () => {
      watcher.disconnect();
      terminal.dispose();
    },
  };
}

/** keys are those that the page takes; it reports whether the guest gets a key. */
function keys(e: KeyboardEvent, l: ScreenListener): boolean {
  if (e.ctrlKey && e.key === 'F6') {
    if (e.type === 'keydown') l.onLeave();
    e.preventDefault();
    return false;
  }
  if (e.ctrlKey && e.shiftKey && e.code === 'KeyC') {
    if (e.type === 'keydown') l.onCopy();
    e.preventDefault();
    return false;
  }
  return !(e.ctrlKey && e.shiftKey && e.code === 'KeyV'); // the browser pastes
}

function lines(terminal: Terminal): string {
  const buffer = terminal.buffer.active;
  const out: string[] = [];
  for (let i = 0; i < terminal.rows; i++) out.push(buffer.getLine(buffer.viewportY + i)?.translateToString(true) ?? '');
  return out.join('\n').trimEnd() + '\n';
}
