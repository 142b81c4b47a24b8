import {useState} from 'preact/hooks';
import {running} from '../lib/actions';
import {boots, chart, recorded, type Boot} from '../lib/boot';
import {duration} from '../lib/format';
import type {useGrounds} from '../lib/grounds';
import {fill} from '../lib/texts';
import type {GuestReport, Machine} from '../lib/types';
import {useBoot} from '../lib/usemachine';
import texts from '../texts/machine.json';
import {BootChart, stageWords} from './bootchart';
import {Pill} from './status';
import {useNow} from './time';
import {Verdict} from './verdict';

const words = texts.boot;

/** How a machine's guest booted, or boots: the verdict on its first boot, and what took how long. */
export function BootPanel({machine: m, pulse, grounds}: {machine: Machine; /** Rises with all that happens to the machine. */ pulse: number; grounds: ReturnType<typeof useGrounds>}) {
  const {reports} = useBoot(m, pulse);
  const [chosen, choose] = useState<number | undefined>();
  const live = running(m.status);
  const all = boots(reports ?? []);
  const index = Math.min(chosen ?? all.length - 1, all.length - 1);
  const shown = all[index] ?? [];
  const going = live && index === all.length - 1 && !shown.some((r) => r.stage === 'done' || r.stage === 'failed');
  const now = useNow(1, going);
  const verdictHere = m.firstBoot && shown.some((r) => r.time === m.firstBoot?.time);
  if (!m.started) return <div class="empty"><h2>{words.never}</h2><p class="empty__text">{words.neverText}</p></div>;
  const old = shown.length === 0 && !live && reports && m.firstBoot ? m.firstBoot : undefined;
  const boot = old ? recorded(old) : chart(shown, {started: index <= 0 ? m.started : undefined, now, running: going});
  // While first boot runs anew, the verdict on the one before says nothing of it.
  const verdict = m.firstBootRunning ? undefined : m.firstBoot;
  const first = verdictHere || old || !verdict;
  return (
    <div class="stack">
      {verdict && <Verdict machine={m} boot={verdict} modules={verdictHere ? shown.flatMap((r) => r.modules ?? []) : []} grounds={grounds} />}
      <section class="card" aria-labelledby="boot-title">
        <header class="card__head">
          <h2 id="boot-title">{first ? words.title : going ? words.now : words.later}</h2>
          <Now boot={boot} reports={shown} going={going} />
        </header>
        {all.length > 1 && <Choice count={all.length} index={index} onChoose={choose} />}
        <div class="timeline__wrap"><BootChart boot={boot} going={going} /></div>
        <Remark boot={boot} empty={reports !== undefined && shown.length === 0} live={live} old={!!old} />
      </section>
    </div>
  );
}

/** Which boot of the run is drawn. */
function Choice({count, index, onChoose}: {count: number; index: number; onChoose: (index: number) => void}) {
  return (
    <div class="timeline__choice">
      <label class="row"><span class="muted">{words.which}</span>
        <select class="input" value={index} onChange={(e) => onChoose(Number(e.currentTarget.value))}>
          {Array.from({length: count}, (_, i) => <option key={i} value={i}>{fill(words.of, {n: i + 1, all: count})}</option>)}
        </select>
      </label>
    </div>
  );
}

/** What the guest does now, or how long the boot took. Only the stage is read out: parts change too often. */
function Now({boot, reports, going}: {boot: Boot; reports: GuestReport[]; going: boolean}) {
  const last = reports[reports.length - 1];
  if (!going) {
    const ended = boot.rows.some((r) => r.bar);
    return <span class="muted num">{ended ? duration(boot.span) : ''}</span>;
  }
  return (
    <span class="timeline__now">
      <Pill tone="busy"><span role="status">{last ? stageWords(last.stage)[0] : texts.verdict.booting}</span>{last?.module && <span class="mono" aria-hidden="true"> {last.module}</span>}</Pill>
      <span class="num muted">{duration(boot.span)}</span>
    </span>
  );
}

/** What must be known to read the chart. */
function Remark({boot, empty, live, old}: {boot: Boot; empty: boolean; live: boolean; old: boolean}) {
  const bars = boot.rows.flatMap((r) => r.parts);
  const rough = bars.length > 0 && bars.every((b) => !b.exact);
  const text = old ? words.durations : empty ? (live ? words.silentText : words.silentEndedText) : rough ? words.rough : '';
  if (!text) return null;
  return <p class="timeline__remark muted">{empty && !old && <strong>{live ? words.silent : words.silentEnded}. </strong>}{text}{empty && !old && <> <a href={live ? '#console' : '#log'}>{live ? words.toConsole : words.toLog}</a></>}</p>;
}
