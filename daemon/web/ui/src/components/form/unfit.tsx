// What stands in the place of the form where a definition does not fit it: why, what can be done about it, and what is said beside the documents.
import {useEffect, useRef, useState} from 'preact/hooks';
import type {Opening} from '../../lib/definition';
import {adopted, toNative} from '../../lib/native';
import {isNameless} from '../../lib/submit';
import {fill} from '../../lib/texts';
import texts from '../../texts/compose.json';
import {Button} from '../button';
import {Notice} from '../notice';
import type {DefinitionProps} from './definition';
import {Delivery} from './delivery';
import {BesideDocuments} from './settings';

/** What is known of a run of documents that cannot be converted. */
interface UnfitProps extends DefinitionProps { opening: Opening & {ok: false}; problem?: string | undefined; onAgain?: () => void }

/** Unfit says why the form does not fit, and offers to convert what is of another form. */
export function Unfit({opening, working: {work, put, replace}, data, onDocuments, images, attempted, problem: failed, onAgain}: UnfitProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const latest = useRef(work.documents);
  latest.current = work.documents;
  useEffect(() => setProblem(undefined), [work.documents]);
  const nameless = isNameless({...work, settings: {}});
  const beside = {settings: work.settings, onSettings: (settings: typeof work.settings) => put((w) => ({...w, settings})), version: data.version};
  const go = async () => {
    setBusy(true);
    const {pick: _, template, delivery, ...settings} = work.settings; // which the native form says itself, but for two
    const native = await toNative(work.documents, settings);
    // What was typed while the daemon converted is not in its answer.
    if (latest.current !== work.documents) setProblem(texts.unfit.moved);
    else if (typeof native === 'string') setProblem(native);
    else replace('converted', (w) => (w.documents === work.documents ? {...adopted(w, native), settings: {...(template && {template}), ...(delivery && {delivery})}} : w), native.diagnostics);
    setBusy(false);
  };
  const run = data.mode === 'run';
  const wrong = problem ?? failed;
  return (
    <div class="stack">
      <Notice kind="info" actions={<>
        {!run && opening.why === 'other' && <Button kind="secondary" busy={busy} onClick={() => void go()}>{texts.actions.useForm}</Button>}
        <Button kind="ghost" onClick={onDocuments}>{texts.actions.toDocuments}</Button>
      </>}>{fill(run && failed ? texts.unfit.run : texts.unfit[opening.why], {line: opening.line ?? 1})}</Notice>
      {wrong && <Notice kind="bad" actions={failed && <Button small onClick={onAgain}>{texts.actions.retry}</Button>}>{wrong}</Notice>}
      {data.mode === 'new' && <BesideDocuments {...beside} nameless={nameless} error={nameless && attempted && !work.settings.name ? texts.errors.name : undefined} templates={data.templates} images={images} />}
      {data.mode === 'edit' && <Delivery mode="edit" {...beside} />}
    </div>
  );
}
