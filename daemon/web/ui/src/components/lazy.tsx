import type {ComponentType} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import texts from '../texts/components.json';
import {Notice} from './notice';

/** A part of a page that is loaded when it is shown. Its place has the class lazy until then, so that nothing below it jumps. */
export function Lazy<P extends object>({load, props}: {load: () => Promise<{default: ComponentType<P>}>; props: P}) {
  const [Part, set] = useState<{component: ComponentType<P>} | undefined>();
  const [failed, fail] = useState(false);
  useEffect(() => {
    let current = true;
    load().then((m) => { if (current) set({component: m.default}); }, () => { if (current) fail(true); });
    return () => { current = false; };
  }, [load]);
  if (failed) return <Notice kind="bad">{texts.unreachable}</Notice>;
  if (!Part) return <div class="lazy" aria-busy="true" />;
  return <Part.component {...props} />;
}
