import type {TargetedKeyboardEvent} from 'preact';
import {useRef} from 'preact/hooks';
import type {Outcome} from '../lib/actions';
import {machinePath} from '../lib/linked';
import {toggled, type View} from '../lib/machines';
import {useMedia} from '../lib/media';
import {fill} from '../lib/texts';
import type {Machine} from '../lib/types';
import {reveal} from '../lib/window';
import texts from '../texts/machines.json';
import {Actions} from './actions';
import {BootState} from './boot';
import {memo, useStable} from './memo';
import {StatusPill} from './status';
import {Gap, SortHead, useWindowed} from './table';
import {RelativeTime} from './time';

/** What the table of machines shows, and what is chosen in it. */
export interface MachineTableProps {
  machines: Machine[];
  view: View;
  onView: (v: View) => void;
  chosen: ReadonlySet<string>;
  onChoose: (ids: ReadonlySet<string>) => void;
  onOutcome: (o: Outcome) => void;
}

/** The heights of a row, as styles/machines.css has them. */
const height = {table: 40, card: 92};

/** The machines as a table, of which only the rows near the window are in the document. */
export function MachineTable({machines, view, onView, chosen, onChoose, onOutcome}: MachineTableProps) {
  const cards = useMedia('(max-width: 719px)');
  const rowHeight = cards ? height.card : height.table;
  const {ref, part} = useWindowed(machines.length, rowHeight);
  const last = useRef(0);
  const choose = useStable((index: number, on: boolean, range: boolean) => {
    const [from, to] = range ? [Math.min(last.current, index), Math.max(last.current, index)] : [index, index];
    last.current = index;
    onChoose(toggled(chosen, machines.slice(from, to + 1), on));
  });
  const outcome = useStable(onOutcome);
  return (
    <div class="machines__wrap">
      <table class="table table--fixed machines__table" aria-rowcount={machines.length + 1}>
        <Head machines={machines} view={view} onView={onView} chosen={chosen} onChoose={onChoose} />
        <tbody ref={ref} onKeyDown={(e) => walk(e, machines.length, rowHeight)}>
          <Gap height={part.above} />
          {machines.slice(part.first, part.end).map((m, i) => (
            <Row key={m.id} machine={m} index={part.first + i} chosen={chosen.has(m.id)} onChoose={choose} onOutcome={outcome} />
          ))}
          <Gap height={part.below} />
        </tbody>
      </table>
    </div>
  );
}

/** The height of what stays at the top of the window, below which a row is seen. */
const heads = 48 + 36;

/** walk moves the focus to the same control of the row above or below, which may have to be scrolled to and drawn first. */
function walk(e: TargetedKeyboardEvent<HTMLTableSectionElement>, rows: number, rowHeight: number): void {
  if (e.defaultPrevented || (e.key !== 'ArrowDown' && e.key !== 'ArrowUp')) return;
  const body = e.currentTarget;
  const row = e.target instanceof Element ? e.target.closest('tr') : null;
  const to = Number(row?.getAttribute('aria-rowindex')) - 2 + (e.key === 'ArrowDown' ? 1 : -1);
  if (!row || !(to >= 0 && to < rows)) return;
  e.preventDefault();
  const controls = (r: Element) => [...r.querySelectorAll<HTMLElement>('a, button, input')];
  const at = controls(row).indexOf(document.activeElement as HTMLElement);
  scrollBy({top: reveal(to, rowHeight, body.getBoundingClientRect().top, heads, innerHeight), behavior: 'instant'});
  requestAnimationFrame(() => setTimeout(() => {
    const next = body.querySelector(`tr[aria-rowindex="${to + 2}"]`);
    if (next) controls(next)[at]?.focus({preventScroll: true});
  }));
}

function Head({machines, view, onView, chosen, onChoose}: Omit<MachineTableProps, 'onOutcome'>) {
  const some = machines.filter((m) => chosen.has(m.id)).length;
  const sort = (s: Pick<View, 'by' | 'down'>) => onView({...view, ...s});
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th class="table__check" scope="col">
          <input type="checkbox" aria-label={texts.chooseAll} checked={some === machines.length} indeterminate={some > 0 && some < machines.length}
            onChange={(e) => onChoose(toggled(chosen, machines, e.currentTarget.checked))} />
        </th>
        <SortHead by="name" sort={view} onSort={sort}>{texts.name}</SortHead>
        <SortHead by="status" sort={view} onSort={sort} class="machines__status">{texts.status}</SortHead>
        <SortHead by="boot" sort={view} onSort={sort} class="machines__boot">{texts.boot}</SortHead>
        <SortHead by="addresses" sort={view} onSort={sort} class="machines__addresses">{texts.addresses}</SortHead>
        <SortHead by="created" sort={view} onSort={sort} class="machines__created">{texts.created}</SortHead>
        <th class="machines__actions" scope="col"><span class="sr">{texts.actions}</span></th>
      </tr>
    </thead>
  );
}

interface RowProps {
  machine: Machine;
  index: number;
  chosen: boolean;
  onChoose: (index: number, on: boolean, range: boolean) => void;
  onOutcome: (o: Outcome) => void;
}

const Row = memo(function Row({machine: m, index, chosen, onChoose, onOutcome}: RowProps) {
  const range = useRef(false);
  return (
    <tr aria-rowindex={index + 2} aria-selected={chosen}>
      <td class="table__check">
        <input type="checkbox" aria-label={fill(texts.chooseOne, {name: m.name})} checked={chosen} onClick={(e) => { range.current = e.shiftKey; }}
          onChange={(e) => onChoose(index, e.currentTarget.checked, range.current)} />
      </td>
      <th scope="row" class="machines__name cut">
        <a href={machinePath(m.id)}>{m.name}</a>{m.namespace !== 'default' && <span class="muted"> {m.namespace}</span>}
      </th>
      <td class="machines__status"><StatusPill status={m.status} reason={m.reason} /></td>
      <td class="machines__boot"><BootState machine={m} /></td>
      <td class="machines__addresses cut mono" title={(m.addresses ?? []).join('\n')}><Addresses all={m.addresses ?? []} /></td>
      <td class="machines__created muted"><RelativeTime time={m.created} /></td>
      <td class="machines__actions"><Actions machine={m} compact onOutcome={onOutcome} /></td>
    </tr>
  );
});

function Addresses({all}: {all: string[]}) {
  return <><bdi>{all[0]}</bdi>{all.length > 1 && <span class="muted"> {fill(texts.moreAddresses, {count: all.length - 1})}</span>}</>;
}
