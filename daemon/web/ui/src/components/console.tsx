import {useEffect, useRef, useState} from 'preact/hooks';
import {running} from '../lib/actions';
import {ConsoleLink, type LinkState} from '../lib/consolelink';
import {copy} from '../lib/files';
import {ask, toast} from '../lib/shout';
import type {Screen} from '../lib/terminal';
import {fill} from '../lib/texts';
import type {Machine} from '../lib/types';
import texts from '../texts/machine.json';
import {Button} from './button';
import {Icon} from './icons';
import {Pill, type Tone} from './status';

const words = texts.console;
const leaveKeys = 'Ctrl+F6';
const pasteKeys = 'Ctrl+Shift+V';

/** The serial console of a machine, and what the machine says when it has none. */
export default function Console({machine}: {machine: Machine}) {
  if (!running(machine.status)) {
    return <div class="empty"><Icon name="console" /><h2>{words.off}</h2><p class="empty__text">{words.offText}</p><a href="#log">{texts.boot.toLog}</a></div>;
  }
  return <Session key={machine.started} machine={machine} />;
}

/** What a session consists of while it is shown. */
interface Parts {
  link: ConsoleLink;
  screen: Screen;
}

function Session({machine}: {machine: Machine}) {
  const host = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const parts = useRef<Parts | undefined>(undefined);
  const [state, setState] = useState<LinkState>({kind: 'connecting'});
  const [failed, setFailed] = useState(false);
  const [readable, setReadable] = useState(false);
  const leave = () => bar.current?.querySelector('button')?.focus();
  useEffect(() => {
    let gone = false;
    void import('../lib/terminal').then(({openScreen}) => {
      if (gone || !host.current) return;
      const screen = openScreen(host.current, fill(words.label, {name: machine.name}), {onInput: (b) => parts.current?.link.send(b), onLeave: leave, onCopy: () => copyScreen(screen)});
      const link = new ConsoleLink(machine.id, {onPast: screen.replay, onBytes: screen.write, onState: setState});
      parts.current = {link, screen};
      link.connect();
      screen.focus();
    }, () => setFailed(true));
    return () => {
      gone = true;
      parts.current?.link.close();
      parts.current?.screen.dispose();
      parts.current = undefined;
    };
  }, [machine.id]);
  const type = (f: (p: Parts) => void) => () => {
    if (!parts.current) return;
    f(parts.current);
    parts.current.screen.focus();
  };
  const pasted = (e: ClipboardEvent) => {
    const text = e.clipboardData?.getData('text/plain') ?? '';
    if (!several(text)) return;
    e.preventDefault();
    e.stopPropagation();
    if (parts.current) void paste(parts.current.screen, text);
  };
  return (
    <section class="console" aria-label={fill(words.label, {name: machine.name})}>
      <div class="console__bar" ref={bar} role="toolbar" aria-label={texts.tabs.console}>
        <State state={state} onAgain={() => parts.current?.link.connect()} />
        <Button small kind="ghost" icon="copy" onClick={type((p) => copyScreen(p.screen))}>{words.copy}</Button>
        <Button small kind="ghost" onClick={type((p) => void pasteClipboard(p.screen))}>{words.paste}</Button>
        <Button small kind="ghost" title={words.sizeTitle} disabled={state.kind !== 'open'} onClick={type(fitShell)}>{words.size}</Button>
        <Button small kind="ghost" icon="show" title={words.readerTitle} aria-pressed={readable} onClick={type((p) => { p.screen.readable(!readable); setReadable(!readable); })}>{words.reader}</Button>
      </div>
      <div class="console__screen" ref={host} onPasteCapture={pasted}>{failed && <p class="console__failed">{words.load}</p>}</div>
      <p class="small muted">{fill(words.note, {keys: leaveKeys})}</p>
    </section>
  );
}

const tones: Record<LinkState['kind'], Tone> = {connecting: 'busy', open: 'ok', waiting: 'warn', ended: 'idle'};

function State({state, onAgain}: {state: LinkState; onAgain: () => void}) {
  const word = {connecting: words.connecting, open: words.open, ended: words.ended, waiting: state.kind === 'waiting' ? fill(words.lost, {n: state.seconds}) : ''}[state.kind];
  return (
    <div class="console__state" role="status">
      <Pill tone={tones[state.kind]}>{word}</Pill>
      {state.kind === 'waiting' && <Button small onClick={onAgain}>{words.again}</Button>}
    </div>
  );
}

/** fitShell types the command that tells a shell how large the screen is. The space before it keeps it out of most shells' history. */
function fitShell({link, screen}: Parts): void {
  const {rows, columns} = screen.size();
  link.send(new TextEncoder().encode(` stty rows ${rows} columns ${columns}\r`));
}

function copyScreen(screen: Screen): void {
  const selection = screen.selection();
  void copy(selection || screen.text(), selection ? words.copiedSelection : words.copiedAll);
}

async function pasteClipboard(screen: Screen): Promise<void> {
  let text: string;
  try {
    text = await navigator.clipboard.readText();
  } catch {
    toast({kind: 'warn', title: fill(words.pasteDenied, {keys: pasteKeys})});
    return;
  }
  await paste(screen, text);
}

const several = (text: string): boolean => /[\r\n]./s.test(text);

/** paste types a text, after a question when it has several lines: each of them is a command in a shell. */
async function paste(screen: Screen, text: string): Promise<void> {
  if (several(text)) {
    const answer = await ask({title: words.pasteTitle, text: fill(words.pasteText, {n: text.trimEnd().split(/\r\n?|\n/).length}), action: words.paste});
    if (!answer.go) return;
  }
  screen.paste(text);
  screen.focus();
}
