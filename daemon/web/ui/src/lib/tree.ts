// A YAML document as a form sees it: values at paths, of which one is changed while comments and all that the form does not know stay.
import {Document, isAlias, isCollection, isMap, isScalar, isSeq, Scalar, visit, type Node, type Pair, type YAMLMap} from 'yaml';

/** The steps of a path: names of members and numbers of items. */
type Path = (string | number)[];

/** steps takes a path such as spec.users[0].name apart. */
export function steps(path: string): Path {
  const out: Path = [];
  for (const [, name, index] of path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)) out.push(index === undefined ? name ?? '' : Number(index));
  return out;
}

/** The members of mappings in the order in which people write them; others come after those. */
const order: Record<string, string[]> = {
  '': ['apiVersion', 'kind', 'metadata', 'spec'],
  metadata: ['name', 'namespace', 'labels', 'annotations'],
  spec: ['dataSource', 'identity', 'guest', 'users', 'groups', 'ssh', 'adminPassword', 'agentUsers', 'files', 'environment', 'packages', 'bootcmd',
    'runcmd', 'scripts', 'disks', 'storage', 'mounts', 'shares', 'media', 'network', 'metaData', 'userData', 'vendorData', 'ignition', 'hardware'],
  users: ['name', 'default', 'gecos', 'groups', 'shell', 'sudo', 'password', 'passwordHash', 'lockPassword', 'sshAuthorizedKeys'],
  files: ['path', 'mode', 'owner', 'defer', 'append', 'content'],
  nics: ['name', 'rename', 'mac', 'dhcp4', 'dhcp6', 'slaac', 'addresses', 'gateway4', 'gateway6', 'dns', 'onBoot'],
  disks: ['name', 'root', 'device', 'source', 'size'],
  mounts: ['disk', 'share', 'device', 'partition', 'path', 'type', 'options'],
};

/** What a form reads of a document. */
export interface View {
  /** The value at a path as plain data, undefined where there is none. */
  get(path: string): unknown;
  /** The text at a path; a number or boolean as it is written, and nothing for what is no scalar. */
  text(path: string): string;
  /** The number of items of the list at a path. */
  count(path: string): number;
}

/** Tree is one document and the changes that a form makes to it. */
export class Tree implements View {
  constructor(readonly document: Document) {}

  get(path: string): unknown {
    const node = this.document.getIn(steps(path), true) as Node | undefined;
    return isCollection(node) || isScalar(node) ? node.toJS(this.document) as unknown : undefined;
  }

  text(path: string): string {
    const node = this.document.getIn(steps(path), true);
    if (!isScalar(node) || node.value === null) return '';
    return typeof node.value === 'string' ? node.value : node.source ?? String(node.value);
  }

  count(path: string): number {
    const node = this.document.getIn(steps(path), true);
    return isSeq(node) ? node.items.length : 0;
  }

  /** set puts a value at a path. Nothing (undefined, '' or an empty list) takes away what is there, and mappings and lists that it leaves empty;
   * items of lists stay, for whoever fills them in. */
  set(path: string, value: unknown): void {
    const at = steps(path);
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) {
      this.drop(at);
      return;
    }
    this.put(at, value);
  }

  /** keep puts a value at a path even if it is an empty text. */
  keep(path: string, value: unknown): void {
    this.put(steps(path), value);
  }

  /** append adds an item to the list at a path. */
  append(path: string, value: unknown): void {
    this.put([...steps(path), this.count(path)], value);
  }

  /** remove takes away an item of a list or a member, and what it leaves empty. */
  remove(path: string): void {
    this.drop(steps(path));
  }

  private put(at: Path, value: unknown): void {
    const old = this.document.getIn(at, true);
    if (isScalar(old) && typeof value !== 'object') {
      // The author's quotes stay, unless the text needs others.
      const keeps = typeof value === 'string' && typeof old.value === 'string' && old.value !== '' && (old.type === 'QUOTE_DOUBLE' || old.type === 'QUOTE_SINGLE') && !value.includes('\n');
      const type = keeps ? old.type : scalarType(value);
      old.value = value;
      delete old.source;
      delete old.format;
      if (type) old.type = type;
      else delete old.type;
      return;
    }
    for (let n = 1; n < at.length; n++) this.grow(at, n);
    const node = this.document.createNode(value);
    visit(node, {Scalar: (_, s) => {
      const type = scalarType(s.value);
      if (type) s.type = type;
    }});
    this.document.setIn(at, node);
    this.settle(at);
  }

  /** grow sees to it that there is a collection at the first n steps of a path. */
  private grow(at: Path, n: number): void {
    const here = at.slice(0, n);
    const node = this.document.getIn(here, true);
    if (isCollection(node)) {
      if (node.items.length === 0) node.flow = false;
      return;
    }
    this.document.setIn(here, this.document.createNode(typeof at[n] === 'number' ? [] : {}));
    this.settle(here);
  }

  /** settle moves a member that was added last to where people expect it. */
  private settle(at: Path): void {
    const parent = at.length > 1 ? this.document.getIn(at.slice(0, -1), true) : this.document.contents;
    if (!isMap(parent)) return;
    const names = order[String([...at.slice(0, -1)].reverse().find((s) => typeof s === 'string') ?? '')] ?? [];
    const items = (parent as YAMLMap).items;
    const last = items[items.length - 1];
    const rank = names.indexOf(String(at[at.length - 1]));
    if (!last || rank < 0 || keyOf(last) !== at[at.length - 1]) return;
    const ranks = items.slice(0, -1).map((p) => names.indexOf(keyOf(p)));
    const behind = ranks.findLastIndex((r) => r >= 0 && r < rank);
    if (behind >= 0 || ranks.some((r) => r > rank)) {
      items.pop();
      items.splice(behind + 1, 0, last);
    }
  }

  private drop(at: Path): void {
    if (!this.document.hasIn(at)) return;
    this.document.deleteIn(at);
    for (let n = at.length - 1; n > 1; n--) {
      const node = this.document.getIn(at.slice(0, n), true);
      if (!isCollection(node) || node.items.length > 0 || node.comment || node.commentBefore) return;
      if (typeof at[n - 1] === 'number') {
        node.flow = true;
        return;
      }
      this.document.deleteIn(at.slice(0, n));
    }
    const top = this.document.getIn(at.slice(0, 1), true);
    if (isCollection(top) && top.items.length === 0) top.flow = true;
  }
}

const keyOf = (p: Pair): string => String(isScalar(p.key) ? p.key.value : p.key);

/** Texts that need quotes because other readers of YAML take them for something else, or that are easier to read in them. */
const needsQuotes = /^(y|n|yes|no|on|off|true|false|null|~|=|<<)$|^[\d.+-]|:/i;

function scalarType(value: unknown): Scalar.Type | undefined {
  if (typeof value !== 'string') return undefined;
  if (value.includes('\n')) return Scalar.BLOCK_LITERAL;
  return needsQuotes.test(value) && !/^\d+[KMGT]i?$|^\//.test(value) ? Scalar.QUOTE_DOUBLE : undefined;
}

/** hasAliases reports whether a document says something by reference to another place in it, which a form cannot change. */
export function hasAliases(document: Document): boolean {
  let found = false;
  visit(document, {Node: (_, node) => {
    if (isAlias(node) || ('anchor' in node && node.anchor)) {
      found = true;
      return visit.BREAK;
    }
    return undefined;
  }});
  return found;
}
