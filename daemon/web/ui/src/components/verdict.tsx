import type {ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {duration} from '../lib/format';
import {editAt, machinePath, ranAt} from '../lib/linked';
import {fill} from '../lib/texts';
import type {Trouble} from '../lib/trouble';
import type {BootModule, Doc, FirstBoot, Machine} from '../lib/types';
import {plural} from '../lib/words';
import texts from '../texts/machine.json';
import type {Grounds, useGrounds} from '../lib/grounds';
import {around} from './around';
import {Button} from './button';
import {Icon} from './icons';
import {Notice} from './notice';
import {RelativeTime} from './time';

const words = texts.verdict;

/** What the verdict is of. */
export interface VerdictProps {
  machine: Machine;
  boot: FirstBoot;
  /** The parts that the guest told of, when this boot is that of the current or last run. */
  modules: BootModule[];
  /** What its complaints are held against. */
  grounds: ReturnType<typeof useGrounds>;
}

/** How many troubles are shown at first: the chart of the boot is to stay in sight. */
const few = 3;
/** How many further words about the same trouble are shown at first. */
const many = 1;
/** How many lines of a text are shown at first. */
const brief = 3;

/** How a first boot ended: well, or with what went wrong and which lines of the definition are behind it. */
export function Verdict({machine, boot, modules, grounds}: VerdictProps) {
  const found = useTroubles(boot, modules, grounds.documents);
  const [all, setAll] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const asked = useRef(false);
  const ask = () => {
    asked.current = true;
    grounds.ask();
  };
  useEffect(() => {
    if (!asked.current || grounds.of === 'given') return;
    asked.current = false;
    // The button that had the focus is gone.
    (list.current?.querySelector<HTMLElement>('.troubles__causes a') ?? list.current)?.focus();
  }, [found]);
  const deprecations = boot.result?.deprecations ?? [];
  const failed = boot.stage === 'failed';
  if (boot.ok) {
    return <Notice kind="ok" title={words.ok}><About boot={boot} /><Deprecations list={deprecations} /></Notice>;
  }
  return (
    <Notice kind={failed ? 'bad' : 'warn'} title={failed ? words.failed : words.partly}>
      <ul class="troubles" ref={list} tabIndex={-1}>{found.slice(0, all ? found.length : few).map((t, i) => <TroubleItem key={i} trouble={t} machine={machine} of={grounds.of} />)}</ul>
      <Remedy machine={machine} boot={boot} grounds={{...grounds, ask}} found={found}>
        {found.length > few && <Button kind="ghost" small aria-expanded={all} onClick={() => setAll(!all)}>{all ? words.fewer : fill(words.more, {n: found.length - few})}</Button>}
      </Remedy>
      <Deprecations list={deprecations} />
    </Notice>
  );
}

/** useTroubles sorts what went wrong. What finds the causes reads YAML, and is loaded when it is needed. */
function useTroubles(boot: FirstBoot, modules: BootModule[], documents: Doc[] | undefined): Trouble[] {
  const [found, set] = useState<Trouble[]>(() => plain(boot));
  useEffect(() => {
    if (boot.ok) return;
    let current = true;
    void import('../lib/trouble').then(({troubles}) => { if (current) set(troubles(boot, modules, documents ?? [])); }, () => undefined);
    return () => { current = false; };
  }, [boot.time, boot.ok, modules.length, documents]);
  return found;
}

/** What to do about it, and where the cause may be looked for. */
function Remedy({machine: m, boot, grounds: {other, of, findable, ask, definition}, found, children}: Pick<VerdictProps, 'machine' | 'boot' | 'grounds'> & {found: Trouble[]; /** Stands beside what can be done. */ children: ComponentChildren}) {
  const run = <a href={machinePath(m.id, '/run')}>{words.run}</a>;
  const ignition = boot.result?.agent?.startsWith('Ignition');
  const advice = !ignition && around(other ? words.againOther[other] : words.again, run);
  return <>
    <div class="row troubles__rest">{findable && of === 'given' && <Button small icon="search" onClick={ask}>{words.find}</Button>}{children}</div>
    {definition.error !== undefined && <p>{words.findFailed} {definition.error}</p>}
    <div role="status">{of !== 'given' && found.every((t) => t.causes.length === 0) && words.findNone}</div>
    <p class="muted">{other && words.other[other]} {advice} {around(words.log, <a href="#log">{words.logTab}</a>)}</p>
  </>;
}

/** plain are the guest's words as they came. */
const plain = (boot: FirstBoot): Trouble[] =>
  (boot.reasons ?? []).map((text) => ({severity: boot.result?.warnings?.includes(text) ? 'warning' : 'error', texts: [text], causes: []}));

/** Where a cause is shown: the machine's own definition can be changed there. */
const linkTo: Record<Grounds['of'], typeof editAt> = {given: () => '#files', run: (_, file, line) => ranAt(file, line), definition: editAt};

function TroubleItem({trouble: t, machine, of}: {trouble: Trouble; machine: Machine; of: Grounds['of']}) {
  const [first = '', ...more] = t.texts;
  return (
    <li class="troubles__item">
      <span class={`tag tag--${t.severity === 'error' ? 'bad' : 'warn'}`}>{t.severity === 'error' ? words.error : words.warning}</span>
      <div class="troubles__text">
        <Words text={first} />
        {more.slice(0, many).map((m) => <Words key={m} text={m} muted />)}
        {more.length > many && <details class="troubles__more"><summary>{plural(words.same, more.length - many)}</summary>{more.slice(many).map((m) => <Words key={m} text={m} muted />)}</details>}
        {t.causes.length > 0 && (
          <ul class="troubles__causes">
            {t.causes.map((c) => (
              <li key={`${c.file}:${c.line}`}><Icon name="edit" /><span>{around(words.cause, <code>{c.field}</code>)}, <a href={linkTo[of](machine, c.file, c.line)}>{fill(words.causeIn, {file: c.file, line: c.line})}</a></span></li>
            ))}
          </ul>
        )}
      </div>
    </li>
  );
}

/** The guest's words. The output of a command may have many lines. */
function Words({text, muted}: {text: string; muted?: boolean}) {
  const lines = text.split('\n');
  const style = muted ? 'troubles__words muted' : 'troubles__words';
  if (lines.length <= brief) return <p class={style}>{text}</p>;
  return (
    <details class={style}>
      <summary>{lines.slice(0, brief - 1).join('\n')}{'\n'}<span class="troubles__lines">{plural(words.lines, lines.length - brief + 1)}</span></summary>
      {lines.slice(brief - 1).join('\n')}
    </details>
  );
}

function About({boot}: {boot: FirstBoot}) {
  const r = boot.result;
  const seconds = Object.values(r?.seconds ?? {}).reduce((a, b) => a + b, 0);
  return (
    <p>
      {r?.agent ? fill(words.okBy, {agent: r.agent}) : words.okText}
      {r?.dataSource && <> {around(words.source, <code>{r.dataSource}</code>)}</>}
      {seconds > 0 && <> {fill(words.seconds, {time: duration(seconds)})}</>} <span class="muted"><RelativeTime time={boot.time} /></span>
    </p>
  );
}

function Deprecations({list}: {list: string[]}) {
  if (list.length === 0) return null;
  return (
    <details class="troubles__more">
      <summary>{plural(words.deprecations, list.length)}</summary>
      <p class="muted">{words.deprecationsText}</p>
      <ul>{list.map((d) => <li key={d} class="troubles__words">{d}</li>)}</ul>
    </details>
  );
}
