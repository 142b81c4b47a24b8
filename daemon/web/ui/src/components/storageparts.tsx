import type {ComponentChildren} from 'preact';
import {useMemo, useState} from 'preact/hooks';
import {bytes, count} from '../lib/format';
import {machinePath} from '../lib/linked';
import {isDisc} from '../lib/source';
import {isFree, usable} from '../lib/storage';
import {common, fill} from '../lib/texts';
import type {Disk, Image, Job, Template} from '../lib/types';
import texts from '../texts/images.json';
import {Button, ButtonLink} from './button';
import {Diagnostics} from './diagnostics';
import {Icon, type IconName} from './icons';
import {Pill, type Tone} from './status';
import {Elapsed, RelativeTime} from './time';

const tones: Record<Template['status'], Tone> = {ok: 'ok', locked: 'busy', illegal: 'bad'};

function Made({status, reason}: {status: Template['status']; reason?: string | undefined}) {
  return <Pill tone={tones[status] ?? 'idle'} title={reason}>{common[`state_${status}`] ?? status}{reason && <span class="muted"> {reason}</span>}</Pill>;
}

function Empty({icon, title, text}: {icon: IconName; title: string; text: string}) {
  return <div class="empty empty--small"><Icon name={icon} /><h3>{title}</h3><p class="empty__text">{text}</p></div>;
}

/** The image files. What is wrong with one stands below it. */
export function Images({images, onImport}: {images: Image[]; onImport: (i: Image) => void}) {
  if (images.length === 0) return <Empty icon="image" title={texts.noImages} text={texts.noImagesText} />;
  return (
    <div class="table-wrap">
      <table class="table table--cards storage">
        <thead>
          <tr>
            <th scope="col">{texts.name}</th><th scope="col" class="storage__file">{texts.file}</th><th scope="col" class="storage__format">{texts.format}</th>
            <th scope="col" class="num storage__size">{texts.size}</th><th scope="col" class="num storage__size">{texts.fileSize}</th>
            <th scope="col" class="storage__actions"><span class="sr">{texts.actions}</span></th>
          </tr>
        </thead>
        <tbody>{images.map((i) => <ImageRow key={i.id} image={i} onImport={onImport} />)}</tbody>
      </table>
    </div>
  );
}

function ImageRow({image: i, onImport}: {image: Image; onImport: (i: Image) => void}) {
  const problems = i.problems ?? [];
  const able = usable(i);
  return <>
    <tr class={problems.length > 0 ? 'storage__told' : undefined}>
      <th scope="row">{i.name}{i.description && <div class="storage__about">{i.description}</div>}</th>
      <td class="mono wrap" data-label={texts.file}>{i.file}</td>
      <td data-label={texts.format}>{isDisc(i) ? texts.cd : i.format}</td>
      <td class="num" data-label={texts.size}>{i.virtualSize ? bytes(i.virtualSize) : ''}</td>
      <td class="num" data-label={texts.fileSize}>{bytes(i.size)}</td>
      <td class="table__actions">
        {!isDisc(i) && <Button small icon="upload" aria-disabled={!able} title={able ? undefined : texts.unusable} aria-label={fill(texts.importNamed, {name: i.name})} onClick={() => onImport(i)}>{texts.import}</Button>}
      </td>
    </tr>
    {problems.length > 0 && <tr class="storage__problems"><td colSpan={6}><Diagnostics diagnostics={problems} /></td></tr>}
  </>;
}

/** The templates, each with a way to a machine made from it. Blank, which every daemon has, is none that anything is made from. */
export function Templates({templates: all, onRemove}: {templates: Template[]; onRemove: (t: Template) => void}) {
  const templates = all.filter((t) => t.disk);
  if (templates.length === 0) return <Empty icon="template" title={texts.noTemplates} text={texts.noTemplatesText} />;
  return (
    <div class="table-wrap">
      <table class="table table--cards storage">
        <thead>
          <tr>
            <th scope="col">{texts.name}</th><th scope="col" class="storage__status">{texts.status}</th><th scope="col" class="storage__guest">{texts.guest}</th><th scope="col" class="storage__guest">{texts.login}</th>
            <th scope="col" class="storage__created">{texts.created}</th><th scope="col" class="storage__actions"><span class="sr">{texts.actions}</span></th>
          </tr>
        </thead>
        <tbody>{templates.map((t) => (
          <tr key={t.id}>
            <th scope="row">{t.name}{t.description && <div class="storage__about">{t.description}</div>}</th>
            <td data-label={texts.status}><Made status={t.status} reason={t.reason} /></td>
            <td data-label={texts.guest}>{t.guest}</td>
            <td data-label={texts.login}>{t.login && <code>{t.login}</code>}</td>
            <td data-label={texts.created} class="muted">{t.created && <RelativeTime time={t.created} />}</td>
            <td class="table__actions">
              {t.status === 'ok' && <ButtonLink small icon="add" href={`/machines/new?template=${encodeURIComponent(t.id)}`} about={fill(texts.newMachineFrom, {name: t.name})}>{texts.newMachine}</ButtonLink>}
              <Button small kind="ghost" icon="trash" label={fill(texts.removeNamed, {name: t.name})} disabled={t.status === 'locked'} onClick={() => onRemove(t)} />
            </td>
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

/** How many disks are shown at first, and how many more with each press. */
const some = 100;

/** The disks: those that belong to nothing, or all. */
export function Disks({disks, templates, head, onRemove}: {disks: Disk[]; templates: Template[]; /** What stands above, beside the choice. */ head: ComponentChildren; onRemove: (d: Disk) => void}) {
  const free = useMemo(() => disks.filter(isFree), [disks]);
  const [all, setAll] = useState(true);
  const [limit, setLimit] = useState(some);
  const names = useMemo(() => new Map(templates.map((t) => [t.id, t.name])), [templates]);
  if (disks.length === 0) return <>{head}<Empty icon="disk" title={texts.noDisks} text={texts.noDisksText} /></>;
  const shown = all ? disks : free;
  return <>
    <div class="section__head">
      {head}
      <div class="chips" role="group" aria-label={texts.which}>
        <button type="button" class="chip" aria-pressed={all} onClick={() => setAll(true)}>{texts.all} <span class="chip__count num">{count(disks.length)}</span></button>
        <button type="button" class="chip" aria-pressed={!all} onClick={() => setAll(false)}>{texts.free} <span class="chip__count num">{count(free.length)}</span></button>
      </div>
    </div>
    {shown.length === 0 ? <p class="muted">{texts.noFree}</p> : <DiskTable disks={shown.slice(0, limit)} names={names} onRemove={onRemove} />}
    {shown.length > limit && <div><Button small onClick={() => setLimit(limit + some)}>{fill(texts.more, {count: Math.min(some, shown.length - limit)})}</Button></div>}
  </>;
}

function DiskTable({disks, names, onRemove}: {disks: Disk[]; names: Map<string, string>; onRemove: (d: Disk) => void}) {
  return (
    <div class="table-wrap">
      <table class="table table--cards storage">
        <thead>
          <tr>
            <th scope="col">{texts.name}</th><th scope="col" class="storage__status">{texts.status}</th><th scope="col" class="storage__owner">{texts.owner}</th><th scope="col" class="num storage__size">{texts.size}</th>
            <th scope="col" class="num storage__size">{texts.used}</th><th scope="col" class="storage__created">{texts.created}</th>
            <th scope="col" class="storage__actions storage__actions--one"><span class="sr">{texts.actions}</span></th>
          </tr>
        </thead>
        <tbody>{disks.map((d) => (
          <tr key={d.id}>
            <th scope="row">{d.name}</th>
            <td data-label={texts.status}><Made status={d.status} reason={d.reason} /></td>
            <td data-label={texts.owner}><Owner disk={d} names={names} /></td>
            <td data-label={texts.size} class="num">{bytes(d.size)}</td>
            <td data-label={texts.used} class="num">{bytes(d.used)}</td>
            <td data-label={texts.created} class="muted">{d.created && <RelativeTime time={d.created} />}</td>
            <td class="table__actions">{isFree(d) && <Button small kind="ghost" icon="trash" label={fill(texts.removeNamed, {name: d.name})} disabled={d.status === 'locked'} onClick={() => onRemove(d)} />}</td>
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

function Owner({disk: d, names}: {disk: Disk; names: Map<string, string>}) {
  if (d.machine) return <a href={machinePath(d.machine)} title={d.machine}>{fill(texts.machine, {id: d.machine.slice(0, 8)})}</a>;
  if (d.template) return <>{fill(texts.template, {name: names.get(d.template) ?? d.template.slice(0, 8)})}</>;
  return <span class="muted">{texts.nobody}</span>;
}

/** The jobs that are under way. */
export function Work({jobs}: {jobs: Job[]}) {
  if (jobs.length === 0) return null;
  return (
    <section class="stack stack--tight" aria-label={texts.work}>
      <h2>{texts.work}</h2>
      <ul class="work">{jobs.map((j) => (
        <li key={j.id} class="work__one"><span class="spin" /><span class="grow cut">{j.description}</span><span class="muted"><Elapsed from={j.started} /></span></li>
      ))}</ul>
    </section>
  );
}
