// What stands encoded in the files of a guest, so that people can read it beside: contents in base64, as cloud-init takes them, and data URLs,
// as Ignition does.
import {bytesOf, textOf} from './bytes';

/** A text that stands encoded. */
export interface Decoded {
  /** Where the encoded text begins and ends. */
  from: number;
  to: number;
  text: string;
  /** It is the value of a line of its own, so the text may stand below. */
  alone: boolean;
}

/** The longest text that is looked through, in UTF-16 units. */
const limit = 1 << 18;

/** decodedIn finds what stands encoded in a text. What is no text when it is decoded, or empty, is left out. */
export function decodedIn(text: string): Decoded[] {
  if (text.length > limit) return [];
  return [...contents(text), ...urls(text)].filter((d) => d.text !== '').sort((a, b) => a.to - b.to);
}

/** contents finds the base64 of files whose mapping says so: content and encoding are lines with the same indent. */
function contents(text: string): Decoded[] {
  const out: Decoded[] = [];
  const lines = text.split('\n');
  let offset = 0;
  lines.forEach((line, i) => {
    const end = offset + line.trimEnd().length;
    offset += line.length + 1;
    const m = /^([ ]*(?:- )?)content: ?(["']?)([A-Za-z0-9+/]+={0,2})\2\s*$/.exec(line);
    if (!m || !says(lines, i, m[1]!.length)) return;
    const decoded = base64(m[3]!);
    if (decoded !== undefined) out.push({from: end - m[3]!.length - m[2]!.length, to: end, text: decoded, alone: true});
  });
  return out;
}

/** says reports whether a mapping whose line is given has encoding: b64 or base64. */
function says(lines: readonly string[], at: number, indent: number): boolean {
  const own = (l: string) => {
    const m = /^([ ]*(?:- )?)/.exec(l)!;
    return m[1]!.length;
  };
  const marks = (l: string) => own(l) === indent && /^\s*(?:- )?encoding: ["']?(b64|base64)["']?\s*$/.test(l);
  for (let i = at; i >= 0 && own(lines[i]!) >= indent; i--) {
    if (marks(lines[i]!)) return true;
    if (/^\s*- /.test(lines[i]!) && own(lines[i]!) === indent) break;
  }
  for (let i = at + 1; i < lines.length && own(lines[i]!) >= indent && !(/^\s*- /.test(lines[i]!) && own(lines[i]!) === indent); i++) {
    if (marks(lines[i]!)) return true;
  }
  return false;
}

/** urls finds data URLs in quotes. */
function urls(text: string): Decoded[] {
  const out: Decoded[] = [];
  for (const m of text.matchAll(/"data:([^",]*),([^"]*)"/g)) {
    const decoded = /;base64$/.test(m[1]!) ? base64(m[2]!.replace(/%2B/gi, '+').replace(/%2F/gi, '/').replace(/%3D/gi, '=')) : percent(m[2]!);
    if (decoded === undefined) continue;
    const [from, to] = [m.index, m.index + m[0].length];
    const alone = /\n *"source": $/.test(text.slice(Math.max(0, from - 200), from)) && /^,?(\n|$)/.test(text.slice(to, to + 2));
    out.push({from, to, text: alone ? indented(decoded) : decoded, alone});
  }
  return out;
}

/** indented sets a JSON text apart that its writer has put onto one line; anything else stays as it is. */
export function indented(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2) + '\n';
  } catch {
    return text;
  }
}

function base64(text: string): string | undefined {
  try {
    return textOf(bytesOf(text));
  } catch {
    return undefined;
  }
}

function percent(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text);
    return decoded.includes('\0') ? undefined : decoded;
  } catch {
    return undefined;
  }
}
