import {useEffect, useMemo, useState} from 'preact/hooks';
import {ButtonLink, Button} from '../components/button';
import {Icon} from '../components/icons';
import {Live} from '../components/live';
import {MachineTable} from '../components/machinetable';
import {Notice} from '../components/notice';
import {problemText} from '../lib/problem';
import {act, why, type Action, type Outcome} from '../lib/actions';
import {count} from '../lib/format';
import {MachineList, type Known} from '../lib/machinelist';
import {byId, columns, countGroups, groups, pick, sortOf, viewOf, viewQuery, type Group, type View} from '../lib/machines';
import {statusWord} from '../components/status';
import {fill} from '../lib/texts';
import type {Machine} from '../lib/types';
import actions from '../texts/actions.json';
import texts from '../texts/machines.json';

/** What the server writes for this page: the first machines that its address asks for, and the number of the last event before them. */
export interface MachinesData {
  machines: Machine[];
  more: boolean;
  lastEvent: number;
}

/** The page of all machines. */
export default function Page({data}: {data: MachinesData}) {
  const {known, list} = useMachines(data);
  const [view, setView] = useView();
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(() => pick(known.machines, view), [known.machines, view]);
  const picked = useMemo(() => [...chosen].flatMap((id) => known.machines.get(id) ?? []), [known.machines, chosen]);
  const outcome = (o: Outcome) => {
    list.put(o.changed, o.removed);
    if (o.removed.length > 0) choose((before) => new Set([...before].filter((id) => !o.removed.some((m) => m.id === id))));
  };
  return (
    <div class="page machines">
      <div class="page__head">
        <h1>{texts.title}</h1>
        <Live stream={known.stream} />
        <div class="page__actions"><ButtonLink kind="primary" icon="add" href="/machines/new">{actions.newMachine}</ButtonLink></div>
      </div>
      {known.error !== undefined && <Notice kind="bad" title={texts.cannotRead} actions={<Button small onClick={() => list.reread()}>{texts.again}</Button>}>{problemText(known.error)}</Notice>}
      {known.machines.size === 0 && known.complete
        ? <Nothing />
        : <>
          <div class="toolbar">
            <Filter known={known} view={view} onView={setView} short={picked.length > 0} />
            {picked.length > 0 && <Bulk machines={picked} shown={shown} onOutcome={outcome} onChoose={choose} />}
          </div>
          <p class="sr" role="status">{known.complete && (view.search || view.group !== 'all') && fill(texts.countOf, {shown: count(shown.length), count: count(known.machines.size)})}</p>
          {shown.length > 0
            ? <MachineTable machines={shown} view={view} onView={setView} chosen={chosen} onChoose={choose} onOutcome={outcome} />
            : <NoMatch known={known} view={view} onView={setView} />}
        </>}
    </div>
  );
}

/** useMachines follows the machines while the page is there. A page whose address narrows the list has been written with a part of it. */
function useMachines(data: MachinesData): {known: Known; list: MachineList} {
  const complete = !data.more && !/[?&](search|status|before)=./.test(location.search);
  const [known, set] = useState<Known>(() => ({machines: byId(data.machines), complete, stream: 'open'}));
  const [list] = useState(() => new MachineList(data.machines, complete, data.lastEvent, set));
  useEffect(() => list.start(), []);
  return {known, list};
}

/** useView keeps the view in the address, so that a reload and a link show the same. */
function useView(): [View, (v: View) => void] {
  const [view, set] = useState(() => viewOf(new URLSearchParams(location.search)));
  return [view, (v) => {
    set(v);
    history.replaceState(null, '', location.pathname + viewQuery(v));
  }];
}

interface FilterProps {
  known: Known;
  view: View;
  onView: (v: View) => void;
  /** Other things stand beside it: the groups are a list to choose from. */
  short: boolean;
}

/** What narrows the list down. It stays while machines are chosen, so that others can be looked for and chosen as well. */
function Filter({known, view, onView, short}: FilterProps) {
  const counts = useMemo(() => countGroups(known.machines, view.search), [known.machines, view.search]);
  return (
    <div class="narrow" role="search">
      <div class="search toolbar__search">
        <Icon name="search" />
        <input class="input" type="search" value={view.search} placeholder={texts.search} aria-label={`${texts.search}: ${texts.searchHelp}`} title={texts.searchHelp}
          autocomplete="off" spellcheck={false} onInput={(e) => onView({...view, search: e.currentTarget.value})} />
      </div>
      <select class="input toolbar__sort" aria-label={texts.sort} value={(view.down ? '-' : '') + view.by} onChange={(e) => onView({...view, ...sortOf(e.currentTarget.value)})}>
        {columns.flatMap((c) => [c, `-${c}`]).map((s) => <option key={s} value={s}>{fill(s.startsWith('-') ? texts.sortDown : texts.sortUp, {column: texts[sortOf(s).by]})}</option>)}
      </select>
      {short
        ? <select class="input toolbar__groups" aria-label={texts.groups} value={view.group} onChange={(e) => onView({...view, group: e.currentTarget.value as Group, status: undefined})}>
          {groups.map((g) => <option key={g} value={g}>{texts.group[g]} {count(counts[g])}</option>)}
        </select>
        : <div class="chips" role="group" aria-label={texts.groups}>
          {groups.map((g) => <Chip key={g} group={g} n={counts[g]} view={view} onView={onView} />)}
          {view.status && <button type="button" class="chip" aria-pressed="true" onClick={() => onView({...view, status: undefined})}>{fill(texts.onlyStatus, {status: statusWord(view.status)})}<Icon name="close" /></button>}
        </div>}
    </div>
  );
}

function Chip({group, n, view, onView}: {group: Group; n: number; view: View; onView: (v: View) => void}) {
  return (
    <button type="button" class={`chip chip--${group}`} aria-pressed={view.group === group} onClick={() => onView({...view, group, status: undefined})}>
      {texts.group[group]} <span class="chip__count num">{count(n)}</span>
    </button>
  );
}

const bulk = ['start', 'shutdown', 'reboot', 'stop', 'remove'] as const;

interface BulkProps {
  machines: Machine[];
  shown: Machine[];
  onOutcome: (o: Outcome) => void;
  onChoose: (ids: ReadonlySet<string>) => void;
}

/** What can be done with the machines that are chosen, those among them that are not shown as well. */
function Bulk({machines, shown, onOutcome, onChoose}: BulkProps) {
  const all = useMemo(() => new Set([...machines, ...shown].map((m) => m.id)), [machines, shown]);
  const [busy, setBusy] = useState<Action | undefined>();
  const run = async (action: Action) => {
    try {
      onOutcome(await act(action, machines, () => setBusy(action)));
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <div class="bulk" role="group" aria-label={fill(texts.chosen, {count: count(machines.length)})}>
      <span class="toolbar__count num">{fill(texts.chosen, {count: count(machines.length)})}</span>
      {bulk.map((a) => <Button key={a} small busy={busy === a} disabled={!!busy || machines.every((m) => why(a, m))} onClick={() => void run(a)}>{actions[a]}</Button>)}
      <span class="toolbar__end row">
        {machines.length < all.size && <Button small kind="ghost" onClick={() => onChoose(all)}>{fill(texts.chooseRest, {count: count(all.size)})}</Button>}
        <Button small kind="ghost" onClick={() => onChoose(new Set())}>{texts.clear}</Button>
      </span>
    </div>
  );
}

function Nothing() {
  return (
    <div class="empty">
      <Icon name="machine" />
      <h2>{texts.none}</h2>
      <p class="empty__text">{texts.noneText}</p>
      <div class="row"><ButtonLink href="/machines/new" icon="add">{actions.newMachine}</ButtonLink><ButtonLink kind="ghost" href="/images">{texts.import}</ButtonLink></div>
    </div>
  );
}

function NoMatch({known, view, onView}: {known: Known; view: View; onView: (v: View) => void}) {
  if (!known.complete) return <p class="empty muted" role="status"><span class="spin" />{texts.loading}</p>;
  return (
    <div class="empty">
      <Icon name="search" />
      <h2>{texts.noMatch}</h2>
      <p class="empty__text">{view.search ? fill(texts.noMatchText, {group: texts.group[view.group], search: view.search}) : texts.noMatchGroup}</p>
      <Button onClick={() => onView({...view, search: '', group: 'all', status: undefined})}>{texts.showAll}</Button>
    </div>
  );
}
