// Hooks outside of a page: drawn by Preact, in a component that draws nothing, so that there is no document to have.
import {h, render} from 'preact';
import {act} from 'preact/test-utils';

/** What a hook gives, and what a page would do with it. */
export interface Hook<R> {
  now: () => R;
  /** Does something, and waits until the hook has drawn and done what follows from it. */
  does: (what: (now: R) => unknown) => Promise<void>;
  end: () => Promise<void>;
}

/** How often what follows may have something following it in turn: an answer that leads to the next question. */
const rounds = 8;

/** hook calls a hook as a page does. */
export async function hook<R>(use: () => R): Promise<Hook<R>> {
  const root = {nodeType: 1, childNodes: [], firstChild: null} as unknown as Element;
  let now!: R;
  const Part = () => {
    now = use();
    return null;
  };
  const settle = () => new Promise<void>((done) => setImmediate(done));
  const does = async (what: () => unknown) => {
    await act(async () => void await what());
    for (let i = 0; i < rounds; i++) await act(settle);
  };
  await does(() => render(h(Part, {}), root));
  return {now: () => now, does: (what) => does(() => what(now)), end: () => does(() => render(null, root))};
}

/** memory is a storage such as a browser's, and what is in it. */
export function memory() {
  const map = new Map<string, string>();
  return {map, getItem: (k: string) => map.get(k) ?? null, setItem: (k: string, v: string) => void map.set(k, v), removeItem: (k: string) => void map.delete(k)};
}

/** globals puts values into the place of global ones, and returns what takes them away again. */
export function globals(values: Record<string, unknown>): () => void {
  const before = Object.keys(values).map((k) => [k, Object.getOwnPropertyDescriptor(globalThis, k)] as const);
  for (const [k, value] of Object.entries(values)) Object.defineProperty(globalThis, k, {value, configurable: true, writable: true});
  return () => {
    for (const [k, d] of before) {
      if (d) Object.defineProperty(globalThis, k, d);
      else Reflect.deleteProperty(globalThis, k);
    }
  };
}
