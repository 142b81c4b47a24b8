// NICs as the form shows them: a protocol for each family, one static address, a gateway.
import type {Tree, View} from './tree';

/** How a NIC gets its IPv4 address. */
export type Protocol4 = 'none' | 'dhcp' | 'static';
/** How a NIC gets its IPv6 address; both is what router advertisements say and a lease. */
export type Protocol6 = Protocol4 | 'autoconf' | 'both';
/** The two families of addresses. */
export type Family = 4 | 6;

/** familyOf tells the family of a text that begins as an address; without a sign of either there is none. */
export function familyOf(address: string): Family | undefined {
  const head = address.split('/')[0] ?? '';
  return head.includes(':') ? 6 : head.includes('.') ? 4 : undefined;
}

const nic = (i: number) => `spec.network.nics[${i}]`;

/** addressAt is the number of the first address of a family in a NIC's list, or -1. */
function addressAt(tree: View, i: number, family: Family): number {
  const path = `${nic(i)}.addresses`;
  for (let k = 0; k < tree.count(path); k++) if (familyOf(tree.text(`${path}[${k}]`)) === family) return k;
  return -1;
}

/** addressOf is the first address of a family with its prefix, empty when there is none. */
export function addressOf(tree: View, i: number, family: Family): string {
  const at = addressAt(tree, i, family);
  return at < 0 ? '' : tree.text(`${nic(i)}.addresses[${at}]`);
}

/** addressPath is where the first address of a family stands in the definition, if there is one. */
export function addressPath(tree: View, i: number, family: Family): string | undefined {
  const at = addressAt(tree, i, family);
  return at < 0 ? undefined : `${nic(i)}.addresses[${at}]`;
}

/** protocolOf tells how a NIC gets the address of a family. */
export function protocolOf(tree: View, i: number, family: Family): Protocol6 {
  if (addressOf(tree, i, family)) return 'static';
  if (family === 4) return tree.get(`${nic(i)}.dhcp4`) === true ? 'dhcp' : 'none';
  const slaac = tree.get(`${nic(i)}.slaac`) === true;
  if (tree.text(`${nic(i)}.dhcp6`)) return slaac ? 'both' : 'dhcp';
  return slaac ? 'autoconf' : 'none';
}

/** isAddressed reports whether any NIC says how it gets an address. Without, no guest is told of name servers. */
export function isAddressed(tree: View): boolean {
  return Array.from({length: tree.count('spec.network.nics')}, (_, i) => i).some((i) => protocolOf(tree, i, 4) !== 'none' || protocolOf(tree, i, 6) !== 'none');
}

/** setProtocol changes how a NIC gets the address of a family. What belongs to a static address alone goes with it. */
export function setProtocol(tree: Tree, i: number, family: Family, protocol: Protocol6): void {
  const path = nic(i);
  if (protocol !== 'static') {
    setAddress(tree, i, family, '');
    tree.set(`${path}.gateway${family}`, undefined);
  }
  if (family === 4) {
    tree.set(`${path}.dhcp4`, protocol === 'dhcp' ? true : undefined);
    return;
  }
  tree.set(`${path}.slaac`, protocol === 'autoconf' || protocol === 'both' ? true : undefined);
  const old = tree.text(`${path}.dhcp6`);
  tree.set(`${path}.dhcp6`, protocol === 'dhcp' || protocol === 'both' ? old || 'stateful' : undefined);
}

/** setAddress changes the first address of a family and leaves further ones alone. */
export function setAddress(tree: Tree, i: number, family: Family, address: string): void {
  const path = `${nic(i)}.addresses`;
  const at = addressAt(tree, i, family);
  if (address) tree.set(`${path}[${at < 0 ? tree.count(path) : at}]`, address);
  else if (at >= 0) tree.remove(`${path}[${at}]`);
}

/** What stands in the controls of a static address that is none yet. */
export interface TypedAddress {
  address: string;
  mask: string;
  /** The place in the list of the address that stood there before, if one did. */
  at?: number | undefined;
}

/** putAddress puts what is typed for a NIC into the definition, and returns it if it cannot: then there is no such address in the definition, and the next
 * one that is typed comes where the last one was. */
export function putAddress(tree: Tree, i: number, family: Family, typed: TypedAddress, before: TypedAddress | undefined): TypedAddress | undefined {
  const address = join(typed.address, typed.mask);
  if (whyNoAddress(typed.address, family)) {
    const at = before ? before.at : addressAt(tree, i, family);
    if (!before) setAddress(tree, i, family, '');
    return {address: typed.address, mask: typed.mask, at: at === -1 ? undefined : at};
  }
  if (before?.at === undefined) setAddress(tree, i, family, address);
  else {
    const path = `${nic(i)}.addresses`;
    tree.set(path, Array.from({length: tree.count(path)}, (_, k) => tree.text(`${path}[${k}]`)).toSpliced(before.at, 0, address));
  }
  return undefined;
}

/** whyNoAddress tells why a text is no address of a family: there is none, it is one of the other family, or it is none at all. What begins as an address is
 * left to the daemon, which says what is wrong with it. */
export function whyNoAddress(text: string, family: Family): 'missing' | 'other' | 'none' | undefined {
  const is = familyOf(text);
  if (is === family && !(family === 4 && /[^\d./]/.test(text.trim()))) return undefined;
  return text.trim() === '' ? 'missing' : is !== undefined && is !== family ? 'other' : 'none';
}

/** join makes an address with the length of its prefix of what two controls say. */
export function join(address: string, mask: string): string {
  const a = address.trim();
  if (!a || a.includes('/')) return a;
  const m = mask.trim().replace(/^\//, '');
  return m ? `${a}/${maskBits(m) ?? m}` : a;
}

/** split takes an address with its prefix apart, the mask in the way of its family. */
export function split(text: string, family: Family): {address: string; mask: string} {
  const [address = '', bits = ''] = text.split('/');
  return {address, mask: family === 4 && /^\d+$/.test(bits) && Number(bits) <= 32 ? bitsMask(Number(bits)) : bits};
}

/** maskBits is the length of a netmask such as 255.255.255.0, or nothing when it has holes or is none. */
export function maskBits(mask: string): number | undefined {
  const parts = mask.split('.');
  if (parts.length !== 4 || !parts.every((p) => /^\d{1,3}$/.test(p) && Number(p) < 256)) return undefined;
  const bits = parts.map((p) => Number(p).toString(2).padStart(8, '0')).join('');
  return /^1*0*$/.test(bits) ? bits.lastIndexOf('1') + 1 : undefined;
}

/** bitsMask is the netmask of a length. */
export function bitsMask(bits: number): string {
  return [0, 8, 16, 24].map((at) => 256 - 2 ** (8 - Math.min(Math.max(bits - at, 0), 8))).join('.');
}

/** addNIC adds a NIC of the next free name that gets its address by DHCP, and returns its name. */
export function addNIC(tree: Tree): string {
  const taken = new Set(Array.from({length: tree.count('spec.network.nics')}, (_, i) => titleOfNIC(tree, i)));
  let n = 0;
  while (taken.has(`eth${n}`)) n++;
  tree.append('spec.network.nics', {name: `eth${n}`, rename: `eth${n}`, dhcp4: true});
  return `eth${n}`;
}

/** nameOfNIC is the name that the definition gives an interface in its guest; empty when the guest names it. */
export function nameOfNIC(tree: View, i: number): string {
  return tree.text(`${nic(i)}.rename`) || (tree.text(`${nic(i)}.match`) === 'name' ? tree.text(`${nic(i)}.name`) : '');
}

/** titleOfNIC is what people tell an interface by. */
export const titleOfNIC = (tree: View, i: number): string => nameOfNIC(tree, i) || tree.text(`${nic(i)}.name`) || String(i + 1);

/** setNICName renames an interface in its guest; the name by which the document knows it goes along if it is the same. */
export function setNICName(tree: Tree, i: number, name: string): void {
  const path = nic(i);
  const [inside, own] = [tree.text(`${path}.rename`), tree.text(`${path}.name`)];
  if (tree.text(`${path}.match`) === 'name' || (inside !== '' && inside === own && name !== '')) tree.set(`${path}.name`, name);
  if (tree.text(`${path}.match`) !== 'name' || inside) tree.set(`${path}.rename`, name);
}
