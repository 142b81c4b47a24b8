// The page that writes a definition: how to get to a field or a line, and what comes to it from elsewhere.
import type {RefObject} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {get} from './api';
import {linkedPlace, machinePath} from './linked';
import {closest} from './remarks';
import {ask} from './shout';
import type {Diagnostic, Machine} from './types';
import type {Working} from './work';
import texts from '../texts/compose.json';

/** How often a machine that has to be down is looked at, in ms. */
const look = 2000;

/** useUntilDown is a machine as it is, looked at until it is down. */
export function useUntilDown(machine: Machine | undefined): Machine | undefined {
  const [now, setNow] = useState(machine);
  const waits = now !== undefined && now.status !== 'down';
  useEffect(() => {
    if (!waits) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) get<Machine>(machinePath(now.id)).then(setNow, () => undefined);
    }, look);
    return () => clearInterval(timer);
  }, [waits]);
  return now;
}

/** giveUp leaves the page for another one, and asks before if there is work that is lost with it. */
export async function giveUp({dirty, done}: Pick<Working, 'dirty' | 'done'>, to: string): Promise<void> {
  if (dirty && !(await ask({...texts.cancelAsk, danger: true})).go) return;
  done();
  location.assign(to);
}

/** focusField unfolds, brings to the front and focuses the control of a field, and reports whether there is one. A control may stand for several. */
function focusField(root: HTMLElement, field: string): boolean {
  const controls = [...root.querySelectorAll<HTMLElement>('[data-field]')];
  const fields = (c: HTMLElement) => (c.dataset['field'] ?? '').split(' ');
  const path = closest(controls.flatMap(fields), field);
  const found = controls.find((c) => path !== undefined && fields(c).includes(path));
  if (!found) return false;
  let behind: HTMLElement | null = null;
  for (let e = found.parentElement; e && e !== root; e = e.parentElement) {
    if (e instanceof HTMLDetailsElement) e.open = true;
    // One of several things, of which one is shown.
    if (e.hidden && e.id) behind = root.querySelector<HTMLElement>(`[aria-controls="${CSS.escape(e.id)}"]`);
  }
  behind?.click();
  if (behind) setTimeout(() => focusControl(found)); // it is drawn by then
  else focusControl(found);
  return true;
}

function focusControl(found: HTMLElement): void {
  const target = found.matches('input, select, textarea') ? found : found.querySelector<HTMLElement>('input, select, textarea, [contenteditable]') ?? found;
  found.scrollIntoView({block: 'center'});
  // What is locked cannot have the focus; the head of its fold is next to it.
  const locked = target.matches(':disabled') ? target.closest('details')?.querySelector<HTMLElement>('summary') : undefined;
  (locked ?? target).focus({preventScroll: true});
}

/** Where to go: a field of the form, or the place of a remark in the documents. */
export interface Way { field?: string; diagnostic?: Diagnostic }

/** usePlaces goes to fields and lines: those that a user picks, and the one that the page's address names as #field=PATH or #file=NAME&line=N. */
export function usePlaces(root: RefObject<HTMLElement | null>, view: (v: 'form' | 'documents') => void, toLine: (d: Diagnostic) => void): (way: Way) => void {
  const go = ({field, diagnostic}: Way) => {
    view('form');
    // The form is there after the next rendering.
    setTimeout(() => {
      const there = field !== undefined && root.current !== null && focusField(root.current, field);
      if (!there && diagnostic) toLine(diagnostic);
    });
  };
  useEffect(() => {
    const field = new URLSearchParams(location.hash.slice(1)).get('field');
    const linked = linkedPlace(location.hash);
    if (field) go({field});
    else if (linked) toLine(linked);
  }, []);
  return go;
}

/** useIncoming takes what is dropped onto the page, and texts that are pasted where nothing is typed. It is told whether something is held over the page. */
export function useIncoming(onFiles: (files: File[]) => void, onText: (text: string) => void): boolean {
  const [over, setOver] = useState(false);
  const take = useRef({onFiles, onText});
  take.current = {onFiles, onText};
  useEffect(() => {
    const drag = (e: DragEvent) => {
      if (!e.dataTransfer?.types.includes('Files')) return;
      e.preventDefault();
      setOver(e.type === 'dragover');
      if (e.type === 'drop') take.current.onFiles([...e.dataTransfer.files]);
    };
    const dropped = () => setOver(false); // also where a part of the page takes what is dropped
    const left = (e: DragEvent) => { if (!e.relatedTarget) setOver(false); };
    const paste = (e: ClipboardEvent) => {
      const text = e.clipboardData?.getData('text/plain') ?? '';
      if (!text.trim() || document.querySelector('dialog[open]') || (e.target instanceof Element && e.target.closest('input, textarea, select, [contenteditable], .editor'))) return;
      e.preventDefault();
      take.current.onText(text);
    };
    const all: [string, EventListener][] = [['dragover', drag as EventListener], ['drop', drag as EventListener], ['dragleave', left as EventListener], ['paste', paste as EventListener]];
    for (const [type, listener] of all) document.addEventListener(type, listener);
    document.addEventListener('drop', dropped, true);
    return () => {
      for (const [type, listener] of all) document.removeEventListener(type, listener);
      document.removeEventListener('drop', dropped, true);
    };
  }, []);
  return over;
}
