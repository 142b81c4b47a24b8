import {useEffect, useState} from 'preact/hooks';
import {convert} from '../lib/api';
import {copy, download} from '../lib/files';
import {fill} from '../lib/texts';
import type {Diagnostic, Doc, Settings} from '../lib/types';
import texts from '../texts/editor.json';
import {Button} from './button';
import {Dialog} from './dialog';
import {Diagnostics} from './diagnostics';
import Editor from './editor';
import {Notice} from './notice';
import {problemText} from '../lib/problem';

/** The name of a form for people. */
export const formName = (form: string): string => (texts.convert.forms as Record<string, string>)[form] ?? form;

const endings: Record<string, string> = {libvirt: '.xml', butane: '.bu'};

/** named gives a converted document the name of a file: default/web becomes web.yaml. */
function named(d: Doc, to: string): Doc {
  const base = d.name?.split('/').pop() || 'machine';
  return {...d, name: to === 'cloud-init' ? 'user-data' : base + (endings[to] ?? '.yaml')};
}

/** What the dialog converts, and what it does with the result. */
export interface ConvertProps {
  documents: Doc[];
  settings?: Settings | undefined;
  /** One of the targets of /version. */
  to: string;
  /** Takes the result in the place of the documents; undefined where that cannot be, and so is not offered. */
  onUse?: ((documents: Doc[], diagnostics: readonly Diagnostic[]) => void) | undefined;
  onClose: () => void;
}

/** Shows documents in another form, with what gets lost on the way, before anything is replaced. */
export function ConvertDialog({documents, settings, to, onUse, onClose}: ConvertProps) {
  const [result, setResult] = useState<{documents: Doc[]; diagnostics: Diagnostic[]}>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const flight = new AbortController();
    convert({...settings, documents, to}, flight.signal)
      .then((r) => setResult({...r, documents: r.documents.map((d) => named(d, to))}), (e: unknown) => flight.signal.aborted || setError(e));
    return () => flight.abort();
  }, []);
  const text = (result?.documents ?? []).map((d) => d.text).join(to === 'libvirt' ? '\n' : '---\n');
  const actions = text ? <>
    <Button icon="copy" onClick={() => void copy(text)}>{texts.convert.copy}</Button>
    <Button icon="download" onClick={() => result?.documents.forEach((d) => download(d.name ?? 'machine', d.text))}>{texts.convert.download}</Button>
    {onUse && <Button kind="primary" title={texts.convert.useHelp} onClick={() => result && onUse(result.documents, result.diagnostics)}>{texts.convert.use}</Button>}
  </> : undefined;
  return (
    <Dialog wide title={fill(texts.convert.title, {form: formName(to)})} onClose={onClose} actions={actions}>
      {error !== undefined && <Notice kind="bad">{problemText(error)}</Notice>}
      {!result && error === undefined && <p class="muted" role="status">{texts.convert.working}</p>}
      {result && !text && <Notice kind="bad">{texts.convert.empty}</Notice>}
      {text && <Editor value={text} label={texts.convert.editor} />}
      {text && <p class="muted small">{onUse ? texts.convert.useHelp : texts.convert.onlyWritten}</p>}
      {result && <Diagnostics diagnostics={result.diagnostics} />}
    </Dialog>
  );
}
