import type {ComponentChildren} from 'preact';
import {Problem} from '../lib/api';
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

/** What went wrong, for people: the API's own words, and otherwise that the daemon cannot be reached. */
export function problemText(error: unknown): string {
  if (!(error instanceof Problem)) return error instanceof Error ? error.message : String(error);
  if (error.status === 0) return texts.unreachable;
  const first = error.diagnostics.find((d) => d.severity === 'error');
  return first ? `${first.summary}${first.remedy ? '; ' + first.remedy : ''}` : error.detail || error.title;
}
