import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';
import path from 'node:path';
import {test} from 'node:test';

type Colours = Map<string, string>;

/** The colours of a scheme: those of the first block, and for dark what the second one says instead. */
async function schemes(): Promise<{light: Colours; dark: Colours}> {
  const css = await readFile(path.join(process.cwd(), 'src/styles/tokens.css'), 'utf8');
  const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)');
  const read = (text: string): Colours => new Map([...text.matchAll(/--(c-[\w-]+):\s*(#[0-9a-f]{6})/g)].map((m) => [m[1] ?? '', m[2] ?? '']));
  return {light: read(light), dark: new Map([...read(light), ...read(dark.split('@media')[0] ?? '')])};
}

/** The relative luminance and the contrast of colours (WCAG 2.2, definitions). */
function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

const grounds = ['c-bg', 'c-surface', 'c-sunken', 'c-raised', 'c-hover'];
const code = ['c-code-key', 'c-code-string', 'c-code-number', 'c-code-keyword', 'c-code-comment'];

/** Pairs of words and grounds that the styles put together: 4.5 for words. */
const words: [string, string][] = [
  ...['c-text', 'c-muted', 'c-accent', 'c-accent-strong', 'c-ok', 'c-warn', 'c-bad', 'c-busy', 'c-idle'].flatMap((c) => grounds.map((g) => [c, g] as [string, string])),
  ...['ok', 'warn', 'bad', 'busy', 'idle'].map((c) => [`c-${c}`, `c-${c}-soft`] as [string, string]),
  ['c-text', 'c-accent-soft'], ['c-muted', 'c-accent-soft'], ['c-accent-strong', 'c-accent-soft'], ['c-muted', 'c-idle-soft'],
  ['c-text', 'c-selection'], ['c-text', 'c-added-soft'], ['c-text', 'c-removed-soft'],
  ['c-on-accent', 'c-accent'], ['c-on-accent', 'c-accent-strong'], ['c-on-bad', 'c-bad'], ['c-on-bad', 'c-bad-strong'],
  ...code.flatMap((c) => ['c-surface', 'c-sunken', 'c-added-soft', 'c-removed-soft'].map((g) => [c, g] as [string, string])),
];

/** What must be seen, but is no text: 3. */
const shapes: [string, string][] = [['c-control', 'c-surface'], ['c-control', 'c-bg'], ['c-accent', 'c-bg'], ['c-busy', 'c-idle-soft']];

for (const name of ['light', 'dark'] as const) {
  test(`the ${name} scheme holds the contrast of WCAG AA`, async () => {
    const colours = (await schemes())[name];
    for (const [pairs, least] of [[words, 4.5], [shapes, 3]] as const) {
      for (const [a, b] of pairs) {
        const [x, y] = [colours.get(a), colours.get(b)];
        assert.ok(x && y, `${a} or ${b} is no colour of tokens.css`);
        assert.ok(contrast(x, y) >= least, `${a} on ${b} has ${contrast(x, y).toFixed(2)}, less than ${least}`);
      }
    }
  });
}
