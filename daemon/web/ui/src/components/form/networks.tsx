// The fold "Networks" of Initial Run: name resolution for all interfaces, and each interface with its protocols.
import {useEffect, useId, useState} from 'preact/hooks';
import {addNIC, addressOf, addressPath, isAddressed, join, nameOfNIC, protocolOf, putAddress, setNICName, setProtocol, split, titleOfNIC, whyNoAddress, type Family, type Protocol6, type TypedAddress} from '../../lib/nics';
import {counted} from '../../lib/words';
import {fill} from '../../lib/texts';
import texts from '../../texts/compose.json';
import {Button} from '../button';
import {TextField} from '../field';
import {Icon} from '../icons';
import {Check, Choice, Fold, Line, TextList, useForm, useItems} from './controls';

/** The fold "Networks". */
export function Networks({open}: {open?: boolean}) {
  const {tree, change} = useForm();
  const count = tree.count('spec.network.nics');
  const [selected, select] = useState(0);
  const at = Math.min(selected, count - 1);
  const {ids, remove} = useItems('spec.network.nics');
  const prefix = useId();
  const lost = tree.count('spec.network.dns.servers') > 0 && tree.get('spec.network.document') === undefined && !isAddressed(tree);
  const add = () => {
    change((t) => void addNIC(t));
    select(count);
  };
  return (
    <Fold title={texts.networks.title} name="networks" open={open ?? false} hint={counted(count, texts.networks.hint)}>
      {tree.get('spec.network.document') !== undefined && <p class="field__help">{texts.networks.document}</p>}
      {tree.text('spec.network.mode') === 'disabled' && <p class="field__help">{texts.networks.disabled}</p>}
      <div class="form">
        <Choice path="spec.network.format" label={texts.networks.protocol} help={texts.networks.protocolHelp} wide options={[['', texts.networks.openstack], ['eni', texts.networks.eni]]} />
        <TextList path="spec.network.dns.servers" by="words" mono label={texts.networks.dns} help={lost ? <span class="field__lost"><Icon name="alert" />{texts.networks.dnsLost}</span> : texts.networks.dnsHelp} />
        <TextList path="spec.network.dns.search" by="words" label={texts.networks.search} help={texts.networks.searchHelp} />
      </div>
      <div class="nics" role="group" aria-label={texts.networks.nics}>
        {Array.from({length: count}, (_, i) => (
          <Button key={ids[i]} kind="ghost" small class="nics__one" aria-pressed={i === at} aria-controls={`${prefix}-${ids[i]}`} onClick={() => select(i)}>{titleOfNIC(tree, i)}</Button>
        ))}
        <Button small icon="add" onClick={add}>{texts.networks.add}</Button>
        {count > 0 && <Button small kind="ghost" icon="trash" onClick={() => remove(at)}>{texts.networks.remove}</Button>}
      </div>
      {count === 0 ? <p class="field__help">{texts.networks.none}</p> : Array.from({length: count}, (_, i) => <div key={ids[i]} id={`${prefix}-${ids[i]}`} hidden={i !== at}><NIC at={i} /></div>)}
    </Fold>
  );
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

/** FamilyFields are the protocol of a family, and what a static address needs. Until there is an address, only the draft knows that it is to be static. */
function FamilyFields({at, family}: {at: number; family: Family}) {
  const form = useForm();
  const nic = `spec.network.nics[${at}]`;
  const own = `${nic}.address${family}`;
  const now = protocolOf(form.tree, at, family);
  const protocol = now === 'none' && form.typed(own) ? 'static' : now;
  const options = (family === 4 ? words4 : words6).map((w) => [w, texts.networks.protocols[w]] as [string, string]);
  return <>
    <Choice path={`${nic}.protocol${family}`} label={family === 4 ? texts.networks.protocol4 : texts.networks.protocol6} value={protocol} options={options} onChoose={(p) => form.type(own, (t) => {
      setProtocol(t, at, family, p as Protocol6);
      return p === 'static' && now !== 'static' ? {address: '', mask: ''} : undefined;
    })} />
    {protocol === 'static' ? <StaticFields at={at} family={family} /> : <div class="form__gap" />}
  </>;
}

function StaticFields({at, family}: {at: number; family: Family}) {
  const {tree, type, typed, error, hold, touch} = useForm();
  const nic = `spec.network.nics[${at}]`;
  const own = `${nic}.address${family}`;
  const stored = addressOf(tree, at, family);
  const kept = typed(own);
  const [last, setLast] = useState(split(stored, family));
  // What is typed counts as long as the definition says the same: also a netmask that is written in another way.
  const shown = kept ?? (join(last.address, last.mask) === stored ? last : split(stored, family));
  const put = (next: Pick<TypedAddress, 'address' | 'mask'>) => {
    setLast(next);
    type(own, (t) => putAddress(t, at, family, next, kept));
  };
  const stands = kept ? undefined : addressPath(tree, at, family);
  const why = whyNoAddress(shown.address, family);
  const wrong = why && fill(texts.networks.address[why], {nic: titleOfNIC(tree, at), typed: shown.address.trim(), family, other: family === 4 ? 6 : 4, example: examples[family]});
  useEffect(() => {
    hold(own, wrong);
    return () => hold(own, undefined);
  }, [wrong, own]);
  const leave = () => {
    touch(stands ?? `${nic}.addresses`);
    touch(own);
  };
  return <>
    <TextField label={family === 4 ? texts.networks.address4 : texts.networks.address6} mono value={shown.address} error={error(own) ?? (stands && error(stands))} onBlur={leave}
      placeholder={examples[family]} data-field={stands ? `${own} ${stands}` : own} onValue={(address) => put({...shown, address})} />
    <TextField label={family === 4 ? texts.networks.netmask4 : texts.networks.prefix6} mono value={shown.mask} onBlur={leave} placeholder={family === 4 ? '255.255.255.0' : '64'}
      onValue={(mask) => put({...shown, mask})} data-field={`${nic}.mask${family}`} />
    <Line path={`${nic}.gateway${family}`} mono label={family === 4 ? texts.networks.gateway4 : texts.networks.gateway6} placeholder={family === 4 ? '192.0.2.1' : '2001:db8::1'} />
  </>;
}

const examples: Record<Family, string> = {4: '192.0.2.10', 6: '2001:db8::10'};
