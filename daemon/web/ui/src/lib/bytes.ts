// Bytes that are no text, for people.

/** bytesOf decodes base64. */
export function bytesOf(base64: string): Uint8Array {
  const raw = atob(base64);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

/** hexDump shows bytes as offset, hexadecimal numbers and printable characters, sixteen to a line. What is beyond the limit is left out. */
export function hexDump(bytes: Uint8Array, limit = 4096): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, limit); at += 16) {
    const row = [...bytes.subarray(at, Math.min(at + 16, limit))];
    const hex = row.map((b) => b.toString(16).padStart(2, '0')).join(' ').padEnd(47);
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex}  ${row.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : '.')).join('')}`);
  }
  return lines.join('\n');
}

/** textOf decodes UTF-8, or UTF-16 with a byte order mark as Windows writes it; nothing for bytes that are no text. */
export function textOf(bytes: Uint8Array): string | undefined {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8';
  try {
    const text = new TextDecoder(encoding, {fatal: true}).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
