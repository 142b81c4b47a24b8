import type {Diagnostic, Doc, Machine, RenderResult, Settings} from '../lib/types';

/** What the preview is a preview of. */
export interface PreviewProps {
  /** With a machine and without documents, those that it has. */
  documents?: Doc[];
  settings?: Settings;
  /** The machine that the documents are rendered for; its last boot is what they are compared with. */
  machine?: Machine;
  /** Is added to the machine's own generation: 1 shows a start at which cloud-init runs as on a first boot. */
  generation?: number;
  /** Called with the answer to each rendering that is still asked for, and with the diagnostics of one that was refused. */
  onResult?: (result: RenderResult) => void;
  /** Goes to the place of a diagnostic; without it they are text only. */
  onPlace?: (diagnostic: Diagnostic) => void;
}

/** The files that a guest would read, while its definition is typed. */
export default function Preview(_: PreviewProps) {
  return <section class="preview" />;
}
