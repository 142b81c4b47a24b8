import type {ComponentChildren} from 'preact';
import {useEffect, useId, useRef} from 'preact/hooks';
import texts from '../texts/components.json';
import {Button} from './button';

/** What a dialog shows. */
export interface DialogProps {
  title: string;
  /** Called when the user wants it closed: by Escape, the button, or a press beside it. */
  onClose: () => void;
  /** The buttons at its foot. The first one with the attribute autofocus has the focus. */
  actions?: ComponentChildren;
  wide?: boolean;
  /** What the user has typed must not go away by a press beside the dialog. */
  keep?: boolean;
  children: ComponentChildren;
}

/** A modal dialog while it is rendered: the rest of the page rests, and the focus returns to where it was. */
export function Dialog({title, onClose, actions, wide, keep, children}: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={ref} class={wide ? 'dialog dialog--wide' : 'dialog'} aria-labelledby={id}
      onCancel={(e) => { e.preventDefault(); onClose(); }}
      onPointerDown={(e) => { if (!keep && ref.current && e.target === ref.current && outside(ref.current, e)) onClose(); }}>
      <div class="dialog__head">
        <h2 id={id}>{title}</h2>
        <Button kind="ghost" small icon="close" label={texts.close} onClick={onClose} />
      </div>
      <div class="dialog__body">{children}</div>
      {actions && <div class="dialog__foot">{actions}</div>}
    </dialog>
  );
}

function outside(dialog: HTMLElement, e: PointerEvent): boolean {
  const r = dialog.getBoundingClientRect();
  return e.clientX < r.left || e.clientX > r.right || e.clientY < r.top || e.clientY > r.bottom;
}
