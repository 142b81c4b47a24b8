import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {Echo} from '../lib/echo';
import {languageOf, type Language} from '../lib/language';
import type {Diagnostic} from '../lib/types';
import texts from '../texts/editor.json';
import type {View} from './codemirror';

/** A wish to be shown the place of a remark; a new turn repeats the wish. */
export interface Place { diagnostic: Diagnostic; turn: number }

/** What an editor shows, and how it says what the user made of it. */
export interface EditorProps {
  value: string;
  /** Called with the whole text after each change by the user; without it the text can only be read. */
  onChange?: ((text: string) => void) | undefined;
  /** What screen readers call it. */
  label: string;
  /** Without it the content tells. */
  language?: Language | undefined;
  /** Remarks about this text; their ranges place them. */
  diagnostics?: readonly Diagnostic[] | undefined;
  /** The text that this one is compared with: the differences are shown in the lines. */
  original?: string | undefined;
  /** What an empty editor says. */
  placeholder?: string | undefined;
  /** What to show and to take the focus for. */
  at?: Place | undefined;
  /** Takes the height of its box instead of one of its own. */
  fill?: boolean;
}

/** The text editor of the page. Until its library is there, and if that never comes, it is a plain field that does the same. */
export default function Editor(props: EditorProps) {
  const {value, label, at, original, placeholder, fill} = props;
  const diagnostics = props.diagnostics ?? none;
  const language = props.language ?? languageOf(value);
  const writable = Boolean(props.onChange);
  const host = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const view = useRef<View | undefined>(undefined);
  const echo = useRef(new Echo());
  const latest = useRef(props);
  latest.current = props;
  const [ready, setReady] = useState(false);

  const typed = (text: string) => {
    echo.current.say(text);
    latest.current.onChange?.(text);
  };
  useEffect(() => {
    let gone = false;
    import('./codemirror').then((m) => {
      if (gone || !host.current) return;
      const focused = field.current !== null && document.activeElement === field.current;
      const now = latest.current;
      view.current = m.open(host.current, {text: now.value, language: now.language ?? languageOf(now.value), label, placeholder, original: now.original,
        onChange: writable ? typed : undefined});
      setReady(true);
      if (focused) view.current.focus(field.current?.selectionStart ?? 0);
    }, () => undefined);
    return () => {
      gone = true;
      view.current?.destroy();
      view.current = undefined;
      setReady(false);
    };
  }, [writable]);
  useEffect(() => view.current?.call(label, placeholder), [ready, label, placeholder]);
  useLayoutEffect(() => view.current?.set(echo.current.hears(value) ? undefined : value, language), [ready, value, language]);
  useLayoutEffect(() => view.current?.compare(original), [ready, original]);
  useEffect(() => view.current?.diagnose(diagnostics), [ready, diagnostics]);
  useEffect(() => {
    if (at && ready) view.current?.reveal(at.diagnostic);
  }, [ready, at?.turn]);

  return (
    <div class={fill ? 'editor editor--fill' : 'editor'} data-ready={ready}>
      <div class="editor__host" ref={host} />
      {!ready && <textarea ref={field} class="editor__field" aria-label={label} value={value} readOnly={!writable} spellcheck={false} autocomplete="off"
        placeholder={placeholder} title={writable ? texts.loading : undefined} onInput={(e) => latest.current.onChange?.(e.currentTarget.value)} />}
    </div>
  );
}

const none: Diagnostic[] = [];
