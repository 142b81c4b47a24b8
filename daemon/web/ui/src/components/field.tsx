import type {ComponentChildren} from 'preact';
import {useId} from 'preact/hooks';
import texts from '../texts/components.json';
import {Icon} from './icons';

/** What every field has: its label above, help and error below. */
export interface FieldProps {
  label: string;
  help?: ComponentChildren;
  /** What is wrong with the value and what to do about it. */
  error?: string | undefined;
  /** What should be known of the value, which is taken as it is. An error stands in its place. */
  warning?: string | undefined;
  /** Says beside the label that it may stay empty. */
  optional?: boolean;
  /** Takes both columns of a form. */
  wide?: boolean;
}

/** The attributes that tie a control to its field. */
export interface ControlProps {
  id: string;
  'aria-describedby'?: string;
  'aria-invalid'?: boolean;
}

/** A control with its label. The control is made by children, which spreads what it gets onto the element. */
export function Field({label, help, error, warning, optional, wide, children}: FieldProps & {children: (control: ControlProps) => ComponentChildren}) {
  const id = useId();
  const warned = !error && warning;
  const described = [help && `${id}-help`, error && `${id}-error`, warned && `${id}-warning`].filter(Boolean).join(' ');
  const control: ControlProps = {id, ...(described && {'aria-describedby': described}), ...(error && {'aria-invalid': true})};
  return (
    <div class={wide ? 'field form__wide' : 'field'}>
      <label class="field__label" for={id}>{label}{optional && <> <span class="field__optional">{texts.optional}</span></>}</label>
      {children(control)}
      {help && <div class="field__help" id={`${id}-help`}>{help}</div>}
      {error && <div class="field__error" id={`${id}-error`}><Icon name="alert" />{error}</div>}
      {warned && <div class="field__warning" id={`${id}-warning`}><Icon name="alert" />{warned}</div>}
    </div>
  );
}

/** What a control has for those who look for it: a class of its own, and the field of a document that it shows. */
interface Marks {
  class?: string;
  'data-field'?: string;
}

/** What controls of text have in common with the elements they are made of. */
interface TextAttributes extends Marks {
  value: string | undefined;
  onValue: (value: string) => void;
  name?: string;
  placeholder?: string;
  required?: boolean;
  disabled?: boolean;
  readOnly?: boolean;
  autofocus?: boolean;
  autocomplete?: string;
  maxLength?: number;
  /** Called when the value is settled, not with each key. */
  onChange?: (e: Event) => void;
  onBlur?: (e: FocusEvent) => void;
  onKeyDown?: (e: KeyboardEvent) => void;
  /** Keys, paths and addresses: letters of one width. */
  mono?: boolean;
}

/** What a line of text has beside that. */
interface LineAttributes extends TextAttributes {
  type?: 'text' | 'password' | 'number' | 'search' | 'url' | 'email';
  inputMode?: 'text' | 'numeric' | 'decimal' | 'url' | 'email';
  /** The id of a datalist with suggestions. */
  list?: string;
  min?: number;
  max?: number;
  step?: number;
}

/** split takes the properties of the field out of those of a control. */
function split<T extends FieldProps>({label, help, error, warning, optional, wide, ...rest}: T) {
  return {field: {label, help, error, warning, optional: !!optional, wide: !!wide}, rest};
}

const inputClass = (...more: (string | false | undefined)[]): string => ['input', ...more].filter(Boolean).join(' ');

/** A line of text. */
export function TextField(props: FieldProps & LineAttributes) {
  const {field, rest: {mono, class: more, onValue, type = 'text', autocomplete = 'off', ...rest}} = split(props);
  return (
    <Field {...field}>
      {(control) => <input type={type as 'text'} spellcheck={false} autocomplete={autocomplete as 'off'} {...rest} {...control} class={inputClass(mono && 'input--mono', more)}
        onInput={(e) => onValue(e.currentTarget.value)} />}
    </Field>
  );
}

/** Lines of text. */
export function AreaField(props: FieldProps & TextAttributes & {rows?: number}) {
  const {field, rest: {mono, class: more, onValue, autocomplete = 'off', ...rest}} = split(props);
  return (
    <Field {...field}>
      {(control) => <textarea spellcheck={false} autocomplete={autocomplete as 'off'} {...rest} {...control}
        class={inputClass('input--area', mono && 'input--mono', more)} onInput={(e) => onValue(e.currentTarget.value)} />}
    </Field>
  );
}

/** One of several; children are the options. */
export function SelectField(props: FieldProps & Marks & {value: string | undefined; onValue: (value: string) => void; onBlur?: (e: FocusEvent) => void; name?: string; disabled?: boolean; children: ComponentChildren}) {
  const {field, rest: {onValue, children, class: more, ...rest}} = split(props);
  return (
    <Field {...field}>
      {(control) => <select {...rest} {...control} class={inputClass(more)} onChange={(e) => onValue(e.currentTarget.value)}>{children}</select>}
    </Field>
  );
}

/** What a check box shows. */
export interface CheckProps extends Omit<FieldProps, 'optional' | 'warning'>, Marks {
  checked: boolean;
  onValue: (value: boolean) => void;
  name?: string;
  disabled?: boolean;
}

/** Yes or no. */
export function CheckField({label, help, error, wide, onValue, ...rest}: CheckProps) {
  const id = useId();
  return (
    <div class={wide ? 'field form__wide' : 'field'}>
      <div class="check">
        <input type="checkbox" {...rest} id={id} aria-describedby={help || error ? `${id}-said` : undefined} onChange={(e) => onValue(e.currentTarget.checked)} />
        <div class="check__text">
          <label for={id}>{label}</label>
          {(help || error) && <div id={`${id}-said`}>
            {help && <div class="field__help">{help}</div>}
            {error && <div class="field__error"><Icon name="alert" />{error}</div>}
          </div>}
        </div>
      </div>
    </div>
  );
}
