// Machines of other forms in the native one, which the form can change. A machine that runs once with other data is converted beside its definition,
// which stays as it is: the run takes the conversion when the first field is changed.
import {useEffect, useState} from 'preact/hooks';
import {convert} from './api';
import {open, type Opened, type Opening} from './definition';
import {problemText} from './problem';
import {sentence} from './remarks';
import type {Diagnostic, Doc, Settings} from './types';
import type {Work} from './work';
import texts from '../texts/compose.json';

/** Documents of another form, and what they are in the native one. */
export interface Native {
  of: Doc[];
  documents: Doc[];
  opened: Opened;
  /** What got lost on the way, and what else was to remark. */
  diagnostics: readonly Diagnostic[];
}

/** toNative converts the documents of one machine. It returns why that cannot be as a text for people, and throws nothing but the end of its signal. */
export async function toNative(of: Doc[], settings: Settings, signal?: AbortSignal): Promise<Native | string> {
  try {
    const result = await convert({...settings, documents: of, to: 'native'}, signal);
    const wrong = result.diagnostics.find((d) => d.severity === 'error');
    if (wrong) return sentence(wrong);
    const documents = result.documents.map((d) => ({...d, name: 'machine.yaml'}));
    const opening = open(documents);
    if (documents.length !== 1 || !opening.ok) return texts.unfit.several;
    return {of, documents, opened: opening.opened, diagnostics: result.diagnostics};
  } catch (e) {
    if (signal?.aborted) throw e;
    return problemText(e);
  }
}

/** adopted is work on the conversion of its documents instead of on them, unless they have changed since. */
export const adopted = (work: Work, native: Native): Work => (work.documents === native.of ? {...work, documents: native.documents} : work);

/** isConvertible reports whether documents that the form does not fit can be converted to some that it does. */
export const isConvertible = (opening: Opening): boolean => !opening.ok && (opening.why === 'other' || opening.why === 'aliases');

/** How long documents are left alone before they are converted anew, in ms. */
const pause = 200;

/** What there is of a conversion in the background. */
export interface Converting {
  /** The last conversion, also while its documents are changed. */
  native: Native | undefined;
  /** Why there is none of the documents as they are. */
  problem: string | undefined;
  /** Asks again. */
  again: () => void;
}

/** useNative has documents in the native form as well, while they are wanted so. */
export function useNative(documents: Doc[], wanted: boolean): Converting {
  const [native, setNative] = useState<Native>();
  const [problem, setProblem] = useState<string>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!wanted || native?.of === documents) return undefined;
    const flight = new AbortController();
    const go = () => void toNative(documents, {}, flight.signal).then((n) => {
      if (typeof n === 'string') setProblem(n);
      else setNative(n);
    }, () => undefined);
    setProblem(undefined);
    const timer = setTimeout(go, native ? pause : 0);
    return () => {
      clearTimeout(timer);
      flight.abort();
    };
  }, [documents, wanted, turn]);
  return {native, problem, again: () => setTurn((t) => t + 1)};
}
