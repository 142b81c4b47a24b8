import {useEffect, useState} from 'preact/hooks';
import {duration} from '../lib/format';
import {editAt, machinePath} from '../lib/linked';
import {fill} from '../lib/texts';
import type {Trouble} from '../lib/trouble';
import type {BootModule, Doc, FirstBoot, Machine} from '../lib/types';
import {plural} from '../lib/words';
import texts from '../texts/machine.json';
import {around} from './around';
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
  /** The definition, where it could be read. */
  documents: Doc[] | undefined;
}

/** How a first boot ended: well, or with what went wrong and which lines of the definition are behind it. */
export function Verdict({machine, boot, modules, documents}: VerdictProps) {
  const found = useTroubles(boot, modules, documents);
  const deprecations = boot.result?.deprecations ?? [];
  const failed = boot.stage === 'failed';
  if (boot.ok) {
    return <Notice kind="ok" title={words.ok}><About boot={boot} /><Deprecations list={deprecations} /></Notice>;
  }
  return (
    <Notice kind={failed ? 'bad' : 'warn'} title={failed ? words.failed : words.partly}>
      <ul class="troubles">{found.map((t, i) => <TroubleItem key={i} trouble={t} machine={machine} />)}</ul>
      <p class="muted">{!boot.result?.agent?.startsWith('Ignition') && around(words.again, <a href={machinePath(machine.id, '/run')}>{words.run}</a>)} <a href="#log">{words.log}</a>.</p>
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

/** plain are the guest's words as they came. */
const plain = (boot: FirstBoot): Trouble[] =>
  (boot.reasons ?? []).map((text) => ({severity: boot.result?.warnings?.includes(text) ? 'warning' : 'error', texts: [text], causes: []}));

function TroubleItem({trouble: t, machine}: {trouble: Trouble; machine: Machine}) {
  const [first = '', ...more] = t.texts;
  return (
    <li class="troubles__item">
      <span class={`tag tag--${t.severity === 'error' ? 'bad' : 'warn'}`}>{t.severity === 'error' ? words.error : words.warning}</span>
      <div class="troubles__text">
        <p class="troubles__words">{first}</p>
        {more.map((m) => <p key={m} class="troubles__words muted">{m}</p>)}
        {t.causes.length > 0 && (
          <ul class="troubles__causes">
            {t.causes.map((c) => (
              <li key={`${c.file}:${c.line}`}><Icon name="edit" /><span>{around(words.cause, <code>{c.field}</code>)}, <a href={editAt(machine, c.file, c.line)}>{fill(words.causeIn, {file: c.file, line: c.line})}</a></span></li>
            ))}
          </ul>
        )}
      </div>
    </li>
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
