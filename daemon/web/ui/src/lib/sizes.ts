// Sizes as definitions have them.

const factors: Record<string, number> = {K: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40};

/** parseSize reads a size such as 2Gi in bytes, or nothing when it is none. */
export function parseSize(text: string): number | undefined {
  const m = /^(\d+(?:\.\d+)?)\s*([KMGT]i?)?$/.exec(text.trim());
  return m ? Math.round(Number(m[1]) * (m[2] ? factors[m[2]] ?? 1 : 1)) : undefined;
}

/** writeSize writes bytes with the largest unit that needs no fraction. */
export function writeSize(bytes: number | undefined): string {
  if (!bytes) return '';
  for (const u of ['Ti', 'Gi', 'Mi', 'Ki']) if (bytes % (factors[u] ?? 1) === 0) return bytes / (factors[u] ?? 1) + u;
  return String(bytes);
}
