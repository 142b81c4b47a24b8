// The part "General" of the form: the name, what the machine boots from, its size, and who sets up its guest.
import {useState} from 'preact/hooks';
import {agentOf, setAgent, type Agent} from '../../lib/initial';
import {bootable, imageOf, nameForImage, rootDisk, setImage} from '../../lib/source';
import {fill} from '../../lib/texts';
import type {Image, Settings, Template, Version} from '../../lib/types';
import texts from '../../texts/compose.json';
import {SelectField} from '../field';
import {Choice, Line, useForm} from './controls';
import {Delivery} from './delivery';

/** What the part needs beside the form. */
export interface GeneralProps {
  mode: 'new' | 'edit' | 'run';
  settings: Settings;
  onSettings: (settings: Settings) => void;
  templates: Template[];
  images: Image[];
  version: Version;
}

/** The part "General". */
export function General(props: GeneralProps) {
  const {tree, change} = useForm();
  const agent = agentOf(tree);
  const systems: [Agent, string][] = [['cloud-init', texts.general.linux], ['ignition', texts.general.coreos], ['sysprep', texts.general.windows]];
  return (
    <section class="part" aria-labelledby="part-general">
      <h2 id="part-general">{texts.general.title}</h2>
      <datalist id="memory-sizes">{['512Mi', '1Gi', '2Gi', '4Gi', '8Gi', '16Gi'].map((m) => <option key={m} value={m} />)}</datalist>
      <div class="form form--even">
        {props.mode !== 'run' && <Line path="metadata.name" required label={texts.general.name} help={texts.general.nameHelp} placeholder="web-1" />}
        {props.mode === 'new' && <Line path="metadata.namespace" optional label={texts.general.namespace} help={texts.general.namespaceHelp} placeholder="default" />}
        {props.mode === 'new' && <Source {...props} />}
        <Line path="spec.hardware.memory" label={texts.general.memory} help={texts.general.memoryHelp} placeholder="1Gi" list="memory-sizes" />
        <Line path="spec.hardware.cpus" number label={texts.general.cpus} placeholder="1" />
        <Choice path="spec.guest.os" label={texts.general.os} value={agent} options={systems} onChoose={(a) => change((t) => setAgent(t, a as Agent))} />
        {agent === 'cloud-init' && <DataSource version={props.version} />}
        {agent === 'ignition' && <Choice path="spec.guest.ignitionPlatform" label={texts.general.platform} help={texts.general.platformHelp}
          options={[['', texts.general.platformDefault], ...['qemu', 'openstack', 'kubevirt', 'proxmoxve', 'flatcar'].map((p) => [p, p] as [string, string])]} />}
        {agent !== 'sysprep' && <Delivery {...props} />}
      </div>
    </section>
  );
}

function DataSource({version}: {version: Version}) {
  const {tree} = useForm();
  const names = version.dataSources.filter((n) => n !== 'ignition');
  if (tree.text('spec.dataSource') === 'none') return null;
  return <Choice path="spec.dataSource" label={texts.general.dataSource} help={texts.general.dataSourceHelp}
    options={[['', fill(texts.general.dataSourceDefault, {name: 'nocloud'})], ...names.map((n) => [n, n] as [string, string])]} />;
}

/** Source is the choice of what the machine boots from. */
function Source({settings, onSettings, templates, images}: GeneralProps) {
  const {tree, change} = useForm();
  const image = imageOf(tree);
  const from = bootable(templates, images, settings.template);
  const known = from.images.some((i) => nameForImage(i) === image);
  const [other, setOther] = useState(false);
  const value = settings.template ? `template:${settings.template}` : image && known && !other ? `image:${image}` : image || other ? 'other' : '';
  const choose = (v: string) => {
    const [kind, rest] = [v.slice(0, v.indexOf(':')), v.slice(v.indexOf(':') + 1)];
    setOther(v === 'other');
    const {template: _, ...without} = settings;
    onSettings(kind === 'template' ? {...settings, template: rest} : without);
    change((t) => setImage(t, kind === 'image' ? rest : v === 'other' && !known ? image : ''));
  };
  return <>
    <SelectField label={texts.general.from} value={value} onValue={choose} data-field="source"
      help={settings.template ? texts.general.fromHelpTemplate : value === '' ? texts.general.fromHelpNone : undefined}>
      {from.templates.length > 0 && <optgroup label={texts.general.fromTemplates}>
        {from.templates.map((t) => <option key={t.id} value={`template:${t.id}`}>{t.name}</option>)}
      </optgroup>}
      {from.images.length > 0 && <optgroup label={texts.general.fromImages}>
        {from.images.map((i) => <option key={i.id} value={`image:${nameForImage(i)}`}>{i.name}</option>)}
      </optgroup>}
      <option value="other">{texts.general.fromOther}</option>
      <option value="">{texts.general.fromNone}</option>
    </SelectField>
    {value === 'other' && <Line path={`spec.disks[${Math.max(rootDisk(tree), 0)}].source.image`} value={image} mono label={texts.general.image} help={texts.general.imageHelp}
      placeholder="https://example.org/debian-12.qcow2" onText={(text) => change((t) => setImage(t, text))} />}
    {!settings.template && image && <Line path={`spec.disks[${rootDisk(tree)}].size`} optional label={texts.general.diskSize} help={texts.general.diskSizeHelp} placeholder="20Gi" />}
  </>;
}
