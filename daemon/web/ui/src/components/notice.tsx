import type {ComponentChildren} from 'preact';
import texts from '../texts/components.json';
import {Icon, type IconName} from './icons';

/** What a notice means. */
export type NoticeKind = 'info' | 'ok' | 'warn' | 'bad';

const icons: Record<NoticeKind, IconName> = {info: 'info', ok: 'check', warn: 'alert', bad: 'alert'};

/** Something to know, where it matters. Bad ones are read out as they come. */
export function Notice({kind = 'info', title, actions, end, children}: {kind?: NoticeKind; title?: string; actions?: ComponentChildren; /** Stands at its right edge. */ end?: ComponentChildren; children?: ComponentChildren}) {
  return (
    <div class={`notice notice--${kind}`} role={kind === 'bad' ? 'alert' : undefined}>
      <Icon name={icons[kind]} label={texts.notice[kind]} />
      <div class="notice__text">
        {title && <div class="notice__title">{title}</div>}
        {children}
        {actions && <div class="notice__actions">{actions}</div>}
      </div>
      {end}
    </div>
  );
}
