import type {ComponentChildren} from 'preact';
import {Icon} from './icons';

/** By which column rows are sorted. */
export interface Sort<K extends string> {
  by: K;
  down: boolean;
}

/** The head of a column that sorts: a press sorts by it, the next one turns the order round. */
export function SortHead<K extends string>({by, sort, onSort, num, children, class: more}: {by: K; sort: Sort<K>; onSort: (sort: Sort<K>) => void; num?: boolean; class?: string; children: ComponentChildren}) {
  const active = sort.by === by;
  return (
    <th scope="col" class={[num && 'num', more].filter(Boolean).join(' ') || undefined} aria-sort={active ? (sort.down ? 'descending' : 'ascending') : undefined}>
      <button type="button" class="table__sort" onClick={() => onSort({by, down: active && !sort.down})}>{children}<Icon name="sort" /></button>
    </th>
  );
}
