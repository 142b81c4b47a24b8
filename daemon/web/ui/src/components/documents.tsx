import Editor from './editor';
import type {Diagnostic, Doc, Settings} from '../lib/types';

/** What the documents' editor needs of its page. */
export interface DocumentsProps {
  value: Doc[];
  /** Called with all documents after each change by the user; without it they can only be read. */
  onChange?: (documents: Doc[]) => void;
  /** What the last rendering said; range.file is a document's name. */
  diagnostics?: Diagnostic[];
  /** They go along when documents are converted. */
  settings?: Settings;
}

/** Several named documents: edited, added by typing, pasting, dropping or picking files, removed, and converted to other forms. */
export default function Documents({value, onChange}: DocumentsProps) {
  return <>{value.map((d, i) => (
    <Editor key={i} value={d.text} label={d.name ?? ''} {...(onChange ? {onChange: (text: string) => onChange(value.map((x, k) => (k === i ? {...x, text} : x)))} : {})} />
  ))}</>;
}
