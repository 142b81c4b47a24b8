// The unchanged lines that a comparison folds away open by the mouse alone; here they become buttons, which Tab reaches and Enter presses.
import {uncollapseUnchanged} from '@codemirror/merge';
import {Prec, type Extension} from '@codemirror/state';
import {EditorView, ViewPlugin} from '@codemirror/view';

const selector = '.cm-collapsedLines';

function name(view: EditorView): void {
  for (const lines of view.contentDOM.querySelectorAll<HTMLElement>(selector)) {
    lines.tabIndex = 0;
    lines.setAttribute('role', 'button');
    lines.setAttribute('aria-expanded', 'false');
  }
}

function press(e: KeyboardEvent, view: EditorView): boolean {
  const lines = e.target instanceof Element ? e.target.closest(selector) : null;
  if (!lines || (e.key !== 'Enter' && e.key !== ' ')) return false;
  const at = view.posAtDOM(lines);
  view.dispatch({effects: uncollapseUnchanged.of(at), selection: {anchor: at}});
  view.focus();
  return true;
}

/** foldedLines gives folded lines to the keyboard. */
export const foldedLines: Extension = [
  ViewPlugin.define((view) => {
    view.requestMeasure({read: () => undefined, write: () => name(view)}); // those of the beginning are not drawn yet
    return {docViewUpdate: name};
  }),
  Prec.highest(EditorView.domEventHandlers({keydown: press})),
];
