// What the part "Initial Run" of the form says in a definition: which fields of the native form stand behind each of its controls.
import {mediumOf} from './sysprep';
import type {Tree, View} from './tree';

/** Who sets up the guest: cloud-init, Ignition, or Windows' own setup by an answer file. */
export type Agent = 'cloud-init' | 'ignition' | 'sysprep';

/** agentOf tells who sets up the guest of a definition. */
export function agentOf(tree: View): Agent {
  const os = tree.text('spec.guest.os');
  if (os === 'windows') return 'sysprep';
  return os === 'coreos' || tree.text('spec.dataSource') === 'ignition' || tree.count('spec.ignition') > 0 ? 'ignition' : 'cloud-init';
}

/** setAgent makes a definition one for another agent. A data source that belongs to the former one goes. */
export function setAgent(tree: Tree, agent: Agent): void {
  tree.set('spec.guest.os', {'cloud-init': undefined, ignition: 'coreos', sysprep: 'windows'}[agent]);
  const source = tree.text('spec.dataSource');
  const answers = mediumOf(tree);
  if (agent !== 'sysprep' && answers >= 0) {
    tree.remove(`spec.media[${answers}]`);
    if (tree.get('spec.identity.hostname') === '') tree.set('spec.identity.hostname', undefined);
  }
  if (agent === 'ignition') tree.set('spec.dataSource', 'ignition');
  else if (agent === 'sysprep') tree.set('spec.dataSource', 'none');
  else if (source === 'ignition' || source === 'none') tree.set('spec.dataSource', undefined);
  if (agent !== 'ignition') tree.set('spec.guest.ignitionPlatform', undefined);
}

/** mainUser is the number of the user whom "User Name" names: the default user of the distribution; -1 while nothing is said of it. */
export function mainUser(tree: View): number {
  for (let i = 0; i < tree.count('spec.users'); i++) if (tree.get(`spec.users[${i}].default`) === true) return i;
  return -1;
}

/** mainPath is the path of that user, where it stands or would be added. */
export function mainPath(tree: View): string {
  const at = mainUser(tree);
  return `spec.users[${at < 0 ? tree.count('spec.users') : at}]`;
}

/** setMain changes a field of the default user, who is added for it, and goes when nothing is said of it any more. */
function setMain(tree: Tree, field: string, value: unknown): void {
  const path = mainPath(tree);
  if (mainUser(tree) < 0) {
    if (value === undefined || value === '') return;
    tree.append('spec.users', {default: true});
  }
  tree.set(`${path}.${field}`, value);
  const left = tree.get(path) as Record<string, unknown> | undefined;
  if (left && Object.keys(left).join() === 'default') tree.remove(path);
}

/** setUserName names the default user. cloud-init bars root from SSH unless it is told otherwise, so with that name it is told. */
export function setUserName(tree: Tree, name: string): void {
  setMain(tree, 'name', name);
  if (agentOf(tree) !== 'cloud-init') return;
  if (name === 'root') tree.set('spec.ssh.disableRoot', false);
  else if (tree.get('spec.ssh.disableRoot') === false) tree.set('spec.ssh.disableRoot', undefined);
}

/** What is said of a user's password: in clear, as a hash, or by a reference to a Secret. */
export interface Password { kind: 'none' | 'clear' | 'hash' | 'elsewhere'; text: string }

/** passwordOf reads the password of the user at a path. */
export function passwordOf(tree: View, user: string): Password {
  for (const [field, kind] of [['password', 'clear'], ['passwordHash', 'hash']] as const) {
    const value = tree.get(`${user}.${field}`);
    if (value !== undefined && value !== null) return typeof value === 'object' ? {kind: 'elsewhere', text: ''} : {kind, text: tree.text(`${user}.${field}`)};
  }
  return {kind: 'none', text: ''};
}

/** A hash of crypt(5): an id between dollar signs, and more behind it. */
const hash = /^\$[0-9a-z]+\$[^\s:]*[^\s:$]$/;

/** isHash reports whether a text is a hash of a password and not one in clear. */
export const isHash = (text: string): boolean => hash.test(text);

/** setPassword gives the default user a password. The SSH server takes it as well, unless something else is said about that. */
export function setPassword(tree: Tree, text: string): void {
  const before = passwordOf(tree, mainPath(tree)).kind;
  setMain(tree, 'password', isHash(text) ? undefined : text);
  setMain(tree, 'passwordHash', isHash(text) ? text : undefined);
  if (agentOf(tree) !== 'cloud-init') return;
  if (before === 'none' && text && tree.get('spec.ssh.passwordAuth') === undefined) tree.set('spec.ssh.passwordAuth', true);
  if (before !== 'none' && !text && tree.get('spec.ssh.passwordAuth') === true) tree.set('spec.ssh.passwordAuth', undefined);
}

/** restorePassword puts back what a definition said of the default user's password before it was edited. */
export function restorePassword(tree: Tree, stored: {password?: unknown; passwordHash?: unknown}): void {
  setMain(tree, 'password', stored.password);
  setMain(tree, 'passwordHash', stored.passwordHash);
}

/** keysPath is where the keys of the default user stand: with the user, if some do, else with the SSH server's settings. */
export function keysPath(tree: View): string {
  const user = `${mainPath(tree)}.sshAuthorizedKeys`;
  return tree.count(user) > 0 ? user : 'spec.ssh.authorizedKeys';
}

/** lines takes a text apart into lines that say something. */
export const lines = (text: string): string[] => text.split(/\r?\n/).map((l) => l.trim()).filter(Boolean);

/** words takes a text apart at white space and commas. */
export const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** texts is the list of texts at a path. */
export function texts(tree: View, path: string): string[] {
  return Array.from({length: tree.count(path)}, (_, i) => tree.text(`${path}[${i}]`));
}

/** The kinds of what a user writes for the first boot. */
export type ScriptKind = 'ignition' | 'user-data';

/** scriptKind recognises an Ignition config and the Butane from which one is made. */
export function scriptKind(text: string): ScriptKind {
  return /^\s*\{[^]*"ignition"\s*:/.test(text) || /^variant:\s*["']?(fcos|flatcar|openshift|r4e|fiot)\b/m.test(text) ? 'ignition' : 'user-data';
}

/** The script of a definition: where it stands, its text, and whether the form can change it. */
export interface Script { path: string; text: string; elsewhere: boolean; others: number }

/** scriptOf finds the custom script: the last layer of the author's own user-data, or of Ignition configs. */
export function scriptOf(tree: View, kind: ScriptKind): Script {
  const list = kind === 'ignition' ? 'spec.ignition' : 'spec.userData.layers';
  const count = tree.count(list);
  const at = `${list}[${Math.max(count - 1, 0)}]`;
  const value = tree.get(at);
  const data = value && typeof value === 'object' && 'data' in value ? `${at}.data` : at;
  const elsewhere = typeof tree.get(data) === 'object' && tree.get(data) !== null;
  return {path: data, text: elsewhere ? '' : tree.text(data), elsewhere, others: Math.max(count - 1, 0)};
}

/** setScript changes the custom script. An Ignition config makes the machine one for Ignition, as an engine of oVirt does. */
export function setScript(tree: Tree, text: string): void {
  const kind = text.trim() === '' ? (agentOf(tree) === 'ignition' ? 'ignition' : 'user-data') : scriptKind(text);
  const now = agentOf(tree);
  if (kind === 'ignition' && now !== 'ignition') {
    clear(tree, 'user-data');
    setAgent(tree, 'ignition');
  }
  const target = kind === 'user-data' && now === 'ignition' ? 'ignition' : kind;
  const path = scriptOf(tree, target).path;
  if (text.trim() === '') clear(tree, target);
  else tree.set(path, text);
}

function clear(tree: Tree, kind: ScriptKind): void {
  const {path, others} = scriptOf(tree, kind);
  const list = kind === 'ignition' ? 'spec.ignition' : 'spec.userData.layers';
  if (tree.get(path) !== undefined) tree.remove(`${list}[${others}]`);
}
