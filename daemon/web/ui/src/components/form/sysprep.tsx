// Initial Run of Windows: the fields of the answer file, and the file itself.
import {useEffect, useRef, useState} from 'preact/hooks';
import {convert} from '../../lib/api';
import {nameOf, open} from '../../lib/definition';
import {sentence} from '../../lib/remarks';
import {answersOf, defaultZone, fileOf, mediumOf, noAnswers, setMedium, vmOf, type Answers} from '../../lib/sysprep';
import {fill} from '../../lib/texts';
import texts from '../../texts/compose.json';
import {problemText} from '../../lib/problem';
import type {Diagnostic} from '../../lib/types';
import type {PasswordWork} from '../../lib/work';
import Editor from '../editor';
import {CheckField, SelectField, TextField} from '../field';
import {Fold, useForm} from './controls';
import {isTyped, mismatch} from './authentication';

/** How long the fields wait for the next key stroke before the file is written, in ms. */
const pause = 200;

/** useAnswers are the answers as they are typed; the daemon makes the file of them, which the definition holds. Without a file one is begun at once, or with
 * the first answer. */
function useAnswers(atOnce: boolean): {answers: Answers; put: (answers: Answers) => void; settle: () => void; wrong: readonly Diagnostic[]} {
  const {tree, change, hold} = useForm();
  const file = fileOf(tree)?.text;
  const [typed, setTyped] = useState<Answers | undefined>(atOnce && file === undefined ? noAnswers : undefined);
  const [wrong, setWrong] = useState<readonly Diagnostic[]>([]);
  const name = nameOf(tree);
  const written = useRef<string | undefined>(undefined);
  const flight = useRef<AbortController | undefined>(undefined);
  useEffect(() => {
    if (!typed) return undefined;
    const write = async () => {
      flight.current?.abort();
      const mine = flight.current = new AbortController();
      try {
        const {documents, diagnostics} = await convert({documents: [{name: 'vm.xml', text: vmOf(name, typed)}], to: 'native'}, mine.signal);
        const errors = diagnostics.filter((d) => d.severity === 'error');
        const made = open(documents);
        setWrong(errors);
        hold('sysprep', errors[0] ? sentence(errors[0]) : undefined);
        const from = made.ok ? made.opened.tree : undefined;
        const medium = from?.get(`spec.media[${mediumOf(from)}]`);
        if (!errors.length && from && medium) {
          written.current = fileOf(from)?.text;
          change((t) => setMedium(t, medium));
        }
      } catch (e) {
        if (!mine.signal.aborted) hold('sysprep', problemText(e));
      }
    };
    const timer = setTimeout(() => void write(), pause);
    return () => clearTimeout(timer);
  }, [typed, name]);
  const settle = () => {
    setTyped(undefined);
    setWrong([]);
    hold('sysprep', undefined);
  };
  // A file that has changed otherwise, as under Documents, counts: the next key stroke must not write over it.
  useEffect(() => {
    if (typed && written.current !== undefined && file !== undefined && file !== written.current) settle();
  }, [file]);
  useEffect(() => () => { flight.current?.abort(); hold('sysprep', undefined); }, []);
  return {answers: typed ?? answersOf(file ?? ''), put: setTyped, settle, wrong};
}

/** What the set needs beside the form. */
export interface SysprepProps {
  work: PasswordWork;
  onWork: (work: PasswordWork) => void;
  /** The machine has become one of Windows here, so it gets an answer file in any case. One that was so is not changed by looking at it. */
  became: boolean;
}

/** The sysprep set of Initial Run. */
export function Sysprep({work, onWork, became}: SysprepProps) {
  const {tree, change, error, touch, hold} = useForm();
  const {answers, put, settle, wrong} = useAnswers(became);
  const file = fileOf(tree);
  const [locale, setLocale] = useState(Boolean(file && /Locale>(?!en-US)/.test(file.text)));
  const of = (field: keyof Answers) => {
    const d = wrong.find((x) => x.field?.endsWith('.' + field));
    return d && sentence(d);
  };
  const line = (field: keyof Answers, label: string, more: {help?: string; placeholder?: string; maxLength?: number; wide?: boolean} = {}) => (
    <TextField label={label} {...more} value={answers[field]} error={of(field)} onValue={(v) => put({...answers, [field]: v})} data-field={`sysprep.${field}`} />
  );
  const secret = (label: string, value: string, onValue: (v: string) => void, field: string, wrong?: string) => (
    <TextField type="password" autocomplete="new-password" label={label} value={value} onValue={onValue} error={wrong} onBlur={() => touch(field)} data-field={field} />
  );
  const t = texts.sysprep;
  const password = {kind: 'clear', text: answers.root_password} as const;
  const differs = mismatch(password, work);
  // A password that came with the definition is not asked for again.
  const joined = work.join?.typed === answers.joinPassword ? work.join : undefined;
  const joinDiffers = answers.domain !== '' && joined !== undefined && joined.verify !== joined.typed;
  useEffect(() => {
    hold('joinVerify', joinDiffers ? texts.errors.verify : undefined);
    return () => hold('joinVerify', undefined);
  }, [joinDiffers]);
  return <>
    <p class="field__help">{t.help}</p>
    <div class="form">
      {line('host_name', t.computer, {help: t.computerHelp, maxLength: 15})}
      <WindowsZone zone={answers.timezone} error={of('timezone')} onZone={(timezone) => put({...answers, timezone})} />
      {line('org_name', t.organization)}
      {line('user_name', t.user, {help: t.userHelp})}
      {secret(t.password, answers.root_password, (v) => { onWork({...work, typed: v}); put({...answers, root_password: v}); }, 'sysprep.root_password', of('root_password'))}
      {secret(t.verify, isTyped(password, work) ? work.verify : answers.root_password, (verify) => onWork({...work, typed: answers.root_password, verify}), 'verify', differs ? error('verify') : undefined)}
      {line('domain', t.domain, {placeholder: 'corp.example.org'})}
      {line('active_directory_ou', t.ou, {placeholder: 'OU=web,DC=corp,DC=example'})}
      {answers.domain !== '' && line('joinUser', t.joinUser, {wide: true})}
      {answers.domain !== '' && secret(t.joinPassword, answers.joinPassword, (v) => { onWork({...work, join: {typed: v, verify: joined?.verify ?? ''}}); put({...answers, joinPassword: v}); }, 'sysprep.joinPassword')}
      {answers.domain !== '' && secret(t.joinVerify, joined ? joined.verify : answers.joinPassword, (verify) => onWork({...work, join: {typed: answers.joinPassword, verify}}), 'joinVerify', error('joinVerify'))}
      <CheckField wide label={t.locale} checked={locale} onValue={(on) => {
        setLocale(on);
        if (!on) put({...answers, input_locale: '', ui_language: '', system_locale: '', user_locale: ''});
      }} />
      {locale && <>{line('input_locale', t.input, {placeholder: 'en-US'})}{line('ui_language', t.ui, {placeholder: 'en-US'})}
        {line('system_locale', t.system, {placeholder: 'en-US'})}{line('user_locale', t.userLocale, {placeholder: 'en-US'})}</>}
    </div>
    <Fold title={t.script} name="sysprep">
      <p class="field__help">{t.scriptHelp}</p>
      {file && <div class="script" data-field={file.path}><Editor value={file.text} label={t.script} language="xml" fill onChange={(text) => { settle(); change((tree) => tree.set(file.path, text)); }} /></div>}
    </Fold>
  </>;
}

/** WindowsZone is the time zone by its name in Windows. Unless one is configured it is the default one, which an answer file has to say too. */
function WindowsZone({zone, error, onZone}: {zone: string; error: string | undefined; onZone: (zone: string) => void}) {
  const [names, setNames] = useState<readonly string[]>([]);
  const [on, setOn] = useState(zone !== '' && zone !== defaultZone);
  useEffect(() => { import('../../lib/zones').then((m) => setNames(m.windowsZones), () => undefined); }, []);
  const now = zone || defaultZone;
  return (
    <div class="stack stack--tight">
      <CheckField label={texts.initial.timezoneCheck} help={on ? undefined : fill(texts.sysprep.zoneDefault, {zone: now})} checked={on} onValue={(yes) => {
        setOn(yes);
        onZone(yes ? now : '');
      }} />
      {on && <SelectField label={texts.sysprep.timezone} value={now} error={error} onValue={onZone} data-field="sysprep.timezone">
        {(names.includes(now) ? names : [...names, now]).map((n) => <option key={n} value={n}>{n}</option>)}
      </SelectField>}
    </div>
  );
}
