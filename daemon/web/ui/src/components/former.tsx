import {fieldOf, sentence} from '../lib/remarks';
import type {Diagnostic} from '../lib/types';
import type {Working} from '../lib/work';
import texts from '../texts/compose.json';
import {Button} from './button';
import {Notice} from './notice';

/** What the work of a page took the place of: why, what got lost on the way, and the way back. */
export function FormerWork({working: {former, back, forget}}: {working: Working}) {
  if (!former) return null;
  const said = former.diagnostics ?? [];
  const kind = said.some(isLoss) ? 'warn' : former.why === 'converted' || former.why === 'used' ? 'ok' : 'info';
  return (
    <Notice kind={kind} title={texts.former.title[former.why]} actions={<Button small onClick={back}>{texts.former.action[former.why]}</Button>}
      end={<Button kind="ghost" small icon="close" label={texts.actions.dismiss} onClick={forget} />}>
      {texts.former.text[former.why]}
      <Lost diagnostics={said} />
    </Notice>
  );
}

const isLoss = (d: Diagnostic): boolean => d.severity === 'warning';

/** What got lost in a conversion. */
export function Lost({diagnostics}: {diagnostics: readonly Diagnostic[]}) {
  const lost = diagnostics.filter(isLoss);
  return lost.length > 0 ? <ul class="foot__list">{lost.map((d, i) => <li key={i}>{d.field && <><code>{fieldOf(d.field)}</code>{' '}</>}{sentence(d)}</li>)}</ul> : null;
}
