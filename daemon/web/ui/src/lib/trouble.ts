// What went wrong at a first boot, sorted for people: what cloud-init says several times in several words is one trouble.
import {causes, clue, moduleClue, moduleName, type Cause} from './blame';
import texts from '../texts/machine.json';
import {fill} from './texts';
import type {BootModule, Doc, FirstBoot} from './types';

/** One thing that went wrong. */
export interface Trouble {
  severity: 'error' | 'warning';
  /** The guest's words, the most telling first. */
  texts: string[];
  /** What in the definition is behind it, as far as that can be told. */
  causes: Cause[];
}

/** Messages that only say that another one was there. */
const echoes = [/^\d+ failed with exceptions, re-raising the last one$/, /^Running module \S+ \(<module .*\) failed$/, /^Failed to run module \S+(?: \(.*\))?$/];

/** troubles gathers what a guest complained about, with the modules that failed without a word. */
export function troubles(boot: FirstBoot, modules: BootModule[], documents: Doc[]): Trouble[] {
  const out: (Trouble & {id: string})[] = [];
  const errors = new Set(errorsOf(boot).map(readable));
  const add = (severity: Trouble['severity'], text: string, found: Cause[]) => {
    const id = found.map((c) => `${c.index}:${c.line}`).join() || (echoes[0]?.test(text) ? 'echo' : text);
    const same = out.find((t) => t.id === id) ?? out.find((t) => found.length > 0 && t.causes.some((c) => found.some((f) => f.index === c.index && f.line === c.line)));
    if (!same) out.push({id, severity, texts: [readable(text)], causes: found});
    else {
      if (severity === 'error') same.severity = 'error';
      if (!same.texts.includes(readable(text))) same.texts.push(readable(text));
    }
  };
  for (const [severity, texts] of [['error', errorsOf(boot)], ['warning', boot.result?.warnings ?? []]] as const) {
    for (const text of texts) add(severity, text, causes(clue(text), documents));
  }
  const said = JSON.stringify(out.map((t) => t.texts)).replaceAll('-', '_');
  for (const m of modules.filter((x) => x.outcome === 'FAIL')) {
    if (!said.includes(moduleName(m.module))) add('error', fill(texts.verdict.moduleFailed, {module: m.module}), causes(moduleClue(m.module), documents));
  }
  const other = out.filter((t) => t.id !== 'echo');
  return (other.length > 0 ? other : out).map(({id: _, ...t}) => ({...t, texts: telling(t.texts, errors)})).sort((a, b) => Number(a.severity === 'warning') - Number(b.severity === 'warning'));
}

/** errorsOf are the errors of a boot: the one that ended it is mostly among those of its result. */
function errorsOf(boot: FirstBoot): string[] {
  const all = [...(boot.error ? [boot.error] : []), ...(boot.result?.errors ?? []), ...(boot.result ? [] : boot.reasons ?? [])];
  return [...new Set(all)];
}

/** telling drops messages that only repeat that something failed, unless there is no other. Errors come before warnings, and a sentence before the output of a command. */
function telling(texts: string[], errors: ReadonlySet<string>): string[] {
  const rest = texts.filter((t) => !echoes.some((e) => e.test(t)));
  return (rest.length > 0 ? rest : texts.slice(0, 1)).sort((a, b) => Number(errors.has(b)) - Number(errors.has(a)) || a.split('\n').length - b.split('\n').length);
}

/** readable takes the form of a Python exception apart: its lines are lines, and those without content are none. */
export function readable(text: string): string {
  const python = /^\('[\w-]+', (\w+)\((["'])(.*)\2\)\)$/s.exec(text);
  const inner = python ? (python[3] ?? '').replaceAll('\\n', '\n').replaceAll("\\'", "'") : text;
  return inner.split('\n').map((l) => l.trimEnd()).filter((l) => l !== '' && !/^(?:Reason|Stdout|Stderr): -?$/.test(l)).join('\n');
}
