// When a preview is rendered: with each key stroke, one request at a time, and what is overtaken is not shown.
import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {Problem, render} from './api';
import type {RenderRequest, RenderResult} from './types';

/** How long a request may take, in ms, before the next one overtakes it. Until then its successor waits: the daemon works at one at a time. */
export const slow = 100;
/** How long an answer may be kept from a user who types on, in ms. After that a request is not overtaken, and its answer counts though it is not the last. */
export const patience = 400;

/** How often a question is asked again that the daemon did not take, in ms. */
const again = 5000;

/** What is asked: the documents and for whom. */
export interface Question { request: RenderRequest; machine?: string | undefined }

/** What a scheduler needs of the world, so that a test can be it. */
export interface World<Q, A> {
  ask: (question: Q, signal: AbortSignal) => Promise<A>;
  /** Called with each answer that is still wanted, and the question that it answers. */
  tell: (answer: A, question: Q) => void;
  fail: (error: unknown, question: Q) => void;
  now: () => number;
}

/** A Scheduler asks a question at once when none is on its way, else the latest one as soon as that is answered. An answer that is not to the latest
 * question is dropped, unless its user has waited too long for any. */
export class Scheduler<Q, A> {
  private waiting: Q | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private flying: {since: number; abort: AbortController} | undefined;
  private unanswered = 0;

  constructor(private readonly world: World<Q, A>) {}

  /** put makes a question the latest one. */
  put(question: Q): void {
    this.waiting = question;
    if (!this.flying) {
      this.unanswered = this.world.now();
      this.go();
      return;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.overtake(), this.flying.since + slow - this.world.now());
  }

  /** stop gives up everything. */
  stop(): void {
    clearTimeout(this.timer);
    this.waiting = undefined;
    this.flying?.abort.abort();
    this.flying = undefined;
  }

  private late(): boolean {
    return this.world.now() - this.unanswered > patience;
  }

  private overtake(): void {
    if (!this.flying || this.late()) return; // its answer comes first, and calls again
    this.flying.abort.abort();
    this.go();
  }

  private go(): void {
    const question = this.waiting;
    if (question === undefined) return;
    this.waiting = undefined;
    clearTimeout(this.timer);
    const flight = {since: this.world.now(), abort: new AbortController()};
    this.flying = flight;
    const land = (then: () => void) => {
      if (this.flying !== flight) return;
      this.flying = undefined;
      const last = this.waiting === undefined;
      if (last || this.late()) {
        this.unanswered = this.world.now();
        then();
      }
      this.go();
    };
    this.world.ask(question, flight.abort.signal).then(
      (answer) => land(() => this.world.tell(answer, question)),
      (error: unknown) => land(() => this.world.fail(error, question)),
    );
  }
}

/** What a preview shows. */
export interface Rendering {
  /** The last answer with files; it stays while the documents have errors. */
  result?: RenderResult;
  /** The diagnostics of the last answer. */
  diagnostics: RenderResult['diagnostics'];
  /** The last request was refused as a whole. */
  problem?: Problem;
  /** The files are those of an earlier state, because the documents have errors now. */
  stale: boolean;
  /** An answer is awaited. */
  busy: boolean;
}

const nothing: Rendering = {diagnostics: [], stale: false, busy: false};

/** refused is what is shown when a request has failed: the files of before, if there are any, and why there are no newer ones. */
export function refused(before: Rendering, error: unknown): Rendering {
  const problem = error instanceof Problem ? error : new Problem(500, error instanceof Error ? error.message : String(error), '', [], '');
  return {...before, problem, diagnostics: problem.diagnostics, stale: Boolean(before.result), busy: false};
}

/** isPassing reports whether the same question may be answered another time: the daemon was not there, had no session, too much to do or a fault, or its
 * answer did not arrive whole. What it says of the question itself stays. */
export const isPassing = ({status}: Problem): boolean => status < 400 || status === 401 || status === 408 || status === 429 || status >= 500;

/** The measure from a change to the painted answer, for tests and for the browser's own tools. */
export const shown = 'vmseed:preview';

/** after is what is shown when an answer has come. */
export function after(before: Rendering, answer: RenderResult): Rendering {
  const failed = answer.diagnostics.some((d) => d.severity === 'error');
  if (failed && before.result) return {result: before.result, diagnostics: answer.diagnostics, stale: true, busy: false};
  return {result: answer, diagnostics: answer.diagnostics, stale: false, busy: false};
}

/** useRender renders a question whenever it changes; nothing is asked for undefined. */
export function useRender(question: Question | undefined): Rendering {
  const [state, setState] = useState<Rendering>(nothing);
  const scheduler = useRef<Scheduler<{q: Question; since: number}, RenderResult> | undefined>(undefined);
  scheduler.current ??= new Scheduler({
    ask: ({q}, signal) => render(q.request, q.machine, signal),
    tell: (answer, {since}) => {
      setState((before) => after(before, answer));
      measure(since);
    },
    fail: (error) => setState((before) => refused(before, error)),
    now: () => performance.now(),
  });
  const key = question ? JSON.stringify(question) : '';
  useLayoutEffect(() => {
    if (!question) {
      scheduler.current?.stop();
      setState(nothing);
      return;
    }
    setState((before) => (before.busy ? before : {...before, busy: true}));
    scheduler.current?.put({q: question, since: performance.now()});
  }, [key]);
  const unheard = !state.busy && state.problem !== undefined && isPassing(state.problem);
  useEffect(() => {
    if (!unheard || !question) return undefined;
    const timer = setInterval(() => { if (!document.hidden) scheduler.current?.put({q: question, since: performance.now()}); }, again);
    return () => clearInterval(timer);
  }, [unheard, key]);
  useEffect(() => () => scheduler.current?.stop(), []);
  return state;
}

/** measure notes how long it took from a change until its answer is painted. */
function measure(since: number): void {
  requestAnimationFrame(() => setTimeout(() => {
    performance.clearMeasures(shown);
    performance.measure(shown, {start: since, end: performance.now()});
  }));
}
