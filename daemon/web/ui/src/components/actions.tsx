import {useState} from 'preact/hooks';
import {act, running, why, type Action, type Outcome} from '../lib/actions';
import {machinePath} from '../lib/linked';
import {fill} from '../lib/texts';
import type {Machine} from '../lib/types';
import texts from '../texts/actions.json';
import {Button, ButtonLink} from './button';
import type {IconName} from './icons';
import {Menu, type MenuItem} from './menu';

const icons: Record<Action, IconName> = {start: 'play', shutdown: 'power', reboot: 'reboot', reset: 'reset', stop: 'stop', remove: 'trash'};

/** What the actions of a machine need of their page. */
export interface ActionsProps {
  machine: Machine;
  /** Small and without words, for the row of a table. */
  compact?: boolean;
  /** Called with what an action came to, before events say the same. */
  onOutcome?: (outcome: Outcome) => void;
}

/** The actions of a machine as buttons and a menu, with questions before what loses something. */
export function Actions({machine: m, compact = false, onOutcome}: ActionsProps) {
  const [busy, setBusy] = useState<Action | undefined>();
  const run = async (action: Action) => {
    try {
      const outcome = await act(action, [m], () => setBusy(action));
      onOutcome?.(outcome);
    } finally {
      setBusy(undefined);
    }
  };
  const item = (action: Action) => ({label: texts[action], icon: icons[action], danger: action === 'remove', why: why(action, m), onSelect: () => void run(action)});
  // What makes no sense for a machine that is down, or for one that runs, is left out; what must only wait says so.
  const sensible = (i: {why?: string | undefined}) => i.why !== texts.whyDown && i.why !== texts.whyRuns;
  const items = (): MenuItem[] => [
    ...(compact ? [{label: texts.open, icon: 'machine', href: machinePath(m.id)} as const] : []),
    {label: texts.edit, icon: 'edit', href: machinePath(m.id, '/edit')},
    ...[{label: texts.runOnce, icon: 'once' as const, href: machinePath(m.id, '/run'), why: why('start', m)}].filter(sensible),
    'line',
    ...(['start', 'shutdown', 'reboot', 'reset', 'stop'] as const).filter((a) => compact || a !== (running(m.status) ? 'shutdown' : 'start')).map(item).filter(sensible),
    'line',
    item('remove'),
  ];
  if (compact) return <Compact machine={m} busy={busy} onStart={() => void run('start')} items={items} />;
  return (
    <div class="page__actions">
      {running(m.status)
        ? <Button icon="power" busy={busy === 'shutdown'} aria-disabled={!!why('shutdown', m)} title={why('shutdown', m)} onClick={() => void run('shutdown')}>{texts.shutdown}</Button>
        : <Button kind="primary" icon="play" busy={busy === 'start'} aria-disabled={!!why('start', m)} title={why('start', m)} onClick={() => void run('start')}>{texts.start}</Button>}
      <Menu label={texts.more} icon="more" items={items} />
    </div>
  );
}

function Compact({machine: m, busy, onStart, items}: {machine: Machine; busy: Action | undefined; onStart: () => void; items: () => MenuItem[]}) {
  return <>
    {running(m.status)
      ? <ButtonLink kind="ghost" small icon="console" href={machinePath(m.id, '#console')} label={fill(texts.consoleOf, {name: m.name})} />
      : <Button kind="ghost" small icon="play" busy={busy === 'start'} disabled={!!why('start', m)} label={fill(texts.startNamed, {name: m.name})} onClick={onStart} />}
    <Menu kind="ghost" small icon="more" label={fill(texts.moreOf, {name: m.name})} items={items} />
  </>;
}
