// The answers that Windows' setup asks for, as the form has them: written by the daemon, which knows the answer file, and read back from it.
import type {Tree, View} from './tree';

/** What the sysprep part of the form asks, by the names of oVirt's members. */
export interface Answers {
  host_name: string;
  domain: string;
  org_name: string;
  active_directory_ou: string;
  timezone: string;
  user_name: string;
  root_password: string;
  input_locale: string;
  ui_language: string;
  system_locale: string;
  user_locale: string;
  /** The account that may add the computer to the domain. */
  joinUser: string;
  joinPassword: string;
}

/** The answers of a form that nobody has filled in. */
export const noAnswers: Answers = {host_name: '', domain: '', org_name: '', active_directory_ou: '', timezone: '', user_name: '', root_password: '',
  input_locale: '', ui_language: '', system_locale: '', user_locale: '', joinUser: '', joinPassword: ''};

/** The time zone of an engine's form. It is always stated, so that a form without answers makes a file as well. */
export const defaultZone = 'GMT Standard Time';

const escape = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** vmOf writes the answers as a VM of oVirt's, of which the daemon makes the answer file. Its lines are those of errors only. */
export function vmOf(name: string, answers: Answers): string {
  const {joinUser, joinPassword, ...members} = {...answers, timezone: answers.timezone || defaultZone};
  const initialization = Object.entries(members).filter(([, v]) => v !== '').map(([k, v]) => `<${k}>${escape(v)}</${k}>`).join('');
  const user = joinUser || joinPassword ? `<domain><user><user_name>${escape(joinUser)}</user_name><password>${escape(joinPassword)}</password></user></domain>` : '';
  return `<vm><name>${escape(name || 'machine')}</name><os><type>windows_2022</type></os>${user}<initialization>${initialization}</initialization></vm>`;
}

const entities: Record<string, string> = {lt: '<', gt: '>', amp: '&', quot: '"', apos: "'"};

function unescape(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (all, hex: string | undefined, decimal: string | undefined, name: string | undefined) => {
    if (name) return entities[name] ?? all;
    const code = hex ? parseInt(hex, 16) : Number(decimal);
    return code > 0 && code < 0x110000 ? String.fromCodePoint(code) : all;
  });
}

/** answersOf reads what the fields of the form say from an answer file. Fields that it does not state are empty. */
export function answersOf(file: string): Answers {
  const find = (pattern: string, within = file) => {
    const m = new RegExp(`<${pattern}>([^<]*)</`).exec(within);
    return m ? unescape(m[1] ?? '').trim() : '';
  };
  const part = (name: string) => new RegExp(`<${name}[ >][^]*?</${name}>`).exec(file)?.[0] ?? '';
  const [join, account, admin] = [part('Credentials'), part('LocalAccount'), part('AdministratorPassword')];
  return {
    host_name: find('ComputerName'), domain: find('JoinDomain'), org_name: find('RegisteredOrganization'), active_directory_ou: find('MachineObjectOU'),
    timezone: find('TimeZone'), user_name: find('Name', account), root_password: password(admin, 'AdministratorPassword'),
    input_locale: find('InputLocale'), ui_language: find('UILanguage'), system_locale: find('SystemLocale'), user_locale: find('UserLocale'),
    joinUser: find('Username', join), joinPassword: find('Password', join),
  };
}

/** password reads a value that Windows hides: UTF-16 with a word at its end, in base64. */
function password(element: string, suffix: string): string {
  const value = /<Value>([^<]*)<\/Value>/.exec(element)?.[1]?.trim() ?? '';
  if (!/<PlainText>\s*false\s*</.test(element)) return unescape(value);
  try {
    const raw = Uint8Array.from(atob(value), (c) => c.charCodeAt(0));
    const text = new TextDecoder('utf-16le').decode(raw);
    return text.endsWith(suffix) ? text.slice(0, -suffix.length) : '';
  } catch {
    return '';
  }
}

/** mediumOf is the number of the medium with the answer file, or -1. */
export function mediumOf(tree: View): number {
  for (let i = 0; i < tree.count('spec.media'); i++) if (tree.text(`spec.media[${i}].kind`) === 'sysprep') return i;
  return -1;
}

/** fileOf is the path of the answer file in a definition, and its text. */
export function fileOf(tree: View): {path: string; text: string} | undefined {
  const at = mediumOf(tree);
  if (at < 0 || tree.count(`spec.media[${at}].files`) === 0) return undefined;
  const path = `spec.media[${at}].files[0].content`;
  return {path, text: tree.text(path)};
}

/** setMedium puts the medium with the answer file into a definition, in the place of an earlier one. Nobody else tells Windows its name. */
export function setMedium(tree: Tree, medium: unknown): void {
  const at = mediumOf(tree);
  if (at >= 0) tree.set(`spec.media[${at}]`, medium);
  else tree.append('spec.media', medium);
  tree.keep('spec.identity.hostname', '');
}
