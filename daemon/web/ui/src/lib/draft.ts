// Unsaved work that survives a reload. It may hold passwords, so the browser keeps it encrypted, with a key that the server derives for the user
// and writes into the page: who has the browser's storage alone cannot read it, nor can another user.

const prefix = 'vmseed.draft.';

/** A place for the unsaved work of one page. */
export interface Draft<T> {
  /** The work that was left, or null when there is none that this session can read. */
  load(): Promise<{value: T; saved: Date} | null>;
  /** Keeps the work; only the last of several calls counts. */
  save(value: T): Promise<void>;
  drop(): void;
}

interface Storage { getItem(key: string): string | null; setItem(key: string, value: string): void; removeItem(key: string): void }

/**
 * draft opens the place of a name, such as edit:ID. The key is 32 bytes in base64. Without the means to encrypt, which browsers withhold from
 * pages by plain HTTP of other hosts, nothing is kept: null.
 */
export function draft<T>(name: string, key: string, storage: Storage | undefined = globalThis.sessionStorage): Draft<T> | null {
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  if (!subtle || !storage || !key) return null;
  const place = prefix + name;
  const imported = subtle.importKey('raw', bytes(key), 'AES-GCM', false, ['encrypt', 'decrypt']);
  let turn = 0;
  return {
    async load() {
      const text = storage.getItem(place);
      if (!text) return null;
      try {
        const raw = bytes(text);
        const clear = await subtle.decrypt({name: 'AES-GCM', iv: raw.slice(0, 12), additionalData: utf8(place)}, await imported, raw.slice(12));
        const kept = JSON.parse(new TextDecoder().decode(clear)) as {saved: number; value: T};
        return {value: kept.value, saved: new Date(kept.saved)};
      } catch {
        storage.removeItem(place); // of another user, or from before another password
        return null;
      }
    },
    async save(value) {
      const mine = ++turn;
      const iv = crypto.getRandomValues(new Uint8Array(12));
      const clear = utf8(JSON.stringify({saved: Date.now(), value}));
      try {
        const sealed = new Uint8Array(await subtle.encrypt({name: 'AES-GCM', iv, additionalData: utf8(place)}, await imported, clear));
        if (mine === turn) storage.setItem(place, base64(iv, sealed));
      } catch { /* The storage is full or closed: the page works without it. */ }
    },
    drop() {
      turn++;
      storage.removeItem(place);
    },
  };
}

const utf8 = (text: string) => new TextEncoder().encode(text);

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
}

function base64(...parts: Uint8Array[]): string {
  let out = '';
  for (const part of parts) {
    for (let i = 0; i < part.length; i += 0x8000) out += String.fromCharCode(...part.subarray(i, i + 0x8000));
  }
  return btoa(out);
}
