import type {ComponentChildren, JSX} from 'preact';
import {Icon, type IconName} from './icons';

/** How a button looks: one primary in a view, danger for what cannot be taken back, ghost where many stand together. */
export type ButtonKind = 'primary' | 'secondary' | 'ghost' | 'danger';

/** What a button takes beside the attributes of the element. */
export interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'icon' | 'size'> {
  kind?: ButtonKind;
  small?: boolean;
  icon?: IconName;
  /** The button shows an icon alone; this is what it is called. */
  label?: string;
  /** Its action is under way: it keeps its place and focus, and takes no press. */
  busy?: boolean;
  children?: ComponentChildren;
}

/** The classes of a button, for links that look like one. */
export function buttonClass(kind: ButtonKind = 'secondary', small = false, icon = false): string {
  return ['button', kind !== 'secondary' && `button--${kind}`, small && 'button--small', icon && 'button--icon'].filter(Boolean).join(' ');
}

/** A button that does something here. What leads somewhere is a ButtonLink. */
export function Button({kind, small, icon, label, busy, children, class: more, onClick, ...rest}: ButtonProps) {
  return (
    <button type="button" {...rest} class={`${buttonClass(kind, small, !!label)} ${more ?? ''}`.trim()} aria-busy={busy || undefined}
      aria-disabled={busy || rest['aria-disabled']} aria-label={label} title={rest.title ?? label}
      onClick={busy ? (e) => e.preventDefault() : onClick}>
      {busy ? <span class="spin" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A link that looks like a button. */
export function ButtonLink({kind, small, icon, children, ...rest}: {kind?: ButtonKind; small?: boolean; icon?: IconName; children?: ComponentChildren; href: string} & JSX.IntrinsicElements['a']) {
  return <a {...rest} class={buttonClass(kind, small)}>{icon && <Icon name={icon} />}{children}</a>;
}
