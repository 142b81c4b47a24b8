// Shows beside an encoded value what it says. It is drawn into the view and is no part of the text: copies do not have it.
import {StateField, type EditorState, type Extension} from '@codemirror/state';
import {Decoration, EditorView, WidgetType, type DecorationSet} from '@codemirror/view';
import texts from '../texts/editor.json';
import {decodedIn} from '../lib/decoded';
import {fill} from '../lib/texts';

/** How many lines of a decoded text are shown below its value, and how many characters beside it. */
const [maxLines, maxChars] = [40, 60];

/** Of an encoded value whose text stands below it, so much is shown: the rest says nothing to people. */
const head = 72;

class Reading extends WidgetType {
  constructor(readonly text: string, readonly block: boolean) {
    super();
  }

  override eq(other: Reading): boolean {
    return other.text === this.text && other.block === this.block;
  }

  override toDOM(): HTMLElement {
    const out = document.createElement(this.block ? 'div' : 'span');
    out.className = this.block ? 'vs-decoded vs-decoded--block' : 'vs-decoded';
    out.setAttribute('role', 'note');
    out.setAttribute('aria-label', texts.decoded);
    out.title = texts.decoded;
    out.textContent = this.block ? shortened(this.text) : beside(this.text);
    return out;
  }

  override ignoreEvent(): boolean {
    return false;
  }
}

function shortened(text: string): string {
  const lines = text.replace(/\n$/, '').split('\n');
  const rest = lines.length - maxLines;
  return rest > 1 ? [...lines.slice(0, maxLines), fill(texts.moreLines, {n: rest})].join('\n') : lines.join('\n');
}

function beside(text: string): string {
  const line = text.trim().replace(/\s*\n\s*/g, ' ⏎ ');
  return line.length > maxChars ? `${line.slice(0, maxChars)}…` : line;
}

/** Stands for the end of a long value. */
class Rest extends WidgetType {
  override toDOM(): HTMLElement {
    const out = document.createElement('span');
    out.textContent = '…';
    return out;
  }

  override eq(): boolean {
    return true;
  }
}

function build(state: EditorState): DecorationSet {
  return Decoration.set(decodedIn(state.doc.toString()).flatMap((d) => {
    const widget = new Reading(d.text, d.alone);
    const reading = Decoration.widget({widget, side: 1, block: d.alone}).range(d.alone ? state.doc.lineAt(d.to).to : d.to);
    return d.alone && d.to - d.from > 2 * head ? [Decoration.replace({widget: new Rest()}).range(d.from + head, d.to), reading] : [reading];
  }), true);
}

const look = EditorView.theme({
  '.vs-decoded': {color: 'var(--c-muted)', backgroundColor: 'var(--c-sunken)', borderRadius: '3px', padding: '0 6px', marginLeft: '4px', userSelect: 'none'},
  '.vs-decoded--block': {margin: '0 12px 4px 24px', padding: '2px 10px', borderLeft: '2px solid var(--c-control)', borderRadius: '0 4px 4px 0', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere'},
});

/** decodedView shows what stands encoded in a text that is only read. */
export const decodedView: Extension = [
  StateField.define<DecorationSet>({
    create: build,
    update: (shown, change) => (change.docChanged ? build(change.state) : shown),
    provide: (field) => EditorView.decorations.from(field),
  }),
  look,
];
