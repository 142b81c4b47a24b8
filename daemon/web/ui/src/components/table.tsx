import type {ComponentChildren, RefObject} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {slice, type Slice} from '../lib/window';
import {Icon} from './icons';

/** By which column rows are sorted. */
export interface Sort<K extends string> {
  by: K;
  down: boolean;
}

/** What the head of a column that sorts takes. */
export interface SortHeadProps<K extends string> {
  by: K;
  sort: Sort<K>;
  onSort: (sort: Sort<K>) => void;
  num?: boolean;
  class?: string;
  children: ComponentChildren;
}

/** The head of a column that sorts: a press sorts by it, the next one turns the order round. */
export function SortHead<K extends string>({by, sort, onSort, num, children, class: more}: SortHeadProps<K>) {
  const active = sort.by === by;
  return (
    <th scope="col" class={[num && 'num', more].filter(Boolean).join(' ') || undefined} aria-sort={active ? (sort.down ? 'descending' : 'ascending') : undefined}>
      <button type="button" class="table__sort" onClick={() => onSort({by, down: active && !sort.down})}>{children}<Icon name="sort" /></button>
    </th>
  );
}

/** Up to so many rows all are in the document, where the browser's own search finds them. */
const few = 150;

/** useWindowed says which rows of a long table are drawn while the page scrolls. The ref goes to the body of the table. */
export function useWindowed(rows: number, height: number): {ref: RefObject<HTMLTableSectionElement | null>; part: Slice} {
  const ref = useRef<HTMLTableSectionElement>(null);
  const whole: Slice = {first: 0, end: rows, above: 0, below: 0};
  const measure = () => (rows <= few ? whole : slice(rows, height, ref.current?.getBoundingClientRect().top ?? 0, innerHeight));
  const [part, set] = useState(() => (rows <= few ? whole : slice(rows, height, 0, innerHeight)));
  useEffect(() => {
    const look = () => set((before) => {
      const now = measure();
      return now.first === before.first && now.end === before.end && now.below === before.below && now.above === before.above ? before : now;
    });
    look();
    if (rows <= few) return;
    addEventListener('scroll', look, {passive: true});
    addEventListener('resize', look);
    return () => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, [rows, height]);
  const end = Math.min(part.end, rows);
  return {ref, part: rows <= few ? whole : {...part, first: Math.min(part.first, end), end}};
}

/** The place of rows that are not drawn. */
export function Gap({height}: {height: number}) {
  return height > 0 ? <tr class="table__gap" aria-hidden="true" style={{height: `${height}px`}} /> : null;
}
