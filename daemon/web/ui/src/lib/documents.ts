// Lists of documents and what is done to them. A document's name is what remarks call it, so each has one of its own.
import {isPlain, kindOf, nameFor, unique} from './language';
import type {Doc} from './types';

const names = (documents: readonly Doc[]) => documents.map((d) => d.name ?? '');

/** edited puts a text into a document. The name that vmseed gave it follows what it turns out to be; one that the user gave stays. */
export function edited(documents: readonly Doc[], index: number, text: string): Doc[] {
  const others = names(documents.filter((_, i) => i !== index));
  const old: Doc = documents[index] ?? {text: ''};
  const given = old.name !== undefined && old.name !== '' && old.name !== nameFor(old.text, others);
  const next: Doc = {...old, text, name: given ? old.name! : nameFor(text, others)};
  if (!isPlain(kindOf(text))) delete next.role;
  return index < documents.length ? documents.map((d, i) => (i === index ? next : d)) : [...documents, next];
}

/** added puts documents behind the others. The first one takes the place of a document that has nothing in it yet. */
export function added(documents: readonly Doc[], more: readonly Doc[]): Doc[] {
  const out = documents.filter((d) => d.text.trim() !== '');
  for (const d of more) {
    const name = d.name ? unique(d.name, names(out)) : nameFor(d.text, names(out));
    out.push({...d, name, ...roleByName(name, d)});
  }
  return out;
}

/** roleByName is the role that a file's name says, for files that only their name tells apart. */
function roleByName(name: string, d: Doc): Pick<Doc, 'role'> {
  if (d.role || kindOf(d.text) !== 'other' && kindOf(d.text) !== 'meta-data' && kindOf(d.text) !== 'network-config') return {};
  const role = /^(meta-data|vendor-data|network-config|user-data)(-\d+)?(\.\w+)?$/.exec(name)?.[1];
  return role ? {role} : {};
}

/** renamed gives a document a name that no other has. */
export function renamed(documents: readonly Doc[], index: number, name: string): Doc[] {
  const others = names(documents.filter((_, i) => i !== index));
  return documents.map((d, i) => (i === index ? {...d, name: unique(name.trim() || nameFor(d.text, others), others)} : d));
}

/** withRole says what a plain file is for; an empty role leaves that to its content. */
export function withRole(documents: readonly Doc[], index: number, role: string): Doc[] {
  return documents.map((d, i) => {
    if (i !== index) return d;
    const {role: _, ...rest} = d;
    return role ? {...rest, role} : rest;
  });
}
