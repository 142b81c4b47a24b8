// The serial log of a guest as lines of text. A guest may write anything: what steers terminals is dropped, what is left is text and nothing else.

/** The longest line that is kept; what a guest writes beyond it begins another. */
const maxLine = 2000;
/** How many lines are kept: beyond them the oldest go. */
const maxLines = 50_000;

/** A log that grows. Its last line may not be at its end yet. */
export class SerialLog {
  /** The lines, oldest first. */
  lines: string[] = [];
  /** How many lines are gone from the beginning. */
  dropped = 0;
  private line = '';
  private column = 0;
  private state: 'text' | 'escape' | 'sequence' | 'string' | 'stringEscape' | 'charset' = 'text';
  private readonly decoder = new TextDecoder('utf-8');

  /** write takes the next piece, which may end anywhere. */
  write(bytes: Uint8Array): void {
    for (const c of this.decoder.decode(bytes, {stream: true})) this.take(c);
    const excess = this.lines.length - maxLines;
    if (excess > 0) {
      this.lines.splice(0, excess);
      this.dropped += excess;
    }
  }

  /** all returns the lines, with the one that has no end yet. */
  all(): string[] {
    return this.line === '' ? this.lines : [...this.lines, this.line];
  }

  private take(c: string): void {
    switch (this.state) {
      case 'text':
        return this.text(c);
      case 'escape': // ECMA-48: CSI, then the control strings, then what takes one more character
        this.state = c === '[' ? 'sequence' : 'P]X^_'.includes(c) ? 'string' : '()*+-./#% '.includes(c) ? 'charset' : 'text';
        return;
      case 'sequence':
        if (c >= '@' && c <= '~') this.state = 'text';
        else if (c < ' ') this.restart(c);
        return;
      case 'string':
        if (c === '\x07' || c === '\x9c') this.state = 'text';
        else if (c === '\x1b') this.state = 'stringEscape';
        else if (c === '\n') this.restart(c); // a string that never ends must not hide the rest of the log
        return;
      case 'stringEscape':
        this.state = 'text';
        if (c !== '\\') this.take('\x1b'), this.take(c);
        return;
      case 'charset':
        this.state = 'text';
    }
  }

  /** restart ends a sequence that was cut off. */
  private restart(c: string): void {
    this.state = 'text';
    this.text(c);
  }

  private text(c: string): void {
    if (c >= ' ' && c <= '~') return this.put(c);
    switch (c) {
      case '\n':
        this.end();
        return;
      case '\r':
        this.column = 0;
        return;
      case '\b':
        this.column = Math.max(0, this.column - 1);
        return;
      case '\t':
        do this.put(' ');
        while (this.column % 8 !== 0);
        return;
      case '\x1b':
        this.state = 'escape';
        return;
      case '\x9b':
        this.state = 'sequence';
        return;
      case '\x90': case '\x9d': case '\x98': case '\x9e': case '\x9f':
        this.state = 'string';
        return;
    }
    if (unprintable.test(c)) return;
    this.put(c);
  }

  private put(c: string): void {
    if (this.column >= maxLine) this.end();
    this.line = this.column >= this.line.length ? this.line + c : this.line.slice(0, this.column) + c + this.line.slice(this.column + 1);
    this.column += c.length;
  }

  private end(): void {
    this.lines.push(this.line.trimEnd());
    this.line = '';
    this.column = 0;
  }
}

/** Controls, and the marks that turn the direction of text around or have no width: what a reader sees must be what is there. */
const unprintable = /[\p{Cc}\p{Cs}\p{Co}\p{Cn}\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;

/** join puts what came live behind what was written before: the end of the one may be the beginning of the other. */
export function join(past: Uint8Array, live: Uint8Array): Uint8Array {
  const most = Math.min(past.length, live.length);
  let common = most;
  while (common > 0 && !endsWith(past, live, common)) common--;
  const out = new Uint8Array(past.length + live.length - common);
  out.set(past);
  out.set(live.subarray(common), past.length);
  return out;
}

function endsWith(past: Uint8Array, live: Uint8Array, n: number): boolean {
  for (let i = 0; i < n; i++) if (past[past.length - n + i] !== live[i]) return false;
  return true;
}

/** find returns the indexes of the lines that hold a text, in any case of its letters. */
export function find(lines: string[], text: string): number[] {
  const wanted = text.toLowerCase();
  if (wanted === '') return [];
  return lines.flatMap((l, i) => (l.toLowerCase().includes(wanted) ? [i] : []));
}

/**
 * isReply tells what the terminal answers by itself, when the guest asks for its kind, its state or the cursor's place (xterm's control sequences: DA,
 * DSR, DECRPM, OSC and DCS reports), from what somebody types. F3 with Shift looks like the cursor's place.
 */
export const isReply = (text: string): boolean => /^\x1b(?:\[[?>]?[\d;]*(?:[cnR]|\$y)|\]\d|P)/.test(text);
