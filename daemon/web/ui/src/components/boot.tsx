import {bootOf, fraction} from '../lib/machines';
import type {Machine} from '../lib/types';
import texts from '../texts/machines.json';
import {Icon} from './icons';
import {Pill} from './status';
import {Elapsed} from './time';

/** How the first boot of a machine stands, on one line: under way with its stage and module, as it should be, or why not. */
export function BootState({machine: m}: {machine: Machine}) {
  switch (bootOf(m)) {
    case 'ok': return <span class="boot__ok"><Icon name="check" />{texts.initialized}</span>;
    case 'failed': return <Pill tone="bad" title={m.firstBoot?.reasons?.join('\n')}>{texts.failed}{m.firstBoot?.reasons?.[0] && <span class="muted"> {m.firstBoot.reasons[0]}</span>}</Pill>;
    case 'none': return <span class="muted">{texts.notYet}</span>;
    case 'going': return <Going machine={m} />;
  }
}

function Going({machine: m}: {machine: Machine}) {
  const p = m.progress;
  const stage = p && (texts.stage[p.stage as keyof typeof texts.stage] ?? p.stage);
  const done = p ? fraction(p.stage) : 0;
  return (
    <span class="boot">
      <span class="boot__text cut"><bdi>{stage ?? texts.waiting}</bdi>{p?.module && <span class="muted"> {p.module}</span>}</span>
      {m.started && <span class="boot__time muted"><Elapsed from={m.started} /></span>}
      <span class="bar boot__bar" role="progressbar" aria-label={texts.boot} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(done * 100)} aria-valuetext={stage ?? texts.waiting}>
        <span class="bar__fill" style={{width: `${done * 100}%`}} />
      </span>
    </span>
  );
}
