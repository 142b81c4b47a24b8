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
export function Button({kind, small, icon, label, busy, children, class: more, onClick, 'aria-label': about, ...rest}: ButtonProps) {
  const off = busy || rest['aria-disabled'] === true; // it stays where the keyboard finds it
  return (
    <button type="button" {...rest} class={`${buttonClass(kind, small, !!label)} ${more ?? ''}`.trim()} aria-busy={busy || undefined}
      aria-disabled={off || undefined} aria-label={label ?? about} title={rest.title ?? label} onClick={off ? (e) => e.preventDefault() : onClick}>
      {busy ? <span class="spin" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** What a link that looks like a button takes. */
export type ButtonLinkProps = Pick<ButtonProps, 'kind' | 'small' | 'icon' | 'label' | 'children'> & {href: string; target?: string; download?: string; onClick?: (e: MouseEvent) => void; /** What it is called, where its words alone say too little. */ about?: string};

/** A link that looks like a button. */
export function ButtonLink({kind, small, icon, label, about, children, ...rest}: ButtonLinkProps) {
  return <a {...rest} class={buttonClass(kind, small, !!label)} aria-label={label ?? about} title={label ?? about}>{icon && <Icon name={icon} />}{children}</a>;
}
