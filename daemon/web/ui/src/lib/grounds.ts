// What a guest's complaints are held against, to find the fields behind them: what it was given, which comes without its secrets, and when somebody asks
// for it the machine's definition, which has them, or where the run had another one that one, without.
import {useMemo, useState} from 'preact/hooks';
import {useGiven, useKept, useRan, type Asked} from './last';
import type {Doc, Machine, RunResult, Seed} from './types';
import {useDocuments, type Read} from './usemachine';

/** What complaints are held against. */
export interface Grounds {
  documents: Doc[];
  of: 'given' | 'run' | 'definition';
  /** What the guest was given is not what the machine's definition makes: that of this run alone, or one from before a change. */
  other?: 'run' | 'changed';
  /** There is a definition to ask for. */
  findable: boolean;
}

/** What they are picked from. */
export interface Found {
  given: Asked;
  /** What the definition makes now. */
  kept: Asked;
  /** What the run was started with. */
  ran: RunResult | undefined;
}

/** configs are the files of a seed that users write, whichever data source it is for: what the guest's agent complains about stands in them. */
export function configs(seed: Seed | undefined): Doc[] {
  const files = [...(seed?.volumes ?? []).flatMap((v) => v.files), ...(seed?.trees ?? []).flatMap((t) => t.files), ...(seed?.firmware ?? []), ...(seed?.credentials ?? [])];
  return files.flatMap((f) => {
    const name = f.path.slice(f.path.lastIndexOf('/') + 1);
    const known = /^(?:user[-_]data|config\.ign)$/.test(name) || f.path === 'opt/com.coreos/config';
    return known && f.text !== undefined ? [{name, text: f.text}] : [];
  });
}

/** groundsOf picks them. The machine's definition counts only if it still makes what the guest was given. */
export function groundsOf(machine: Pick<Machine, 'runOnce'>, {given, kept, ran}: Found, asked: boolean, definition: Doc[] | undefined): Grounds {
  const had = configs(given.seed);
  const makes = configs(kept.seed);
  const differs = had.length > 0 && makes.length > 0 && JSON.stringify(had.map((d) => d.text)) !== JSON.stringify(makes.map((d) => d.text));
  const own = machine.runOnce || ran?.own;
  if (own || differs) {
    const documents = ran?.documents ?? [];
    const [other, findable] = [own ? 'run' : 'changed', documents.length > 0] as const;
    return asked && findable ? {documents, of: 'run', other, findable} : {documents: had, of: 'given', other, findable};
  }
  return definition ? {documents: definition, of: 'definition', findable: true} : {documents: had.length > 0 ? had : makes, of: 'given', findable: true};
}

/** useGrounds reads what complaints are held against when that is wanted, again after each change of the machine, and the definition when it is asked for. */
export function useGrounds(machine: Machine, wanted: boolean, changes: number): Grounds & {ask: () => void; definition: Read<Doc[]>} {
  const [asked, ask] = useState(false);
  const given = useGiven(wanted ? machine : undefined, false);
  const kept = useKept(wanted ? machine : undefined, '', false);
  const ran = useRan(wanted ? machine : undefined, false).value;
  const other = groundsOf(machine, {given, kept, ran}, false, undefined).other;
  const definition = useDocuments(machine, wanted && asked && !other, changes);
  const grounds = useMemo(() => groundsOf(machine, {given, kept, ran}, asked, definition.value), [machine.runOnce, given.seed, kept.seed, ran, asked, definition.value]);
  return {...grounds, ask: () => (asked ? definition.retry() : ask(true)), definition};
}
