import {useState} from 'preact/hooks';
import {explanation} from '../lib/explain';
import {fill} from '../lib/texts';
import type {Diagnostic} from '../lib/types';
import texts from '../texts/editor.json';
import {Button} from './button';
import {Icon} from './icons';

const rank = {error: 0, warning: 1, note: 2};

/** sorted puts the severest first and keeps the order otherwise. */
export const sorted = (diagnostics: readonly Diagnostic[]): Diagnostic[] => [...diagnostics].sort((a, b) => rank[a.severity] - rank[b.severity]);

/** tally counts remarks in words: 1 error, 2 warnings. */
export function tally(diagnostics: readonly Diagnostic[]): string {
  const said = (['error', 'warning', 'note'] as const).map((s) => {
    const n = diagnostics.filter((d) => d.severity === s).length;
    return n ? fill(texts.diagnostics[s][n === 1 ? 0 : 1]!, {n}) : '';
  }).filter(Boolean);
  return said.join(', ') || texts.diagnostics.none;
}

/** What a list of remarks shows. */
export interface DiagnosticsProps {
  diagnostics: readonly Diagnostic[];
  /** Goes to the place of a remark; without it the place is text. */
  onPlace?: ((d: Diagnostic) => void) | undefined;
  /** How many are shown at first. */
  limit?: number;
  /** The documents' names are known from where the list stands. */
  noFile?: boolean;
}

/** Remarks about documents, the severest first: what is wrong, what to do about it, where, and a link to the long explanation. */
export function Diagnostics({diagnostics, onPlace, limit = 6, noFile}: DiagnosticsProps) {
  const [all, setAll] = useState(false);
  const shown = all ? sorted(diagnostics) : sorted(diagnostics).slice(0, limit);
  const rest = diagnostics.length - limit;
  if (!diagnostics.length) return null;
  return (
    <div class="diagnostics">
      <ul class="diagnostics__list">{shown.map((d, i) => <Remark key={`${d.code} ${i}`} d={d} onPlace={onPlace} noFile={noFile} />)}</ul>
      {rest > 0 && <Button kind="ghost" small onClick={() => setAll(!all)}>{all ? texts.diagnostics.fewer : fill(texts.diagnostics.more, {count: rest})}</Button>}
    </div>
  );
}

/** placeOf is a place for people: file, line 3, column 5. */
function placeOf(d: Diagnostic, noFile?: boolean): string {
  const start = d.range?.start;
  const at = start?.line ? fill(texts.place, {line: start.line, column: Math.max(start.column, 1)}) : '';
  return [noFile ? '' : d.range?.file ?? '', at].filter(Boolean).join(', ');
}

function Remark({d, onPlace, noFile}: {d: Diagnostic; onPlace?: ((d: Diagnostic) => void) | undefined; noFile?: boolean | undefined}) {
  const place = placeOf(d, noFile);
  return (
    <li class={`remark remark--${d.severity}`}>
      <Icon name={d.severity === 'note' ? 'info' : 'alert'} label={texts.severity[d.severity]} />
      <div class="remark__text">
        <p>{d.field && <code class="remark__field">{d.field}</code>}{d.field && ': '}{d.summary}</p>
        {d.remedy && <p class="remark__remedy">{d.remedy}</p>}
        <p class="remark__foot">
          <a href={explanation(d.code)} target="_blank" rel="noopener" title={texts.explain}>{d.code}</a>
          {place && (onPlace ? <button type="button" class="remark__place" onClick={() => onPlace(d)}>{place}</button> : <span>{place}</span>)}
        </p>
      </div>
    </li>
  );
}
