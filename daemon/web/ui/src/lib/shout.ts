// What any part of a page may ask of the shell around it: to tell the user something, and to have a question answered.

/** A short word about what happened. It goes away by itself unless it is bad. */
export interface Toast {
  kind: 'info' | 'ok' | 'warn' | 'bad';
  title: string;
  text?: string;
  link?: {href: string; text: string};
}

/** A question with one way to go ahead. */
export interface Question {
  title: string;
  text: string | string[];
  /** What the button that goes ahead says: a verb, never yes. */
  action: string;
  danger?: boolean;
  /** A choice that goes along with it. */
  option?: {label: string; help?: string; checked?: boolean};
}

/** What the user said. */
export interface Answer {
  go: boolean;
  option: boolean;
}

type Listener = {toast: (t: Toast) => void; ask: (q: Question) => Promise<Answer>};

let shell: Listener | undefined;

/** listen makes the shell the one who is asked. */
export function listen(l: Listener): () => void {
  shell = l;
  return () => {
    if (shell === l) shell = undefined;
  };
}

/** toast tells the user something. */
export const toast = (t: Toast): void => shell?.toast(t);

/** ask puts a question to the user; without a shell the answer is no. */
export const ask = (q: Question): Promise<Answer> => shell?.ask(q) ?? Promise.resolve({go: false, option: false});
