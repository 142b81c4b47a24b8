import type {ComponentChildren} from 'preact';

/** around puts an element in the place of the only {name} of a text. */
export function around(text: string, element: ComponentChildren): ComponentChildren {
  const [before = '', after = ''] = text.split(/\{\w+\}/);
  return <>{before}{element}{after}</>;
}
