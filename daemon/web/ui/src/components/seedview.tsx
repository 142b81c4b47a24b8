import {useMemo, useState} from 'preact/hooks';
import {compared, firstEntry, groupsOf, sameFile} from '../lib/seedtree';
import type {Seed} from '../lib/types';
import texts from '../texts/preview.json';
import {FileContent} from './filecontent';
import {FileTree} from './filetree';

/** What is shown of a seed. */
export interface SeedViewProps {
  seed: Seed;
  /** The seed that it is compared with. */
  last?: Seed | undefined;
  /** The files are not those of the current definition. */
  stale?: boolean;
}

/** A seed: the facts that identify the guest, the tree of its files, and the content of the one that was chosen. */
export function SeedView({seed, last, stale}: SeedViewProps) {
  const [chosen, setChosen] = useState('');
  const [format, setFormat] = useState(true);
  const groups = useMemo(() => (last ? compared(groupsOf(seed), groupsOf(last)) : groupsOf(seed)), [seed, last]);
  const entry = (chosen && sameFile(groups, chosen)) || firstEntry(groups);
  const facts: [string, string | undefined, string | undefined][] = [
    [texts.facts.instance, seed.instanceId, last?.instanceId],
    [texts.facts.hostname, seed.hostname, last?.hostname],
    [texts.facts.uuid, seed.uuid, last?.uuid],
  ];
  return (
    <div class={stale ? 'seed is-stale' : 'seed'}>
      {facts.some(([, value]) => value) && <dl class="seed__facts">
        {facts.map(([name, value, before]) => value && (
          <div key={name}><dt>{name}</dt><dd><code>{value}</code>{before !== undefined && before !== value && <span class="tag tag--busy">{texts.change.changed}</span>}</dd></div>
        ))}
      </dl>}
      <div class="seed__files">
        <FileTree groups={groups} active={entry?.key ?? ''} onSelect={(e) => setChosen(e.key)} />
        {entry && <FileContent entry={entry} compare={last !== undefined} format={format} onFormat={setFormat} />}
      </div>
    </div>
  );
}
