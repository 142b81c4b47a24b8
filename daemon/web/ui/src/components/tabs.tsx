import type {ComponentChildren} from 'preact';
import {useEffect, useId, useRef, useState} from 'preact/hooks';

/** A tab and its word. */
export interface Tab {
  id: string;
  label: ComponentChildren;
}

/** What tabs show. */
export interface TabsProps {
  /** What they are tabs of, for screen readers. */
  label: string;
  tabs: Tab[];
  active: string;
  onChange: (id: string) => void;
  /** The content of the active tab. */
  children: ComponentChildren;
}

/** useCut tells at which ends of a list there is more than its width shows. */
function useCut(list: {current: HTMLElement | null}, items: string): {before: boolean; after: boolean} {
  const [cut, set] = useState({before: false, after: false});
  useEffect(() => {
    const e = list.current;
    if (!e) return undefined;
    const look = () => {
      const [before, after] = [e.scrollLeft > 1, e.scrollLeft + e.clientWidth < e.scrollWidth - 1];
      set((c) => (c.before === before && c.after === after ? c : {before, after}));
    };
    const sizes = new ResizeObserver(look);
    for (const x of [e, ...e.children]) sizes.observe(x);
    e.addEventListener('scroll', look, {passive: true});
    return () => {
      sizes.disconnect();
      e.removeEventListener('scroll', look);
    };
  }, [items]);
  return cut;
}

/** The width of the arrows, in pixels. */
const arrow = 48;

/** show scrolls a list so far that one of its tabs is seen, and nothing else of the page. */
function show(list: HTMLElement, tab: HTMLElement): void {
  const [from, to] = [tab.offsetLeft, tab.offsetLeft + tab.offsetWidth];
  if (from < list.scrollLeft) list.scrollLeft = from - arrow;
  else if (to > list.scrollLeft + list.clientWidth) list.scrollLeft = to - list.clientWidth + arrow;
}

/** Tabs with their panel: arrows, Home and End move between them (WAI-ARIA APG, tabs with automatic activation). Where there is no room for all of them
 * their list is scrolled, and an arrow at its end says so. */
export function Tabs({label, tabs, active, onChange, children}: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const cut = useCut(list, tabs.map((t) => t.id).join());
  const some = cut.before || cut.after;
  useEffect(() => {
    const tab = list.current?.querySelector<HTMLElement>('[aria-selected="true"]');
    if (some && list.current && tab) show(list.current, tab);
  }, [active, some]);
  const scroll = (by: number) => () => list.current?.scrollBy({left: by * list.current.clientWidth, behavior: 'smooth'});
  const move = (e: KeyboardEvent) => {
    const at = tabs.findIndex((t) => t.id === active);
    const to = {ArrowRight: at + 1, ArrowLeft: at - 1 + tabs.length, Home: 0, End: tabs.length - 1}[e.key];
    const next = to === undefined ? undefined : tabs[to % tabs.length];
    if (!next) return;
    e.preventDefault();
    onChange(next.id);
    list.current?.querySelector<HTMLElement>(`[data-tab="${CSS.escape(next.id)}"]`)?.focus();
  };
  return (
    <div>
      <div class="tabs__box">
        <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
          {tabs.map((t) => (
            <button key={t.id} type="button" role="tab" class="tabs__tab" data-tab={t.id} id={`${id}-${t.id}`} aria-selected={t.id === active}
              aria-controls={`${id}-panel`} tabIndex={t.id === active ? 0 : -1} onClick={() => onChange(t.id)}>
              {t.label}
            </button>
          ))}
        </div>
        {cut.before && <button type="button" class="tabs__more tabs__more--before" aria-hidden="true" tabIndex={-1} onClick={scroll(-0.7)} />}
        {cut.after && <button type="button" class="tabs__more" aria-hidden="true" tabIndex={-1} onClick={scroll(0.7)} />}
      </div>
      <div class="tabs__panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${active}`} tabIndex={0}>{children}</div>
    </div>
  );
}
