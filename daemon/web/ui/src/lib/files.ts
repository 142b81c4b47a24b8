// Files that people drop, pick and take home.
import texts from '../texts/components.json';
import {textOf} from './bytes';
import {toast} from './shout';

/** The largest document that the daemon reads, in bytes. */
const maxDocument = 4 << 20;

/** A file that was read, or why it was not. */
export type Read = {name: string; text: string} | {name: string; refused: 'binary' | 'large'};

/** readFiles reads dropped or picked files as texts, in their order. */
export async function readFiles(files: Iterable<File>): Promise<Read[]> {
  return Promise.all([...files].map(async (file): Promise<Read> => {
    if (file.size > maxDocument) return {name: file.name, refused: 'large'};
    const text = textOf(new Uint8Array(await file.arrayBuffer()));
    return text === undefined ? {name: file.name, refused: 'binary'} : {name: file.name, text};
  }));
}

/** download gives a text to the user as a file. */
export function download(name: string, content: string | Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([content], {type: 'application/octet-stream'}));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.split('/').pop() || 'document';
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** copy puts a text onto the clipboard, and says whether the browser let it; it does so on pages that are secure or of this host alone. */
export async function copy(text: string, done = texts.copied): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast({kind: 'ok', title: done});
  } catch {
    toast({kind: 'warn', title: texts.notCopied});
  }
}
