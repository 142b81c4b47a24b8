// The fold "Networks" of Initial Run: name resolution for all interfaces, and each interface with its protocols.
import {useEffect, useId, useRef, useState} from 'preact/hooks';
import {addNIC, addressOf, addressPath, familyOf, join, nameOfNIC, protocolOf, setAddress, setNICName, setProtocol, split, titleOfNIC, type Family, type Protocol6} from '../../lib/nics';
import {counted} from '../../lib/words';
import {fill} from '../../lib/texts';
import texts from '../../texts/compose.json';
import {Button} from '../button';
import {TextField} from '../field';
import {Check, Choice, Fold, Line, TextList, useForm} from './controls';

/** The fold "Networks". */
export function Networks({open}: {open?: boolean}) {
  const {tree, change} = useForm();
  const count = tree.count('spec.network.nics');
  const [selected, select] = useState(0);
  const at = Math.min(selected, count - 1);
  const nic = `spec.network.nics[${at}]`;
  const {ids, without} = useItems(count);
  const prefix = useId();
  const add = () => {
    change((t) => void addNIC(t));
    select(count);
  };
  const remove = () => {
    without(at);
    change((t) => t.remove(nic));
  };
  return (
    <Fold title={texts.networks.title} name="networks" open={open ?? false} hint={counted(count, texts.networks.hint)}>
      {tree.get('spec.network.document') !== undefined && <p class="field__help">{texts.networks.document}</p>}
      {tree.text('spec.network.mode') === 'disabled' && <p class="field__help">{texts.networks.disabled}</p>}
      <div class="form">
        <Choice path="spec.network.format" label={texts.networks.protocol} help={texts.networks.protocolHelp} wide options={[['', texts.networks.openstack], ['eni', texts.networks.eni]]} />
        <TextList path="spec.network.dns.servers" by="words" mono label={texts.networks.dns} help={texts.networks.dnsHelp} />
        <TextList path="spec.network.dns.search" by="words" label={texts.networks.search} help={texts.networks.searchHelp} />
      </div>
      <div class="nics" role="group" aria-label={texts.networks.nics}>
        {Array.from({length: count}, (_, i) => (
          <Button key={ids[i]} kind="ghost" small class="nics__one" aria-pressed={i === at} aria-controls={`${prefix}-${ids[i]}`} onClick={() => select(i)}>{titleOfNIC(tree, i)}</Button>
        ))}
        <Button small icon="add" onClick={add}>{texts.networks.add}</Button>
        {count > 0 && <Button small kind="ghost" icon="trash" onClick={remove}>{texts.networks.remove}</Button>}
      </div>
      {count === 0 ? <p class="field__help">{texts.networks.none}</p> : Array.from({length: count}, (_, i) => <div key={ids[i]} id={`${prefix}-${ids[i]}`} hidden={i !== at}><NIC at={i} /></div>)}
    </Fold>
  );
}

/** useItems tells the items of a list apart, so that what their controls hold back goes with the one that is taken out and with no other. */
function useItems(count: number): {ids: readonly number[]; without: (at: number) => void} {
  const known = useRef<number[]>([]);
  const last = useRef(0);
  while (known.current.length < count) known.current.push(last.current++);
  known.current.length = count;
  return {ids: known.current, without: (at) => void known.current.splice(at, 1)};
}

function NIC({at}: {at: number}) {
  const {tree, change} = useForm();
  const nic = `spec.network.nics[${at}]`;
  const more = tree.count(`${nic}.addresses`) - (addressOf(tree, at, 4) ? 1 : 0) - (addressOf(tree, at, 6) ? 1 : 0);
  return (
    <div class="form item">
      <Line path={`${nic}.rename`} value={nameOfNIC(tree, at)} mono label={texts.networks.name} placeholder={texts.networks.unnamed} maxLength={15} onText={(name) => change((t) => setNICName(t, at, name))} />
      <div class="field--low"><Check path={`${nic}.onBoot`} without label={texts.networks.onBoot} /></div>
      <FamilyFields at={at} family={4} />
      <FamilyFields at={at} family={6} />
      {more > 0 && <p class="field__help form__wide">{fill(texts.networks.more, {count: more})}</p>}
    </div>
  );
}

const words4 = ['none', 'dhcp', 'static'] as const;
const words6 = [...words4, 'autoconf', 'both'] as const;

/** FamilyFields are the protocol of a family, and what a static address needs. Until there is an address, only the control knows that it is to be static. */
function FamilyFields({at, family}: {at: number; family: Family}) {
  const {tree, change, touch} = useForm();
  const nic = `spec.network.nics[${at}]`;
  const now = protocolOf(tree, at, family);
  const [chosen, choose] = useState<Protocol6>(now);
  const protocol = chosen === 'static' && now === 'none' ? 'static' : now;
  const options = (family === 4 ? words4 : words6).map((w) => [w, texts.networks.protocols[w]] as [string, string]);
  return <>
    <Choice path={`${nic}.protocol${family}`} label={family === 4 ? texts.networks.protocol4 : texts.networks.protocol6} value={protocol} options={options} onChoose={(p) => {
      choose(p as Protocol6);
      change((t) => setProtocol(t, at, family, p as Protocol6));
    }} />
    {protocol === 'static' ? <StaticFields at={at} family={family} onLeave={() => { touch(addressPath(tree, at, family) ?? `${nic}.addresses`); touch(`${nic}.address${family}`); }} /> : <div class="form__gap" />}
  </>;
}

function StaticFields({at, family, onLeave}: {at: number; family: Family; onLeave: () => void}) {
  const {tree, change, error, hold} = useForm();
  const nic = `spec.network.nics[${at}]`;
  const stored = addressOf(tree, at, family);
  const [typed, setTyped] = useState(split(stored, family));
  // What is typed counts as long as the definition says the same: also what is no address yet.
  const shown = stored === '' || join(typed.address, typed.mask) === stored ? typed : split(stored, family);
  const put = (next: typeof shown) => {
    setTyped(next);
    const address = join(next.address, next.mask);
    const fits = address === '' || familyOf(address) === family;
    change((t) => setAddress(t, at, family, fits ? address : ''));
  };
  const own = `${nic}.address${family}`;
  const stands = addressPath(tree, at, family);
  const missing = stored === '' ? fill(texts.networks.needAddress, {nic: titleOfNIC(tree, at), family}) : undefined;
  useEffect(() => {
    hold(own, missing);
    return () => hold(own, undefined);
  }, [missing, own]);
  return <>
    <TextField label={family === 4 ? texts.networks.address4 : texts.networks.address6} mono value={shown.address} error={error(own) ?? (stands && error(stands))} onBlur={onLeave}
      placeholder={family === 4 ? '192.0.2.10' : '2001:db8::10'} data-field={stands ? `${own} ${stands}` : own} onValue={(address) => put({...shown, address})} />
    <TextField label={family === 4 ? texts.networks.netmask4 : texts.networks.prefix6} mono value={shown.mask} onBlur={onLeave} placeholder={family === 4 ? '255.255.255.0' : '64'}
      onValue={(mask) => put({...shown, mask})} data-field={`${nic}.mask${family}`} />
    <Line path={`${nic}.gateway${family}`} mono label={family === 4 ? texts.networks.gateway4 : texts.networks.gateway6} placeholder={family === 4 ? '192.0.2.1' : '2001:db8::1'} />
  </>;
}
