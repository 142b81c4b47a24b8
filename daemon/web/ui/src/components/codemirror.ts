// CodeMirror as this page has it. The module is loaded when an editor is shown; nothing else of the page imports it.
import {defaultKeymap, history, historyKeymap, indentWithTab} from '@codemirror/commands';
import {json} from '@codemirror/lang-json';
import {xml} from '@codemirror/lang-xml';
import {yaml} from '@codemirror/lang-yaml';
import {bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentUnit, StreamLanguage, syntaxHighlighting} from '@codemirror/language';
import {shell} from '@codemirror/legacy-modes/mode/shell';
import {lintGutter, lintKeymap, setDiagnostics, type Diagnostic as Mark} from '@codemirror/lint';
import {unifiedMergeView} from '@codemirror/merge';
import {highlightSelectionMatches, search, searchKeymap} from '@codemirror/search';
import {Annotation, Compartment, EditorState, type Extension} from '@codemirror/state';
import {drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers, placeholder} from '@codemirror/view';
import {tags as t} from '@lezer/highlight';
import texts from '../texts/editor.json';
import {decodedView} from './decodedview';
import {foldedLines} from './foldedlines';
import type {Language} from '../lib/language';
import {spanOf} from '../lib/spans';
import type {Diagnostic} from '../lib/types';
import {explanation} from '../lib/explain';

/** How a text is shown. */
export interface ViewOptions {
  text: string;
  language: Language;
  label: string;
  /** Called with the whole text after each change by the user; without it the text can only be read. */
  onChange?: ((text: string) => void) | undefined;
  /** The text that this one is compared with. */
  original?: string | undefined;
  /** What an empty editor says. */
  placeholder?: string | undefined;
}

/** An editor on the page. */
export interface View {
  /** Changes what is shown to another text, if there is one; selection and place stay where they can. */
  set(text: string | undefined, language: Language): void;
  /** Changes what it is called, and what it says when it is empty. */
  call(label: string, placeholder: string | undefined): void;
  compare(original: string | undefined): void;
  diagnose(diagnostics: readonly Diagnostic[]): void;
  /** Selects what a remark is about, shows it and takes the focus. */
  reveal(diagnostic: Diagnostic): void;
  focus(at: number): void;
  destroy(): void;
}

const grammars: Record<Language, () => Extension> = {
  yaml: () => yaml(), json: () => json(), xml: () => xml(), shell: () => StreamLanguage.define(shell), text: () => [],
};

const colours = HighlightStyle.define([
  {tag: [t.propertyName, t.definition(t.propertyName), t.tagName, t.attributeName], color: 'var(--c-code-key)'},
  {tag: [t.string, t.attributeValue, t.special(t.string)], color: 'var(--c-code-string)'},
  {tag: [t.number, t.bool, t.null, t.atom], color: 'var(--c-code-number)'},
  {tag: [t.keyword, t.typeName, t.labelName, t.standard(t.name), t.meta, t.processingInstruction], color: 'var(--c-code-keyword)'},
  {tag: [t.comment, t.lineComment, t.blockComment], color: 'var(--c-code-comment)'},
]);

/** The look. The editor stands in a shadow tree, so the page's own rules do not reach it and its tokens do. */
const look = EditorView.theme({
  '&': {height: '100%', color: 'var(--c-text)', backgroundColor: 'var(--c-surface)', fontSize: '13px'},
  '&.cm-focused': {outline: 'none'},
  '.cm-scroller': {fontFamily: 'var(--f-mono)', lineHeight: '20px', overflow: 'auto'},
  '.cm-content': {padding: '8px 0', caretColor: 'var(--c-text)'},
  '.cm-line': {padding: '0 12px 0 6px'},
  '.cm-cursor': {borderLeftColor: 'var(--c-text)'},
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {backgroundColor: 'var(--c-selection)'},
  '.cm-activeLine': {backgroundColor: 'transparent'},
  '&.cm-focused .cm-activeLine:not(.cm-changedLine, .cm-insertedLine)': {backgroundColor: 'color-mix(in srgb, var(--c-accent) 7%, transparent)'},
  '.cm-gutters': {backgroundColor: 'var(--c-surface)', color: 'var(--c-muted)', border: 'none', paddingLeft: '4px'},
  '.cm-activeLineGutter': {backgroundColor: 'transparent', color: 'var(--c-text)'},
  '.cm-lineNumbers .cm-gutterElement': {minWidth: '24px', padding: '0 4px 0 2px'},
  '.cm-foldGutter .cm-gutterElement': {padding: '0 2px', cursor: 'pointer'},
  '.cm-foldPlaceholder': {backgroundColor: 'var(--c-sunken)', border: '1px solid var(--c-border)', color: 'var(--c-muted)', padding: '0 4px'},
  '.cm-gutter-lint': {width: '16px'},
  '.cm-gutter-lint .cm-gutterElement': {padding: '2px 0 0 2px'},
  '.cm-lint-marker': {width: '12px', height: '12px', borderRadius: '50%', content: 'none'},
  '.cm-lint-marker-error': {content: 'none', backgroundColor: 'var(--c-bad)', borderRadius: '2px', transform: 'rotate(45deg) scale(.8)'},
  '.cm-lint-marker-warning': {content: 'none', backgroundColor: 'var(--c-warn)', borderRadius: '0', clipPath: 'polygon(50% 5%, 100% 95%, 0 95%)'},
  '.cm-lint-marker-info': {content: 'none', backgroundColor: 'var(--c-busy)'},
  '.cm-lintRange-error, .cm-lintRange-warning, .cm-lintRange-info': {backgroundImage: 'none', paddingBottom: '0', textDecoration: 'underline wavy 1px', textUnderlineOffset: '3px'},
  '.cm-lintRange-error': {textDecorationColor: 'var(--c-bad)'},
  '.cm-lintRange-warning': {textDecorationColor: 'var(--c-warn)'},
  '.cm-lintRange-info': {textDecorationColor: 'var(--c-busy)'},
  '.cm-lintPoint::after': {display: 'none'},
  '.cm-tooltip': {backgroundColor: 'var(--c-raised)', color: 'var(--c-text)', border: '1px solid var(--c-border)', borderRadius: '6px', boxShadow: 'var(--shadow)', maxWidth: 'min(520px, 90vw)', zIndex: '30'},
  '.cm-tooltip ul': {margin: '0', padding: '0'},
  '.cm-diagnostic': {padding: '8px 12px', borderLeft: '3px solid var(--c-busy)', fontFamily: 'var(--f-sans)', fontSize: '13px', lineHeight: '18px', whiteSpace: 'normal', overflowWrap: 'anywhere'},
  '.cm-diagnostic-error': {borderLeftColor: 'var(--c-bad)'},
  '.cm-diagnostic-warning': {borderLeftColor: 'var(--c-warn)'},
  '.cm-diagnostic-info': {borderLeftColor: 'var(--c-busy)'},
  '.vs-remedy': {color: 'var(--c-muted)'},
  '.vs-code': {color: 'var(--c-accent)', fontFamily: 'var(--f-mono)', fontSize: '12px'},
  '.cm-panels': {backgroundColor: 'var(--c-sunken)', color: 'var(--c-text)', zIndex: '10'},
  '.cm-panels-bottom': {borderTop: '1px solid var(--c-border)'},
  '.cm-panel.cm-search, .cm-panel.cm-gotoLine': {padding: '8px 28px 8px 8px', fontFamily: 'var(--f-sans)', fontSize: '13px'},
  '.cm-panel.cm-search label': {display: 'inline-flex', alignItems: 'center', gap: '2px', fontSize: '13px'},
  '.cm-panel.cm-panel-lint ul': {maxHeight: '160px', fontFamily: 'var(--f-sans)'},
  '.cm-panel.cm-panel-lint ul [aria-selected]': {backgroundColor: 'var(--c-hover)'},
  '.cm-textfield': {backgroundColor: 'var(--c-surface)', color: 'var(--c-text)', border: '1px solid var(--c-control)', borderRadius: '4px', fontSize: '13px', padding: '3px 6px'},
  '.cm-button': {backgroundImage: 'none', backgroundColor: 'var(--c-surface)', color: 'var(--c-text)', border: '1px solid var(--c-control)', borderRadius: '4px', fontSize: '13px', padding: '3px 8px'},
  '.cm-button:active': {backgroundImage: 'none', backgroundColor: 'var(--c-hover)'},
  '.cm-textfield:focus-visible, .cm-button:focus-visible, button:focus-visible, .cm-collapsedLines:focus-visible': {outline: '2px solid var(--c-accent)', outlineOffset: '1px'},
  '.cm-panel button[name=close]': {color: 'var(--c-muted)', fontSize: '18px', width: '24px', height: '24px', right: '4px', top: '6px'},
  '.cm-searchMatch': {backgroundColor: 'var(--c-warn-soft)', outline: '1px solid var(--c-warn)'},
  '.cm-searchMatch-selected': {backgroundColor: 'var(--c-selection)', outline: '2px solid var(--c-accent)'},
  '.cm-selectionMatch': {backgroundColor: 'color-mix(in srgb, var(--c-accent) 16%, transparent)'},
  '&.cm-focused .cm-matchingBracket': {backgroundColor: 'var(--c-accent-soft)', outline: '1px solid var(--c-accent)'},
  '.cm-changedLine, &.cm-merge-b .cm-changedLine, .cm-inlineChangedLine': {backgroundColor: 'var(--c-added-soft)'},
  // A line below what has changed: a darker ground would take the words' contrast.
  '&.cm-merge-b .cm-changedText': {background: 'none', boxShadow: 'inset 0 -1px color-mix(in srgb, var(--c-ok) 45%, transparent)'},
  '.cm-deletedChunk': {backgroundColor: 'var(--c-removed-soft)', padding: '0 12px 0 6px'},
  '&.cm-merge-b .cm-deletedText, .cm-deletedChunk .cm-deletedText': {background: 'none', boxShadow: 'inset 0 -1px color-mix(in srgb, var(--c-bad) 45%, transparent)', textDecoration: 'none'},
  '.cm-changeGutter': {width: '3px', paddingLeft: '0'},
  '&.cm-merge-b .cm-changedLineGutter': {background: 'var(--c-ok)'},
  '.cm-deletedLineGutter': {background: 'var(--c-bad)'},
  '.cm-collapsedLines': {color: 'var(--c-muted)', background: 'var(--c-sunken)', padding: '4px 12px', fontFamily: 'var(--f-sans)'},
  '.cm-collapsedLines::before, .cm-collapsedLines::after': {content: '"···"', opacity: '1'},
});

/** Marks a change as the page's own, of which nobody is told. */
const ours = Annotation.define<boolean>();

/** What both ways to show a text have. */
function common(): Extension {
  return [
    lineNumbers(), foldGutter({openText: '▾', closedText: '▸'}), highlightSpecialChars(), drawSelection(), bracketMatching(), search({top: false}), highlightSelectionMatches(),
    syntaxHighlighting(colours), look, EditorView.lineWrapping,
    EditorState.phrases.of(texts.phrases),
    EditorView.contentAttributes.of({'aria-describedby': 'help', tabindex: '0', spellcheck: 'false', autocapitalize: 'off', autocorrect: 'off'}),
  ];
}

const named = (label: string, hint: string | undefined): Extension => [EditorView.contentAttributes.of({'aria-label': label}), hint ? placeholder(hint) : []];

/** What an editor has in addition: Tab indents, and Escape lets the next Tab leave. */
function editing(onChange: (text: string) => void): Extension {
  return [
    history(), indentOnInput(), indentUnit.of('  '), highlightActiveLine(), highlightActiveLineGutter(), lintGutter(),
    keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap, indentWithTab]),
    EditorView.updateListener.of((u) => {
      if (u.docChanged && !u.transactions.some((x) => x.annotation(ours))) onChange(u.state.doc.toString());
    }),
  ];
}

/** A text that can only be read takes the focus and has a cursor all the same, so that the keyboard scrolls, selects and searches it; a phone
 * shows no keyboard for it. */
const reading: Extension = [EditorState.readOnly.of(true), EditorView.editable.of(false), EditorView.contentAttributes.of({'aria-readonly': 'true'}),
  highlightActiveLine(), keymap.of([...defaultKeymap, ...searchKeymap, ...foldKeymap]), decodedView];

const comparison = (original: string | undefined): Extension =>
  original === undefined ? [] : [foldedLines, unifiedMergeView({original, mergeControls: false, gutter: true, highlightChanges: true, syntaxHighlightDeletions: false,
    collapseUnchanged: {margin: 3, minSize: 6}, diffConfig: {scanLimit: 2000, timeout: 60}})];

/** What is around the editor in its shadow tree: the line that says how the keyboard gets out. */
const frame = `
  :host { display: flex; flex-direction: column; height: 100%; min-height: 0; }
  .frame { flex: 1 1 auto; min-height: 0; }
  .help { flex: none; height: 20px; margin: 0; padding: 0 8px; overflow: hidden; font: 12px/20px var(--f-sans); color: var(--c-muted); white-space: nowrap; text-overflow: ellipsis; opacity: 0; }
  :host(:focus-within) .help { opacity: 1; }
`;

/** open shows a text in a shadow tree of an element. Its style sheets are constructed there, which a strict content security policy allows. */
export function open(host: HTMLElement, o: ViewOptions): View {
  const root = host.shadowRoot ?? host.attachShadow({mode: 'open'});
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(frame);
  root.adoptedStyleSheets = [sheet];
  const parent = element('div', 'frame');
  const help = element('p', 'help', o.onChange ? texts.helpEdit : texts.helpRead);
  help.id = 'help';
  root.replaceChildren(parent, help);
  const [language, compared, called] = [new Compartment(), new Compartment(), new Compartment()];
  const view = new EditorView({
    root, parent,
    state: EditorState.create({
      doc: o.text,
      extensions: [common(), called.of(named(o.label, o.placeholder)), o.onChange ? editing(o.onChange) : reading, language.of(grammars[o.language]()), compared.of(comparison(o.original))],
    }),
  });
  return handle(view, o, {language, compared, called});
}

function handle(view: EditorView, o: ViewOptions, {language, compared, called}: Record<'language' | 'compared' | 'called', Compartment>): View {
  let [shown, original, name] = [o.language, o.original, o.label];
  const select = (from: number, to: number) => {
    view.dispatch({selection: {anchor: from, head: to}, effects: EditorView.scrollIntoView(from, {y: 'center'})});
    view.focus();
  };
  return {
    set(text, next) {
      const change = text === undefined ? undefined : difference(view.state.doc.toString(), text);
      const effects = next === shown ? [] : [language.reconfigure(grammars[next]())];
      shown = next;
      if (change || effects.length) view.dispatch({...(change ? {changes: change} : {}), effects, annotations: ours.of(true)});
    },
    call(label, hint) {
      if (label === name) return;
      name = label;
      view.dispatch({effects: called.reconfigure(named(label, hint)), annotations: ours.of(true)});
    },
    compare(next) {
      if (next === original) return;
      original = next;
      view.dispatch({effects: compared.reconfigure(comparison(next)), annotations: ours.of(true)});
    },
    diagnose: (diagnostics) => view.dispatch(setDiagnostics(view.state, marksOf(view.state, diagnostics))),
    reveal(d) {
      const span = spanOf(view.state.doc.toString(), d) ?? {from: 0, to: 0};
      select(span.from, span.to);
    },
    focus: (at) => select(Math.min(at, view.state.doc.length), Math.min(at, view.state.doc.length)),
    destroy: () => view.destroy(),
  };
}

/** difference is the one stretch in which two texts differ. */
function difference(before: string, after: string): {from: number; to: number; insert: string} | undefined {
  if (before === after) return undefined;
  let from = 0;
  const shorter = Math.min(before.length, after.length);
  while (from < shorter && before[from] === after[from]) from++;
  let tail = 0;
  while (tail < shorter - from && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return {from, to: before.length - tail, insert: after.slice(from, after.length - tail)};
}

const severities = {error: 'error', warning: 'warning', note: 'info'} as const;

function marksOf(state: EditorState, diagnostics: readonly Diagnostic[]): Mark[] {
  const text = state.doc.toString();
  const out: Mark[] = [];
  for (const d of diagnostics) {
    const span = spanOf(text, d);
    if (span) out.push({...span, severity: severities[d.severity], message: [d.summary, d.remedy].filter(Boolean).join('; '), renderMessage: () => described(d)});
  }
  return out.sort((a, b) => a.from - b.from || a.to - b.to);
}

/** described is what a remark says, as elements: no text of a document becomes markup. */
function described(d: Diagnostic): HTMLElement {
  const out = element('div', 'vs-remark');
  out.append(element('div', 'vs-summary', `${texts.severity[d.severity]}: ${d.summary}`));
  if (d.remedy) out.append(element('div', 'vs-remedy', d.remedy));
  const link = element('a', 'vs-code', d.code);
  Object.assign(link, {href: explanation(d.code), target: '_blank', rel: 'noopener', title: texts.explain});
  out.append(link);
  return out;
}

function element<K extends keyof HTMLElementTagNameMap>(tag: K, name: string, text = ''): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  e.className = name;
  e.textContent = text;
  return e;
}
