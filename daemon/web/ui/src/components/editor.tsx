import type {Diagnostic} from '../lib/types';

/** What an editor shows, and how it says what the user made of it. */
export interface EditorProps {
  value: string;
  /** Called with the whole text after each change by the user; without it the text can only be read. */
  onChange?: (text: string) => void;
  /** What screen readers call it. */
  label: string;
  /** Without it the content tells. */
  language?: 'yaml' | 'json' | 'xml' | 'shell' | 'text';
  /** Remarks about this text; their ranges place them. */
  diagnostics?: Diagnostic[];
}

/** The text editor of the page, loaded when there is something to edit. */
export default function Editor({value, onChange, label}: EditorProps) {
  return <textarea class="editor" aria-label={label} value={value} readOnly={!onChange} onInput={(e) => onChange?.(e.currentTarget.value)} />;
}
