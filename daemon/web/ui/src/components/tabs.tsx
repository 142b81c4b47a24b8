import type {ComponentChildren} from 'preact';
import {useId, useRef} from 'preact/hooks';

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

/** Tabs with their panel: arrows, Home and End move between them (WAI-ARIA APG, tabs with automatic activation). */
export function Tabs({label, tabs, active, onChange, children}: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
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
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map((t) => (
          <button key={t.id} type="button" role="tab" class="tabs__tab" data-tab={t.id} id={`${id}-${t.id}`} aria-selected={t.id === active}
            aria-controls={`${id}-panel`} tabIndex={t.id === active ? 0 : -1} onClick={() => onChange(t.id)}>
            {t.label}
          </button>
        ))}
      </div>
      <div class="tabs__panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${active}`} tabIndex={0}>{children}</div>
    </div>
  );
}
