import {useRef, useState} from 'preact/hooks';
import {rowsOf, type Entry, type Group, type Row} from '../lib/seedtree';
import texts from '../texts/preview.json';
import {Icon} from './icons';

/** What the tree shows. */
export interface FileTreeProps {
  groups: Group[];
  /** The key of the file that is shown. */
  active: string;
  onSelect: (entry: Entry) => void;
}

/** The files of a seed as a tree: up, down, Home, End and letters move, right and left open and close (WAI-ARIA APG, tree view). */
export function FileTree({groups, active, onSelect}: FileTreeProps) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState(active);
  const list = useRef<HTMLUListElement>(null);
  const rows = rowsOf(groups, closed);
  const focused = rows.some((r) => r.key === current) ? current : rows.find((r) => r.key === active)?.key ?? rows[0]?.key;
  const toggle = (row: Row, open: boolean) => {
    const next = new Set(closed);
    if (open) next.delete(row.key);
    else next.add(row.key);
    setClosed(next);
  };
  const go = (row: Row | undefined) => {
    if (!row) return;
    setCurrent(row.key);
    if (row.entry) onSelect(row.entry);
    list.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(row.key)}"]`)?.focus();
  };
  const press = (row: Row) => {
    setCurrent(row.key);
    if (row.entry) onSelect(row.entry);
    else toggle(row, !row.open);
  };
  const keys = (e: KeyboardEvent) => {
    const at = rows.findIndex((r) => r.key === focused);
    const row = rows[at];
    if (!row || e.ctrlKey || e.metaKey || e.altKey) return;
    if (move(e.key, {rows, at, row, go, toggle, press})) e.preventDefault();
  };
  return (
    <ul class="tree" role="tree" aria-label={texts.files} ref={list} onKeyDown={keys}>
      {rows.map((row) => <Line key={row.key} row={row} active={row.key === active} tabbable={row.key === focused} press={() => press(row)} />)}
    </ul>
  );
}

interface Moves { rows: Row[]; at: number; row: Row; go: (row: Row | undefined) => void; toggle: (row: Row, open: boolean) => void; press: (row: Row) => void }

/** move does what a key means in the tree, and reports whether it means anything. */
function move(key: string, {rows, at, row, go, toggle, press}: Moves): boolean {
  switch (key) {
    case 'ArrowDown': go(rows[at + 1]); return true;
    case 'ArrowUp': go(rows[at - 1]); return true;
    case 'Home': go(rows[0]); return true;
    case 'End': go(rows.at(-1)); return true;
    case 'ArrowRight':
      if (row.open === false) toggle(row, true);
      else if (row.open) go(rows[at + 1]);
      return true;
    case 'ArrowLeft':
      if (row.open) toggle(row, false);
      else go(rows.find((r) => r.key === row.parent));
      return true;
    case 'Enter': case ' ': press(row); return true;
  }
  if (key.length !== 1) return false;
  const next = [...rows.slice(at + 1), ...rows.slice(0, at)].find((r) => r.label.toLowerCase().startsWith(key.toLowerCase()));
  go(next);
  return next !== undefined;
}

/** Rows below this level are indented as those of it. */
const deepest = 6;

function Line({row, active, tabbable, press}: {row: Row; active: boolean; tabbable: boolean; press: () => void}) {
  const change = row.entry?.change;
  return (
    <li class={`tree__row tree__row--${Math.min(row.level, deepest)}${active ? ' is-active' : ''}${change ? ` tree__row--${change}` : ''}`} role="treeitem" data-key={row.key} aria-level={row.level}
      aria-expanded={row.open} aria-selected={active} tabIndex={tabbable ? 0 : -1} onClick={press}>
      <span class="tree__shape">{row.entry ? <Icon name="file" /> : <span class={row.open ? 'tree__arrow is-open' : 'tree__arrow'} />}</span>
      <span class="tree__label">{row.label}{row.detail && <span class="tree__detail">{row.detail}</span>}</span>
      {change && <span class={`tree__change tree__change--${change}`}>{texts.change[change]}</span>}
      {row.changed && <span class="tree__change tree__change--changed">{texts.change.changed}</span>}
    </li>
  );
}
