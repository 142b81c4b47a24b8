import type {ComponentChildren} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import {running} from '../lib/actions';
import {get} from '../lib/api';
import {copy} from '../lib/files';
import {bytes} from '../lib/format';
import {fill} from '../lib/texts';
import type {Disk, Machine, Template} from '../lib/types';
import {plural} from '../lib/words';
import texts from '../texts/machine.json';
import {around} from './around';
import {Button} from './button';
import {Elapsed, RelativeTime} from './time';

const words = texts.facts;

/** What is known of a machine, in pairs of words. */
export function Facts({machine: m}: {machine: Machine}) {
  const template = useTemplate(m.template);
  const disks = useDisks(m.disks ?? []);
  const result = m.firstBoot?.result;
  const live = running(m.status);
  return (
    <section class="card" aria-labelledby="facts-title">
      <header class="card__head"><h2 id="facts-title">{words.title}</h2></header>
      <dl class="pairs card__body">
        <Pair name={words.addresses}>{(m.addresses ?? []).length > 0 ? m.addresses?.map((a) => <Copied key={a} what={words.addresses} text={a} />) : <span class="muted">{live ? words.noAddresses : words.noAddressesOff}</span>}</Pair>
        <Pair name={words.ssh}><SSH machine={m} live={live} /></Pair>
        {m.started && <Pair name={words.started}><RelativeTime time={m.started} />{live && <div class="muted">{around(words.running, <Elapsed from={m.started} />)}</div>}</Pair>}
        {m.ended && !live && <Pair name={words.ended}><RelativeTime time={m.ended} /></Pair>}
        <Pair name={words.created}><RelativeTime time={m.created} /></Pair>
        <Pair name={words.namespace}>{m.namespace}</Pair>
        {m.template && <Pair name={words.template}>{template ? <a href="/images#templates">{template.name}</a> : <span class="mono">{m.template}</span>}</Pair>}
        {disks.length > 0 && <Pair name={words.disks}>{disks.map((d) => <div key={d.id}><a href="/images#disks">{d.name}</a> <span class="muted num">{bytes(d.size)}</span></div>)}</Pair>}
        <Pair name={words.id}><Copied what={words.id} text={m.id} /></Pair>
        {result?.instance && <Pair name={words.instance}><span class="mono">{result.instance}</span></Pair>}
        {!!m.generation && <Pair name={words.generation}>{m.generation}</Pair>}
        {(result?.hostKeys ?? []).length > 0 && <Pair name={words.hostKeys}><details><summary>{plural(words.hostKeyCount, result?.hostKeys?.length ?? 0)}</summary>
          {result?.hostKeys?.map((k) => <Copied key={k} what={words.hostKeys} text={k} />)}</details></Pair>}
        {m.postedPassword && <Pair name={words.password}><Copied what={words.password} text={m.postedPassword} /><div class="small muted">{words.passwordHelp}</div></Pair>}
      </dl>
    </section>
  );
}

/** useTemplate reads the template that a machine was made from. */
function useTemplate(id: string | undefined): Template | undefined {
  const [found, set] = useState<Template | undefined>();
  useEffect(() => {
    if (!id) return;
    const abort = new AbortController();
    get<Template>('/templates/' + encodeURIComponent(id), abort.signal).then(set, () => undefined);
    return () => abort.abort();
  }, [id]);
  return found;
}

/** useDisks reads a machine's disks, in its order. Those that cannot be read are left out. */
function useDisks(ids: string[]): Disk[] {
  const [found, set] = useState<Disk[]>([]);
  useEffect(() => {
    if (ids.length === 0) return;
    const abort = new AbortController();
    get<{items: Disk[]}>('/disks', abort.signal).then(({items}) => set(ids.flatMap((id) => items.find((d) => d.id === id) ?? [])), () => undefined);
    return () => abort.abort();
  }, [ids.join()]);
  return found;
}

function Pair({name, children}: {name: string; children: ComponentChildren}) {
  return <><dt>{name}</dt><dd>{children}</dd></>;
}

/** How to reach the guest by SSH: a port of the daemon's host leads there. */
function SSH({machine: m, live}: {machine: Machine; live: boolean}) {
  if (!m.sshPort) return <span class="muted">{live ? words.sshNone : words.sshOff}</span>;
  return <><Copied what={words.ssh} text={`ssh -p ${m.sshPort} ${m.login ? m.login + '@' : ''}127.0.0.1`} /><div class="small muted">{words.sshWhere}</div></>;
}

/** breakable lets an IPv6 address go on in the next line between its groups, before that happens within one. */
const breakable = (text: string): ComponentChildren => (/^[\da-f:.%/]+$/i.test(text) ? text.split(/(?<=:)(?!:)/).map((group, i) => <>{i > 0 && <wbr />}{group}</>) : text);

/** A text in letters of one width, with a button that copies it. */
function Copied({what, text}: {what: string; text: string}) {
  return <div class="copied"><span class="mono wrap">{breakable(text)}</span><Button kind="ghost" small icon="copy" label={fill(texts.copy, {what})} onClick={() => void copy(text)} /></div>;
}
