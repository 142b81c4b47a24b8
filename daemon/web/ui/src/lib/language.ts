// What kind of text a document or a file is, by its content and its name.

/** The languages that the editor colours. */
export type Language = 'yaml' | 'json' | 'xml' | 'shell' | 'text';

/** The kinds of documents that people bring, as far as a page must tell them apart; the daemon decides what it really is. */
export type Kind = 'native' | 'kubevirt' | 'virtlet' | 'ovirt' | 'kubernetes' | 'cloud-config' | 'butane' | 'ignition' | 'script' | 'network-config' | 'meta-data' | 'mime' | 'other';

/** languageOf tells by a text how to colour it, and by a file's name where the text leaves it open. */
export function languageOf(text: string, name = ''): Language {
  const head = text.slice(0, 2000).replace(/^\uFEFF/, '').trimStart();
  if (/^#!.*\b(ba|da|k|z)?sh\b/.test(head)) return 'shell';
  if (/^#!/.test(head)) return 'text';
  if (/^(content-type|mime-version):/i.test(head)) return 'text';
  if (/^(\{|\[\s*[\]{["\d-])/.test(head)) return 'json';
  if (/^<[?!a-z]/i.test(head)) return 'xml';
  if (/\.(sh|bash|env)$/i.test(name)) return 'shell';
  if (/\.(conf|ini|service|network|link|netdev|pub|txt|cfg|nmconnection)$/i.test(name)) return 'text';
  if (/\.ya?ml$|\.bu$/i.test(name) || /^(#cloud-config|## template:|---)/.test(head)) return 'yaml';
  return /^(- |[\w."'/-]+:(\s|$))/m.test(head) ? 'yaml' : 'text';
}

/** kindOf tells what a document is by the marks that its kind has; "other" is nothing to worry about. */
export function kindOf(text: string): Kind {
  const head = text.slice(0, 64 << 10).replace(/^\uFEFF/, '').trimStart();
  if (head.startsWith('<')) return /^(<\?[^>]*\?>\s*)?(<!--[\s\S]*?-->\s*)*<(vm|vms|action|initialization|ovf:)/i.test(head) ? 'ovirt' : 'other';
  if (/^(content-type:\s*multipart|mime-version:)/i.test(head)) return 'mime';
  if (/^#!/.test(head)) return 'script';
  if (/^#cloud-config/.test(head) || /^## template:\s*jinja/.test(head)) return 'cloud-config';
  if (/(^|\n)["']?apiVersion["']?:\s*["']?vmseed\.dev\//.test(head) || /"apiVersion":\s*"vmseed\.dev\//.test(head)) return 'native';
  if (/apiVersion["']?:\s*["']?kubevirt\.io\//.test(head)) return 'kubevirt';
  if (/kubernetes\.io\/target-runtime["']?:\s*["']?virtlet\.cloud/.test(head)) return 'virtlet';
  if (/(^|\n|[{,]\s*)\s*["']?apiVersion["']?:/.test(head) && /["']?kind["']?:/.test(head)) return 'kubernetes';
  if (/^variant:/m.test(head) && /^version:/m.test(head)) return 'butane';
  if (/^\{/.test(head) && /"ignition"\s*:/.test(head)) return 'ignition';
  if (/^(network:|version:\s*[12]\s*$)/m.test(head) && /^\s*(ethernets|config|bonds|bridges|vlans)\s*:/m.test(head)) return 'network-config';
  if (/^["']?(instance-id|local-hostname)["']?:/m.test(head)) return 'meta-data';
  return 'other';
}

/** isPlain reports whether a document is a file that the guest itself reads, and so may have a role. */
export const isPlain = (kind: Kind) => !['native', 'kubevirt', 'virtlet', 'ovirt', 'kubernetes'].includes(kind);

/** nameFor proposes a name for a document, which no other in the list has. */
export function nameFor(text: string, taken: readonly string[]): string {
  const kind = kindOf(text);
  const language = languageOf(text);
  const ending = {yaml: '.yaml', json: '.json', xml: '.xml', shell: '.sh', text: ''}[language];
  const base: Partial<Record<Kind, string>> = {native: 'machine' + ending, kubevirt: 'vm' + ending, virtlet: 'pod' + ending, ovirt: 'vm.xml', kubernetes: 'objects' + ending,
    'cloud-config': 'user-data', script: 'user-data.sh', butane: 'config.bu', ignition: 'config.ign', 'network-config': 'network-config', 'meta-data': 'meta-data', mime: 'user-data'};
  return unique(base[kind] ?? 'document' + (text.trim() ? ending : ''), taken);
}

/** unique changes a name until no other has it: a second web.yaml becomes web-2.yaml. */
export function unique(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  const [, stem = name, ending = ''] = /^(.+?)(\.[^.]*)?$/.exec(name) ?? [];
  for (let i = 2; ; i++) {
    const next = `${stem}-${i}${ending}`;
    if (!taken.includes(next)) return next;
  }
}
