// The part "Initial Run" of the form: what the guest is told at its first boot, with the fields, labels and rules that users of oVirt know.
import {useRef} from 'preact/hooks';
import {agentOf, type Agent} from '../../lib/initial';
import texts from '../../texts/compose.json';
import {CheckField} from '../field';
import {Authentication, type AuthenticationProps} from './authentication';
import {Choice, Line, useForm} from './controls';
import {Networks} from './networks';
import {CustomScript} from './script';
import {Sysprep} from './sysprep';

/** What the part needs beside the form. */
export interface InitialProps extends Omit<AuthenticationProps, 'open'> {
  mode: 'new' | 'edit' | 'run';
  /** The guest is told anything at all. */
  on: boolean;
  onOn: (on: boolean) => void;
}

const masters = {'cloud-init': texts.initial.useCloudInit, ignition: texts.initial.useIgnition, sysprep: texts.initial.useSysprep} satisfies Record<Agent, unknown>;

/** The part "Initial Run" for cloud-init, Ignition and sysprep. */
export function Initial({mode, on, onOn, ...rest}: InitialProps) {
  const {tree} = useForm();
  const agent = agentOf(tree);
  const began = useRef(agent);
  return (
    <section class="part" aria-labelledby="part-initial">
      <h2 id="part-initial">{texts.initial.title}</h2>
      {(agent !== 'sysprep' || mode === 'run') && <CheckField label={masters[agent][mode]} checked={on} onValue={onOn} help={on ? undefined : texts.initial.off} data-field="initial" />}
      {on && agent === 'sysprep' && <Sysprep work={rest.work} onWork={rest.onWork} became={mode === 'new' || began.current !== 'sysprep'} />}
      {on && agent !== 'sysprep' && <>
        <div class="form">
          <Hostname />
          {agent === 'cloud-init' && <TimeZone />}
        </div>
        <div>
          <Authentication {...rest} />
          {agent === 'cloud-init' && <Networks open={tree.count('spec.network.nics') > 0} />}
          <CustomScript open={agent === 'ignition'} />
        </div>
      </>}
    </section>
  );
}

/** Hostname shows the machine's name until the user writes another. */
function Hostname() {
  const {tree, change} = useForm();
  const path = 'spec.identity.hostname';
  const own = tree.get(path) !== undefined;
  const name = tree.text('metadata.name');
  return <Line path={path} value={own ? tree.text(path) : name} maxLength={64} label={texts.initial.hostname} help={own ? texts.initial.hostnameRule : texts.initial.hostnameHelp}
    onText={(text) => change((t) => (text === name ? t.set(path, undefined) : t.keep(path, text)))} />;
}

/** The first choice when a time zone is to be configured. */
const gmt = 'Etc/GMT';

const zones: [string, string][] = [...new Set([gmt, 'Etc/UTC', ...Intl.supportedValuesOf('timeZone')])].map((z) => [z, z]);

function TimeZone() {
  const {tree, change} = useForm();
  const zone = tree.text('spec.guest.timezone');
  return (
    <div class="stack stack--tight">
      <CheckField label={texts.initial.timezoneCheck} checked={zone !== ''} onValue={(on) => change((t) => t.set('spec.guest.timezone', on ? gmt : undefined))} data-field="timezone" />
      {zone !== '' && <Choice path="spec.guest.timezone" label={texts.initial.timezone} options={zones} />}
    </div>
  );
}
