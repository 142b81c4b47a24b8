import {useEffect, useMemo, useState} from 'preact/hooks';
import {Actions} from '../components/actions';
import {BootPanel} from '../components/bootpanel';
import {Button, ButtonLink} from '../components/button';
import {Facts} from '../components/facts';
import {Icon} from '../components/icons';
import {Lazy} from '../components/lazy';
import {Notice} from '../components/notice';
import {Pill, StatusPill} from '../components/status';
import {Tabs} from '../components/tabs';
import {useGrounds} from '../lib/grounds';
import {tabOf} from '../lib/linked';
import {problemText} from '../lib/problem';
import type {Machine} from '../lib/types';
import {useMachine, type Live, type MachineData} from '../lib/usemachine';
import texts from '../texts/machine.json';

const tabs = ['overview', 'console', 'log', 'files', 'definition', 'events'] as const;
type TabName = (typeof tabs)[number];

const parts = {
  console: () => import('../components/console'),
  log: () => import('../components/seriallog'),
  files: () => import('../components/given'),
  definition: () => import('../components/definition'),
  events: () => import('../components/machineevents'),
};

/** A machine: what it is and does, its first boot while it happens, its console and log, what its guest was given. */
export default function Page({data}: {data: MachineData}) {
  const live = useMachine(data);
  const [tab, setTab] = useTab();
  if (live.removed) {
    return <div class="empty"><h1>{texts.removed}</h1><p class="empty__text">{texts.removedText}</p><ButtonLink href="/machines">{texts.toList}</ButtonLink></div>;
  }
  return <>
    <Head live={live} />
    {live.stream === 'lost' && <Notice kind="warn">{texts.lost}</Notice>}
    {live.error !== undefined && live.stream !== 'lost' && <Notice kind="bad" title={texts.unread} actions={<Button small onClick={live.retry}>{texts.log.again}</Button>}>{problemText(live.error)}</Notice>}
    {live.machine.runOnce && <Notice>{texts.runOnceNote}</Notice>}
    <Tabs label={texts.tabs.label} tabs={tabs.map((id) => ({id, label: texts.tabs[id]}))} active={tab} onChange={(id) => setTab(id as TabName)}>
      <Panel tab={tab} live={live} />
    </Tabs>
  </>;
}

function Head({live: {machine: m, take}}: {live: Live}) {
  return (
    <header class="page__head">
      <div class="machine__name">
        <a class="machine__back" href="/machines"><Icon name="back" />{texts.back}</a>
        <h1>{m.namespace !== 'default' && <span class="muted">{m.namespace}/</span>}{m.name}</h1>
        <div class="machine__state"><StatusPill status={m.status} /><Initialized machine={m} />{m.reason && <span class="muted wrap">{m.reason}</span>}</div>
      </div>
      <Actions machine={m} onOutcome={(o) => { const now = o.changed[0]; if (now) take(now); }} />
    </header>
  );
}

/** Whether the machine's guest has set itself up. */
function Initialized({machine: m}: {machine: Machine}) {
  if (m.firstBootRunning) return <Pill tone="busy">{m.initialized ? texts.verdict.bootingAgain : texts.verdict.bootingFirst}</Pill>;
  if (m.firstBoot && !m.firstBoot.ok) return <Pill tone={m.firstBoot.stage === 'failed' ? 'bad' : 'warn'}>{m.firstBoot.stage === 'failed' ? texts.verdict.failedShort : texts.verdict.partly}</Pill>;
  if (m.initialized) return <Pill tone="ok">{texts.verdict.initialized}</Pill>;
  return <span class="muted">{texts.verdict.notYet}</span>;
}

function Panel({tab, live}: {tab: TabName; live: Live}) {
  const m = live.machine;
  const changes = useMemo(() => live.events.filter((e) => e.kind === 'machine.changed').length, [live.events]);
  switch (tab) {
    case 'overview': return <Overview machine={m} changes={changes} pulse={live.pulse} />;
    case 'console': return <Lazy load={parts.console} props={{machine: m}} />;
    case 'log': return <Lazy load={parts.log} props={{machine: m}} />;
    case 'files': return <Lazy load={parts.files} props={{machine: m}} />;
    case 'definition': return <Lazy load={parts.definition} props={{machine: m, changes}} />;
    case 'events': return <Lazy load={parts.events} props={{machine: m, fresh: live.events, gaps: live.gaps}} />;
  }
}

function Overview({machine: m, changes, pulse}: {machine: Machine; changes: number; pulse: number}) {
  const grounds = useGrounds(m, !!m.firstBoot && !m.firstBoot.ok && !m.firstBootRunning, changes);
  return (
    <div class="machine">
      <BootPanel machine={m} pulse={pulse} grounds={grounds} />
      <Facts machine={m} />
    </div>
  );
}

/** useTab keeps the tab in the address, so that it is still there after a reload and can be linked to. */
function useTab(): [TabName, (tab: TabName) => void] {
  const read = (): TabName => tabs.find((t) => t === tabOf(location.hash)) ?? 'overview';
  const [tab, set] = useState(read);
  useEffect(() => {
    const changed = () => set(read());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return [tab, (t) => {
    history.replaceState(null, '', t === 'overview' ? location.pathname + location.search : '#' + t);
    set(t);
  }];
}
