// What in a definition is behind a complaint of cloud-init or Ignition. Their messages name modules, users and files; a user wants to know which lines.
import {isMap, isScalar, LineCounter, parseAllDocuments, type Document} from 'yaml';
import type {Doc} from './types';

/** A place in a definition that a complaint is about. */
export interface Cause {
  /** The field in the words of the document: spec.runcmd of the native form, runcmd of a cloud-config. */
  field: string;
  /** The document's name, and its index. */
  file: string;
  index: number;
  /** From 1. */
  line: number;
}

/** What a complaint says about where it is from. */
export interface Clue {
  /** A key of cloud-config that the module works on, and where the native form says the same. */
  keys: Key[];
  /** Words of the complaint that stand in the definition: the name of a user, a file or a package. */
  words: string[];
  /** The line of the user-data itself that cannot be read. */
  line?: number;
  /** The field is behind it only if it holds one of the words: the guest has units of its own. */
  strict?: boolean;
}

type Key = readonly [cloudConfig: string, ...native: string[]];

const packages: Key[] = [['packages', 'packages.install'], ['package_update', 'packages.update'], ['package_upgrade', 'packages.upgrade'], ['apt', 'packages'], ['snap']];
const users: Key[] = [['users', 'users'], ['groups', 'groups'], ['user', 'users'], ['ssh_authorized_keys', 'ssh.authorizedKeys', 'users']];
const disks: Key[] = [['disk_setup', 'storage'], ['fs_setup', 'storage']];

/** The modules of cloud-init by their names with underscores, and the keys that they read (cloud-init's documentation, module reference). */
const modules: Record<string, Key[]> = {
  ansible: [['ansible']], apk_configure: [['apk_repos']], apt_configure: [['apt', 'packages'], ['apt_sources']], apt_pipelining: [['apt_pipelining']],
  bootcmd: [['bootcmd', 'bootcmd']], byobu: [['byobu_by_default']], ca_certs: [['ca_certs', 'caCerts'], ['ca-certs', 'caCerts']], chef: [['chef']],
  disk_setup: disks, fan: [['fan']], growpart: [['growpart']], resizefs: [['resize_rootfs']], keyboard: [['keyboard', 'keyboard']], landscape: [['landscape']],
  locale: [['locale', 'guest.locale']], lxd: [['lxd']], mcollective: [['mcollective']], mounts: [['mounts', 'mounts'], ['swap']], ntp: [['ntp', 'ntp']],
  package_update_upgrade_install: packages, phone_home: [['phone_home', 'phoneHome']], power_state_change: [['power_state', 'powerState']], puppet: [['puppet']],
  resolv_conf: [['resolv_conf', 'network']], rh_subscription: [['rh_subscription']], rsyslog: [['rsyslog']], runcmd: [['runcmd', 'runcmd']],
  salt_minion: [['salt_minion']], scripts_user: [['runcmd', 'runcmd'], ['', 'scripts']], scripts_per_boot: [['', 'scripts']], scripts_per_instance: [['', 'scripts']],
  scripts_per_once: [['', 'scripts']], scripts_vendor: [['', 'vendorData']], seed_random: [['random_seed']],
  set_hostname: [['hostname', 'identity.hostname'], ['fqdn', 'identity.domain', 'identity.hostname']],
  update_hostname: [['hostname', 'identity.hostname'], ['fqdn', 'identity.domain', 'identity.hostname']], update_etc_hosts: [['manage_etc_hosts']],
  set_passwords: [['chpasswd', 'users'], ['password', 'users'], ['ssh_pwauth', 'ssh.passwordAuth']], snap: [['snap']], spacewalk: [['spacewalk']],
  ssh: [['ssh_keys', 'ssh.hostKeys'], ['ssh_authorized_keys', 'ssh.authorizedKeys', 'users'], ['ssh_genkeytypes', 'ssh.genKeyTypes'], ['disable_root', 'ssh.disableRoot']],
  ssh_import_id: [['ssh_import_id', 'users']], swap: [['swap']], timezone: [['timezone', 'guest.timezone']], ubuntu_pro: [['ubuntu_pro']], users_groups: users,
  units: [['', 'units'], ['', 'ignition'], ['', 'userData']], wireguard: [['wireguard']], write_files: [['write_files', 'files']], write_files_deferred: [['write_files', 'files']], yum_add_repo: [['yum_repos']], zypper_add_repo: [['zypper']],
};

/** The same parts of a config for Ignition or Butane, which the native form has within spec.ignition. */
const ignition: Record<string, Key[]> = {
  units: [['units', 'ignition']], users_groups: [['users', 'ignition'], ['groups', 'ignition']], write_files: [['files', 'ignition'], ['directories', 'ignition'], ['links', 'ignition']],
  disk_setup: [['disks', 'ignition'], ['filesystems', 'ignition'], ['raid', 'ignition'], ['luks', 'ignition']],
};

/** Complaints of Ignition, and of the reporter of its guests. */
const ofIgnition = /^Ignition failed|\$\.(?:passwd|storage|systemd)\.|^the unit \S+ failed|^the config enables /;

/** What messages say without the name of a module, and the module that says it. */
const phrases: [RegExp, string][] = [
  [/Failed to (?:create|add|set|lock|unlock|expire)[^'"]*\b(?:user|password)/i, 'users_groups'], [/\buseradd\b|\busermod\b|\bchpasswd\b|\bgroupadd\b/, 'users_groups'],
  [/Failed to install packages|package .* not available|Unable to locate package|\bapt-get\b|\bdnf\b|\byum\b|\bzypper\b/i, 'package_update_upgrade_install'],
  [/\(runcmd\)|scripts\/runcmd/, 'runcmd'], [/write_files|Failed to (?:write|decode) file/i, 'write_files'], [/\bmount(?:ing)?\b.*fail|fail.*\bmount(?:ing)?\b|\bfstab\b/i, 'mounts'],
  [/fs_setup|disk_setup|\bmkfs\b|\bsgdisk\b|\bsfdisk\b/, 'disk_setup'], [/\bhostname\b.*fail|fail.*\bhostname\b/i, 'set_hostname'], [/time ?zone/i, 'timezone'],
  [/\blocale\b/i, 'locale'], [/ssh-import-id|ssh_import_id/, 'ssh_import_id'], [/phone.?home/i, 'phone_home'],
  // What the reporter of Ignition's guests says, and the paths in a config that Ignition complains about.
  [/^the unit \S+ failed|^the config enables |\$\.systemd\.units/, 'units'], [/\$\.passwd\./, 'users_groups'], [/\$\.storage\.(?:files|directories|links)/, 'write_files'],
  [/\$\.storage\.(?:disks|filesystems|raid|luks)/, 'disk_setup'],
];

/** module brings the name of a module into the form of the table. */
export const moduleName = (name: string): string => name.replace(/^(?:config|cc)[-_]/, '').replaceAll('-', '_');

/** clue takes from a complaint what tells where it is from. */
export function clue(text: string): Clue {
  const named = [
    ...text.matchAll(/\bcc_([a-z_]+)\b/g), ...text.matchAll(/[Rr]un(?:ning)? module ([a-z_-]+)/g), ...text.matchAll(/the module ([a-z_-]+)/g),
    ...text.matchAll(/^\(?'([a-z_-]+)',/g), ...text.matchAll(/\bconfig-([a-z_-]+)/g),
  ].map((m) => moduleName(m[1] ?? '')).filter((m) => m in modules);
  const phrased = phrases.filter(([expression]) => expression.test(text)).map(([, m]) => m);
  const names = [...new Set([...(phrased.includes('runcmd') ? ['runcmd'] : []), ...named, ...phrased])].slice(0, 2);
  const keys = names.flatMap((n) => [...modules[n] ?? [], ...(ofIgnition.test(text) ? ignition[n] ?? [] : [])]).concat(schemaKeys(text));
  const out: Clue = {keys, words: wordsOf(text)};
  const line = /(?:yaml blob|cloud-config|user-?data).*?line (\d+)/is.exec(text);
  if (line) out.line = Number(line[1]);
  if (names.includes('units')) out.strict = true;
  return out;
}

/** moduleClue is the clue that a module gives which failed without a word. */
export const moduleClue = (module: string): Clue => ({keys: modules[moduleName(module)] ?? [], words: []});

/** schemaKeys are the keys that cloud-init's schema complains about: "runcmd.0: … is not valid". */
function schemaKeys(text: string): Key[] {
  const all = Object.values(modules).flat();
  const found = [...text.matchAll(/(?:^|[\s,:(])([a-z_-]+)(?:\.\d+)?(?:\.[\w-]+)*: /g)].map((m) => m[1] ?? '');
  return found.flatMap((f) => all.filter(([k]) => k === f).slice(0, 1));
}

/** wordsOf are what a message puts into quotes or names as a path, longest first. */
function wordsOf(text: string): string[] {
  const quoted = [...text.matchAll(/'([^'\s]{2,200})'|"([^"\s]{2,200})"|(?<![\w/])(\/[\w./@+-]{3,200})|(?:user|group|package|unit|service|enables) ([\w.@+-]{2,64})/g)].map((m) => m[1] ?? m[2] ?? m[3] ?? m[4] ?? '');
  return [...new Set(quoted)].filter((w) => !/^(cloudinit|\/usr\/|\/var\/lib\/cloud|\/etc\/fstab$)/.test(w)).sort((a, b) => b.length - a.length);
}

/** causes finds what the clue points at in the documents: the places of its keys, of those only the ones that hold its words where any do. */
export function causes(c: Clue, documents: Doc[]): Cause[] {
  const found = documents.flatMap((d, index) => inDocument(c, d, index));
  const exact = found.filter((f) => f.exact);
  const lines = new Set<string>();
  const first = (f: Found) => !lines.has(`${f.index}:${f.line}`) && lines.add(`${f.index}:${f.line}`);
  return (exact.length > 0 || c.strict ? exact : found).filter(first).slice(0, 4).map(({field, file, index, line}) => ({field, file, index, line}));
}

type Found = Cause & {exact: boolean};

function inDocument(c: Clue, d: Doc, index: number): Found[] {
  const base = {file: d.name || `document ${index + 1}`, index};
  const lines = new LineCounter();
  const parsed = parseAllDocuments(d.text, {lineCounter: lines, version: '1.2', prettyErrors: false, uniqueKeys: false});
  const machine = Array.isArray(parsed) ? ([...parsed] as unknown as Document[]).find((x) => String(x.getIn(['apiVersion'])).startsWith('vmseed.dev/')) : undefined;
  const native = machine ? nativePlaces(c, machine, d.text, lines).map((p) => ({...base, ...p})) : [];
  return native.length > 0 ? native : textPlaces(c, d.text).map((p) => ({...base, ...p}));
}

/** nativePlaces looks for the fields of the native form. */
function nativePlaces(c: Clue, machine: Document, text: string, lines: LineCounter): Pick<Found, 'field' | 'line' | 'exact'>[] {
  return [...new Set(c.keys.flatMap(([, ...native]) => native))].flatMap((path) => {
    const steps = ['spec', ...path.split('.')];
    const parent = machine.getIn(steps.slice(0, -1), true);
    const pair = isMap(parent) ? parent.items.find((p) => isScalar(p.key) && p.key.value === steps[steps.length - 1]) : undefined;
    const key = isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
    if (!pair || key === undefined) return [];
    const end = (pair.value as {range?: [number, number, number]} | null)?.range?.[1] ?? key;
    const at = wordAt(text, c.words, key, end);
    return [{field: steps.join('.'), line: lines.linePos(at ?? key).line, exact: at !== undefined}];
  });
}

/** textPlaces looks for the keys of cloud-config as they stand in a text of any form: a plain file, or a text within another document. */
function textPlaces(c: Clue, text: string): Pick<Found, 'field' | 'line' | 'exact'>[] {
  const begin = /^[ \t]*#cloud-config\b.*$/m.exec(text);
  const lineOf = (offset: number) => text.slice(0, offset).split('\n').length;
  if (c.line !== undefined) {
    // cloud-init counts from the first line of the user-data.
    return [{field: `line ${c.line}`, line: (begin ? lineOf(begin.index) : 1) + c.line - 1, exact: true}];
  }
  return c.keys.flatMap(([key]) => {
    if (!key) return [];
    const m = new RegExp(`^([ \\t]*)["']?${key}["']?[ \\t]*:`, 'm').exec(text) ?? new RegExp(`[{,][ \\t]*"${key}"[ \\t]*:`).exec(text); // JSON may be on one line
    if (!m) return [];
    const rest = text.slice(m.index + m[0].length);
    const next = new RegExp(`\\n[ \\t]{0,${m[1]?.length ?? 0}}[^\\s#-]`).exec(rest);
    const end = m.index + m[0].length + (next ? next.index : rest.length);
    const at = wordAt(text, c.words, m.index, end);
    return [{field: key, line: lineOf(at ?? m.index + (m[1]?.length ?? 0)), exact: at !== undefined}];
  });
}

/** wordAt is where the first of some words stands in a stretch of a text. */
function wordAt(text: string, words: string[], from: number, to: number): number | undefined {
  const part = text.slice(from, to);
  for (const w of words) {
    const at = part.indexOf(w);
    if (at >= 0) return from + at;
  }
  return undefined;
}
