// The controls of the form, each bound to a field of the definition. What is typed stays as it is typed while it means what the definition
// says; when the definition changes otherwise, the control shows that.
import {createContext, type ComponentChildren} from 'preact';
import {useContext, useRef, useState} from 'preact/hooks';
import type {TypedAddress} from '../../lib/nics';
import type {Tree, View} from '../../lib/tree';
import {lines, texts as textsAt, words} from '../../lib/initial';
import {AreaField, CheckField, SelectField, TextField} from '../field';

/** What the parts of the form share. */
export interface Form {
  /** What the definition says now. */
  tree: View;
  /** Changes the definition. */
  change: (change: (tree: Tree) => void) => void;
  /** What is wrong with a field, or with what is in it, once the user has left it or asked for more. */
  error: (path: string) => string | undefined;
  /** What should be known of a field's value, once the user has left it or asked for more. */
  warning: (path: string) => string | undefined;
  /** Notes that the user has left a field. */
  touch: (path: string) => void;
  /** Takes an item out of a list. What is known of those behind it stays with them. */
  remove: (list: string, at: number) => void;
  /** What was typed as an address and is none yet, by the path of its control. */
  typed: (path: string) => TypedAddress | undefined;
  /** Changes the definition and what was typed at the same time. */
  type: (path: string, change: (tree: Tree) => TypedAddress | undefined) => void;
  /** Says of a control why what it shows cannot be said in the definition yet, or that it can. */
  hold: (path: string, why: string | undefined) => void;
  /** The number of the disk that is the CD of the form, or -1, and what attaches one in its place or takes it away. */
  disc: number;
  attach: (path: string | undefined) => void;
}

const context = createContext<Form | null>(null);

/** Gives the form to the parts in it. */
export const FormProvider = context.Provider;

/** useForm is the form around a part. */
export function useForm(): Form {
  const form = useContext(context);
  if (!form) throw new Error('no form');
  return form;
}

/** What every bound control takes. */
export interface Bound {
  /** The field, such as spec.users[0].name. */
  path: string;
  label: string;
  help?: ComponentChildren;
  optional?: boolean;
  wide?: boolean;
}

/** useItems tells the items of a list apart, so that what their controls hold back goes with the one that is taken out and with no other. */
export function useItems(list: string): {ids: readonly number[]; remove: (at: number) => void} {
  const form = useForm();
  const known = useRef<number[]>([]);
  const last = useRef(0);
  const count = form.tree.count(list);
  while (known.current.length < count) known.current.push(last.current++);
  known.current.length = count;
  const remove = (at: number) => {
    known.current.splice(at, 1);
    form.remove(list, at);
  };
  return {ids: known.current, remove};
}

/** useTyped keeps what a user types as long as it means the value. */
export function useTyped(value: string, meaning: (typed: string) => string): [string, (typed: string) => void] {
  const [typed, setTyped] = useState(value);
  return [meaning(typed) === value ? typed : value, setTyped];
}

/** What a line of text takes beside that. */
export interface LineProps extends Bound {
  mono?: boolean;
  placeholder?: string;
  maxLength?: number;
  list?: string;
  disabled?: boolean;
  required?: boolean;
  inputMode?: 'numeric' | 'text' | 'url';
  /** What is shown; without it the text of the field. */
  value?: string;
  /** Takes the text; without it the field gets it. */
  onText?: (text: string) => void;
  /** The field is a number. */
  number?: boolean;
}

/** A line of text of the definition. */
export function Line({path, value, onText, number, required, ...rest}: LineProps) {
  const form = useForm();
  const [typed, setTyped] = useTyped(value ?? form.tree.text(path), (t) => t.trim());
  const put = (text: string) => {
    setTyped(text);
    const trimmed = text.trim();
    if (onText) onText(trimmed);
    else form.change((t) => t.set(path, number && /^\d+$/.test(trimmed) ? Number(trimmed) : trimmed));
  };
  return <TextField {...rest} value={typed} onValue={put} onBlur={() => form.touch(path)} error={form.error(path)} warning={form.warning(path)} data-field={path} aria-required={required}
    {...(number ? {inputMode: 'numeric' as const} : {})} />;
}

/** What lines of text take. */
export interface BlockProps extends Bound {
  rows?: number;
  placeholder?: string;
  mono?: boolean;
}

/** A text of several lines. */
export function Block({path, ...rest}: BlockProps) {
  const form = useForm();
  return <AreaField {...rest} value={form.tree.text(path)} onValue={(text) => form.change((t) => t.set(path, text))} onBlur={() => form.touch(path)}
    error={form.error(path)} data-field={path} />;
}

/** A list of texts: each on a line of its own, or with white space between them. */
export function TextList({path, by, onTexts, disabled, ...rest}: BlockProps & {by: 'lines' | 'words'; disabled?: boolean; onTexts?: (texts: string[]) => void}) {
  const form = useForm();
  const items = by === 'lines' ? lines : words;
  const between = by === 'lines' ? '\n' : ' ';
  const meaning = (text: string) => items(text).join(between);
  const [typed, setTyped] = useTyped(textsAt(form.tree, path).join(between), meaning);
  const put = (text: string) => {
    setTyped(text);
    if (onTexts) onTexts(items(text));
    else form.change((t) => t.set(path, items(text)));
  };
  const props = {...rest, value: typed, onValue: put, onBlur: () => form.touch(path), error: form.error(path), 'data-field': path, disabled: !!disabled};
  return by === 'lines' ? <AreaField {...props} /> : <TextField {...props} />;
}

/** Yes or no. A field that says nothing means the given one, and is taken away when it is chosen. */
export function Check({path, without = false, ...rest}: Bound & {without?: boolean}) {
  const form = useForm();
  const value = form.tree.get(path);
  return <CheckField {...rest} checked={typeof value === 'boolean' ? value : without} data-field={path} error={form.error(path)}
    onValue={(on) => form.change((t) => t.set(path, on === without ? undefined : on))} />;
}

/** One of several words; the first one may be none. A word that is not among them is shown as it is. */
export function Choice({path, options, onChoose, value, ...rest}: Bound & {options: [value: string, label: string][]; value?: string; onChoose?: (value: string) => void}) {
  const form = useForm();
  const now = value ?? form.tree.text(path);
  const all = options.some(([v]) => v === now) ? options : [...options, [now, now] as [string, string]];
  const put = (v: string) => {
    if (onChoose) onChoose(v);
    else form.change((t) => t.set(path, v));
    form.touch(path);
  };
  return <SelectField {...rest} value={now} onValue={put} error={form.error(path)} data-field={path}>
    {all.map(([v, label]) => <option key={v} value={v}>{label}</option>)}
  </SelectField>;
}

/** A part of the form that can be folded away, with a word about what is in it. The way to a field unfolds it. */
export function Fold({title, hint, open, name, children}: {title: string; hint?: ComponentChildren; open?: boolean; name: string; children: ComponentChildren}) {
  return (
    <details class="fold" open={open} data-fold={name}>
      <summary>{title}{hint && <span class="fold__hint cut">{hint}</span>}</summary>
      <div class="fold__body stack">{children}</div>
    </details>
  );
}
