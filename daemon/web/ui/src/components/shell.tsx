import type {ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {shareLogOut} from '../lib/session';
import {listen, type Answer, type Question, type Toast} from '../lib/shout';
import texts from '../texts/components.json';
import {Button} from './button';
import {Dialog} from './dialog';
import {CheckField} from './field';
import {Notice} from './notice';

interface Shown extends Toast {
  id: number;
}

interface Open {
  question: Question;
  answer: (a: Answer) => void;
}

/** How long a toast that is not bad stays, in milliseconds. */
const stay = 6000;

/** The server's menu of the user closes as those of the script do: by Escape, which leads back to its button, and by a press elsewhere. */
function useHeader(): void {
  useEffect(() => {
    const menu = document.querySelector<HTMLDetailsElement>('.header__user');
    if (!menu) return;
    const press = (e: Event) => { if (e.target instanceof Node && !menu.contains(e.target)) menu.open = false; };
    const key = (e: KeyboardEvent) => {
      if (e.key !== 'Escape' || !menu.open) return;
      menu.open = false;
      menu.querySelector('summary')?.focus();
    };
    document.addEventListener('pointerdown', press);
    menu.addEventListener('keydown', key);
    return () => {
      document.removeEventListener('pointerdown', press);
      menu.removeEventListener('keydown', key);
    };
  }, []);
}

/** What is around every page: the place for notices, which are read out as they come, and the one for questions. */
export function Shell({children}: {children: ComponentChildren}) {
  const [toasts, setToasts] = useState<Shown[]>([]);
  const [open, setOpen] = useState<Open | undefined>();
  useEffect(() => {
    let last = 0;
    return listen({
      toast: (t) => setToasts((all) => [...all.slice(-3), {...t, id: ++last}]),
      ask: (question) => new Promise((answer) => setOpen((before) => {
        before?.answer({go: false, option: false});
        return {question, answer};
      })),
    });
  }, []);
  useHeader();
  useEffect(() => shareLogOut(document.querySelector('form[action="/logout"]')), []);
  const done = (a: Answer) => {
    open?.answer(a);
    setOpen(undefined);
  };
  return <>
    {children}
    {open && <Ask key={open.question.title} question={open.question} onAnswer={done} />}
    <Toasts toasts={toasts} onEnd={(id) => setToasts((all) => all.filter((t) => t.id !== id))} />
  </>;
}

function Ask({question: q, onAnswer}: {question: Question; onAnswer: (a: Answer) => void}) {
  const [option, setOption] = useState(q.option?.checked ?? false);
  const no = () => onAnswer({go: false, option});
  const actions = <>
    <Button onClick={no} autofocus={!!q.danger}>{texts.cancel}</Button>
    <Button kind={q.danger ? 'danger' : 'primary'} autofocus={!q.danger} onClick={() => onAnswer({go: true, option})}>{q.action}</Button>
  </>;
  return (
    <Dialog title={q.title} onClose={no} actions={actions}>
      {[q.text].flat().map((line, i) => <p key={i}>{line}</p>)}
      {q.option && <CheckField label={q.option.label} help={q.option.help} checked={option} onValue={setOption} />}
    </Dialog>
  );
}

/** The place of toasts is over dialogs, and stays in the document, so that screen readers listen to it. */
function Toasts({toasts, onEnd}: {toasts: Shown[]; onEnd: (id: number) => void}) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!ref.current) return;
    if (ref.current.matches(':popover-open')) ref.current.hidePopover();
    if (toasts.length > 0) ref.current.showPopover();
  }, [toasts]);
  return <>
    <div class="sr" role="status">{toasts.filter((t) => t.kind !== 'bad').map((t) => <p key={t.id}>{t.title} {t.text}</p>)}</div>
    <div ref={ref} class="toasts" popover="manual" role="region" aria-label={texts.notices}>
      {toasts.map((t) => <OneToast key={t.id} toast={t} onEnd={() => onEnd(t.id)} />)}
    </div>
  </>;
}

function OneToast({toast: t, onEnd}: {toast: Shown; onEnd: () => void}) {
  const [held, hold] = useState(false);
  useEffect(() => {
    if (held || t.kind === 'bad') return;
    const timer = setTimeout(onEnd, stay);
    return () => clearTimeout(timer);
  }, [held]);
  return (
    <div onMouseEnter={() => hold(true)} onMouseLeave={() => hold(false)} onFocusIn={() => hold(true)} onFocusOut={() => hold(false)}>
      <Notice kind={t.kind} title={t.title} end={<Button kind="ghost" small icon="close" label={texts.dismiss} onClick={onEnd} />}>
        {t.text}{t.link && <> <a href={t.link.href}>{t.link.text}</a></>}
      </Notice>
    </div>
  );
}
