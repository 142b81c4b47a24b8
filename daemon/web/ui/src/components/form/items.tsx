// Lists of things in the form: users, files, disks and mounts, each thing with the few fields that people set by hand.
import type {ComponentChildren} from 'preact';
import {isHash, mainUser, passwordOf} from '../../lib/initial';
import {freeDisk, isCD} from '../../lib/source';
import {counted} from '../../lib/words';
import {fill} from '../../lib/texts';
import texts from '../../texts/compose.json';
import {Button} from '../button';
import {SelectField, TextField} from '../field';
import {Block, Check, Choice, Fold, Line, TextList, useForm, useItems, useTyped} from './controls';

/** Item is one thing of a list: its title, a button that takes it away, and its fields. */
function Item({title, remove, onRemove, children}: {title: string; remove: string; onRemove: () => void; children: ComponentChildren}) {
  const go = (e: MouseEvent) => {
    // The button goes with the item; the keyboard goes on from the head of the list.
    (e.currentTarget as Element).closest('details')?.querySelector('summary')?.focus({preventScroll: true});
    onRemove();
  };
  return (
    <fieldset class="item">
      <legend class="sr">{title}</legend>
      <div class="item__head"><span aria-hidden="true" class="item__title">{title}</span><Button kind="ghost" small icon="trash" label={remove} onClick={go} /></div>
      <div class="form">{children}</div>
    </fieldset>
  );
}

const numbers = (n: number) => Array.from({length: n}, (_, i) => i);

/** The users beside the default user. */
export function Users() {
  const {tree, change} = useForm();
  const {ids, remove} = useItems('spec.users');
  const main = mainUser(tree);
  const others = numbers(tree.count('spec.users')).filter((i) => i !== main);
  return (
    <Fold title={texts.users.title} name="users" hint={others.length > 0 ? fill(texts.users.hint, {count: others.length}) : ''}>
      {others.length === 0 && <p class="field__help">{texts.users.none}</p>}
      {others.map((i, number) => {
        const user = `spec.users[${i}]`;
        const name = tree.text(`${user}.name`);
        return (
          <Item key={ids[i]} title={name || fill(texts.users.user, {number: number + 1})} remove={fill(texts.users.remove, {name})} onRemove={() => remove(i)}>
            <Line path={`${user}.name`} label={texts.users.name} maxLength={32} />
            <Line path={`${user}.gecos`} label={texts.users.gecos} optional />
            <UserPassword user={user} />
            <TextList path={`${user}.groups`} by="words" label={texts.users.groups} help={texts.users.groupsHelp} optional />
            <Line path={`${user}.shell`} mono label={texts.users.shell} placeholder="/bin/bash" optional />
            <TextList path={`${user}.sudo`} by="lines" rows={2} mono label={texts.users.sudo} help={texts.users.sudoHelp} optional />
            <TextList path={`${user}.sshAuthorizedKeys`} by="lines" rows={3} mono wide label={texts.users.keys} help={texts.auth.keysHelp} />
          </Item>
        );
      })}
      <div><Button small icon="add" onClick={() => change((t) => t.append('spec.users', {name: ''}))}>{texts.users.add}</Button></div>
    </Fold>
  );
}

function UserPassword({user}: {user: string}) {
  const {tree, change, error, touch} = useForm();
  const {kind, text} = passwordOf(tree, user);
  const [typed, setTyped] = useTyped(text, (t) => t);
  if (kind === 'elsewhere') return <p class="field__help">{texts.users.elsewhere}</p>;
  return <TextField type="password" autocomplete="new-password" label={texts.users.password} help={texts.users.passwordHelp} optional value={typed} error={error(`${user}.password`)}
    data-field={`${user}.password`} onBlur={() => touch(`${user}.password`)} onValue={(t) => {
      setTyped(t);
      change((tree) => {
        tree.set(`${user}.password`, isHash(t) ? undefined : t);
        tree.set(`${user}.passwordHash`, isHash(t) ? t : undefined);
      });
    }} />;
}

/** The files that the guest writes. */
export function Files() {
  const {tree, change} = useForm();
  const {ids, remove} = useItems('spec.files');
  const count = ids.length;
  return (
    <Fold title={texts.files.title} name="files" hint={count > 0 ? fill(texts.files.hint, {count}) : ''}>
      {count === 0 && <p class="field__help">{texts.files.none}</p>}
      {numbers(count).map((i) => {
        const file = `spec.files[${i}]`;
        const path = tree.text(`${file}.path`);
        const content = tree.get(`${file}.content`);
        return (
          <Item key={ids[i]} title={path || fill(texts.files.file, {number: i + 1})} remove={fill(texts.files.remove, {name: path})} onRemove={() => remove(i)}>
            <Line path={`${file}.path`} mono wide label={texts.files.path} placeholder="/etc/motd" />
            {typeof content === 'object' && content !== null ? <p class="field__help form__wide">{texts.files.elsewhere}</p>
              : <Block path={`${file}.content`} mono wide rows={4} label={texts.files.content} />}
            <Line path={`${file}.mode`} mono label={texts.files.mode} help={texts.files.modeHelp} placeholder="0644" optional />
            <Line path={`${file}.owner`} mono label={texts.files.owner} help={texts.files.ownerHelp} placeholder="root:root" optional />
            <Check path={`${file}.defer`} wide label={texts.files.defer} />
          </Item>
        );
      })}
      <div><Button small icon="add" onClick={() => change((t) => t.append('spec.files', {path: '', content: ''}))}>{texts.files.add}</Button></div>
    </Fold>
  );
}

/** The disks beside the root disk and the CD that the form attaches, and with a guest that is told so what is mounted. */
export function Disks({mounted}: {mounted: boolean}) {
  const {tree, change, disc} = useForm();
  const disks = numbers(tree.count('spec.disks')).filter((i) => tree.get(`spec.disks[${i}].root`) !== true && i !== disc);
  const mountable = disks.filter((i) => !isCD(tree, i));
  const diskItems = useItems('spec.disks');
  const mountItems = useItems('spec.mounts');
  const mounts = mountItems.ids.length;
  const hint = [counted(disks.length, texts.disks.hint.disks), counted(mounts, texts.disks.hint.mounts)];
  return (
    <Fold title={texts.disks.title} name="disks" hint={hint.filter(Boolean).join(', ')}>
      <h3>{texts.disks.disks}</h3>
      {disks.length === 0 && <p class="field__help">{texts.disks.none}</p>}
      {disks.map((i, number) => <Disk key={diskItems.ids[i]} at={i} number={number + 1} onRemove={() => diskItems.remove(i)} />)}
      <div><Button small icon="add" onClick={() => change((t) => t.append('spec.disks', {name: freeDisk(t, 'data', true), source: {blank: true, filesystem: 'ext4'}, size: '1Gi'}))}>{texts.disks.addDisk}</Button></div>
      {mounted && <>
        <h3>{texts.disks.mounts}</h3>
        {mounts === 0 && <p class="field__help">{texts.disks.noMounts}</p>}
        {numbers(mounts).map((i) => <Mount key={mountItems.ids[i]} at={i} onRemove={() => mountItems.remove(i)} disks={mountable.map((d) => tree.text(`spec.disks[${d}].name`))} />)}
        <div><Button small icon="add" onClick={() => change((t) => t.append('spec.mounts', mountable[0] === undefined ? {device: '/dev/vdb', path: '/srv'}
          : {disk: tree.text(`spec.disks[${mountable[0]}].name`), ...(tree.text(`spec.disks[${mountable[0]}].source.filesystem`) && {partition: 1}), path: '/srv'}))}>{texts.disks.addMount}</Button></div>
      </>}
    </Fold>
  );
}

function Disk({at, number, onRemove}: {at: number; number: number; onRemove: () => void}) {
  const {tree, change} = useForm();
  const disk = `spec.disks[${at}]`;
  const name = tree.text(`${disk}.name`);
  const filesystem = tree.text(`${disk}.source.filesystem`);
  const cd = isCD(tree, at);
  const kind = tree.get(`${disk}.source.path`) !== undefined ? 'path' : tree.get(`${disk}.source.blank`) !== true ? 'other' : filesystem === '' ? 'blank' : filesystem;
  const kinds = texts.disks.kinds as Record<string, string>;
  const offered = ['blank', 'ext4', 'xfs', 'path', ...(kind in {blank: 1, ext4: 1, xfs: 1, path: 1} ? [] : [kind])];
  const put = (k: string) => change((t) => {
    if (k !== 'other') t.set(`${disk}.source`, k === 'path' ? {path: '/'} : k === 'blank' ? {blank: true} : {blank: true, filesystem: k});
  });
  return (
    <Item title={(name || fill(texts.disks.disk, {number})) + (cd ? ` (${texts.run.cd})` : '')} remove={fill(texts.disks.removeDisk, {name})} onRemove={onRemove}>
      <Line path={`${disk}.name`} label={texts.disks.name} />
      {!cd && <>
        <SelectField label={texts.disks.kind} value={kind} onValue={put}>
          {offered.map((k) => <option key={k} value={k}>{kinds[k] ?? k}</option>)}
        </SelectField>
        <Line path={`${disk}.size`} label={texts.disks.size} placeholder="10Gi" />
      </>}
      {kind === 'path' && <Line path={`${disk}.source.path`} mono label={texts.disks.path} placeholder="/srv/images/data.qcow2" />}
    </Item>
  );
}

function Mount({at, disks, onRemove}: {at: number; disks: string[]; onRemove: () => void}) {
  const {tree, change} = useForm();
  const mount = `spec.mounts[${at}]`;
  const path = tree.text(`${mount}.path`);
  const disk = tree.text(`${mount}.disk`);
  const share = tree.text(`${mount}.share`);
  const put = (what: string) => change((t) => {
    t.set(`${mount}.disk`, what || undefined);
    if (what) t.set(`${mount}.device`, undefined);
    else t.keep(`${mount}.device`, '/dev/vdb');
  });
  return (
    <Item title={path || fill(texts.disks.mount, {number: at + 1})} remove={fill(texts.disks.removeMount, {name: path})} onRemove={onRemove}>
      {!share && <Choice path={`${mount}.disk`} label={texts.disks.what} help={texts.disks.whatHelp} options={[...disks.map((d) => [d, d] as [string, string]), ['', texts.disks.device]]} onChoose={put} />}
      {!share && !disk && <Line path={`${mount}.device`} mono label={texts.disks.deviceName} placeholder="/dev/vdb" />}
      {disk && <Line path={`${mount}.partition`} number label={texts.disks.partition} optional />}
      <Line path={`${mount}.path`} mono label={texts.disks.where} placeholder="/srv" />
      <Line path={`${mount}.type`} label={texts.disks.type} placeholder="ext4" optional />
      <TextList path={`${mount}.options`} by="words" label={texts.disks.options} optional />
    </Item>
  );
}

/** Packages, and commands for the end of the first boot. */
export function Software() {
  const {tree} = useForm();
  const commands = numbers(tree.count('spec.runcmd')).map((i) => tree.get(`spec.runcmd[${i}]`));
  const plain = commands.every((c) => typeof c === 'string' && !c.trim().includes('\n'));
  return (
    <Fold title={texts.software.title} name="software">
      <div class="form">
        <TextList path="spec.packages.install" by="words" wide label={texts.software.install} help={texts.software.installHelp} />
        <Check path="spec.packages.update" label={texts.software.update} />
        <Check path="spec.packages.upgrade" label={texts.software.upgrade} />
        {plain ? <TextList path="spec.runcmd" by="lines" wide mono rows={3} label={texts.software.runcmd} help={texts.software.runcmdHelp} /> : <p class="field__help form__wide">{texts.software.mixed}</p>}
      </div>
    </Fold>
  );
}
