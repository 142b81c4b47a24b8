import {useId, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {buttonClass, type ButtonKind} from './button';
import {Icon, type IconName} from './icons';

/** One line of a menu: an action, a link, or a line between groups. */
export type MenuItem = 'line' | {
  label: string;
  icon?: IconName;
  danger?: boolean;
  /** Why it cannot be done now. It stays readable, and takes no press. */
  why?: string | undefined;
  onSelect?: () => void;
  href?: string;
};

/** What a menu's button shows. */
export interface MenuProps {
  /** What the button is called; shown when there is no icon. */
  label: string;
  icon?: IconName;
  kind?: ButtonKind;
  small?: boolean;
  /** Made when the menu opens. */
  items: () => MenuItem[];
}

/** A button that opens a menu: arrows, Home, End and letters move, Escape closes (WAI-ARIA APG, menu button). */
export function Menu({label, icon, kind = 'secondary', small = false, items}: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const [shown, show] = useState<MenuItem[] | undefined>();
  const open = () => show(items());
  useLayoutEffect(() => {
    if (!shown || !menu.current || !button.current) return;
    menu.current.showPopover();
    place(menu.current, button.current);
    step(menu.current, 'Home');
  }, [shown]);
  const close = () => menu.current?.hidePopover();
  const toggled = (e: {newState: string}) => {
    if (e.newState !== 'closed') return;
    const within = menu.current?.contains(document.activeElement);
    show(undefined);
    if (within) button.current?.focus();
  };
  const keys = (e: KeyboardEvent) => {
    if (e.key === 'Tab') close();
    else if (menu.current && step(menu.current, e.key)) e.preventDefault();
  };
  return <>
    <button ref={button} id={id} type="button" class={buttonClass(kind, small, !!icon)} aria-haspopup="menu" aria-expanded={!!shown} title={icon && label}
      onClick={() => (shown ? close() : open())}
      onKeyDown={(e) => { if (e.key === 'ArrowDown' && !shown) { e.preventDefault(); open(); } }}>
      {icon ? <Icon name={icon} label={label} /> : <>{label}<Icon name="down" /></>}
    </button>
    {shown && <div ref={menu} class="menu" popover="auto" role="menu" aria-labelledby={id} onToggle={toggled} onKeyDown={keys}>
      {shown.map((item, i) => <Line key={i} item={item} close={close} />)}
    </div>}
  </>;
}

function Line({item, close}: {item: MenuItem; close: () => void}) {
  if (item === 'line') return <div class="menu__line" role="separator" />;
  const inside = <>{item.icon && <Icon name={item.icon} />}<span>{item.label}{item.why && <span class="menu__why">{item.why}</span>}</span></>;
  const about = {role: 'menuitem', tabIndex: -1, class: item.danger ? 'menu__item menu__item--danger' : 'menu__item'} as const;
  if (item.href !== undefined && !item.why) return <a {...about} href={item.href} onClick={close}>{inside}</a>;
  return <button {...about} type="button" aria-disabled={!!item.why} onClick={() => { if (!item.why) { close(); item.onSelect?.(); } }}>{inside}</button>;
}

/** place puts a menu below its button, above it where there is no room, and always within the window. */
function place(menu: HTMLElement, button: HTMLElement): void {
  const b = button.getBoundingClientRect();
  const m = menu.getBoundingClientRect();
  const top = b.bottom + 4 + m.height <= innerHeight - 8 ? b.bottom + 4 : Math.max(8, b.top - 4 - m.height);
  const left = Math.min(Math.max(8, b.left + m.width <= innerWidth - 8 ? b.left : b.right - m.width), Math.max(8, innerWidth - 8 - m.width));
  menu.style.top = `${top}px`;
  menu.style.left = `${left}px`;
}

/** step moves the focus in a menu as a key says, and reports whether the key meant that. */
function step(menu: HTMLElement, key: string): boolean {
  const all = [...menu.querySelectorAll<HTMLElement>('[role="menuitem"]')];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const to: Record<string, number> = {ArrowDown: at + 1, ArrowUp: (at < 0 ? 0 : at) - 1 + all.length, Home: 0, End: all.length - 1};
  let next = key in to ? all[(to[key] ?? 0) % all.length] : undefined;
  if (!next && key.length === 1 && key !== ' ') {
    next = [...all.slice(at + 1), ...all.slice(0, at + 1)].find((x) => x.textContent?.trim().toLowerCase().startsWith(key.toLowerCase()));
  }
  next?.focus({preventScroll: false});
  return !!next;
}
