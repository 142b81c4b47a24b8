// Texts with a number in them.
import {fill} from './texts';

/** A text for one thing and one for any other number of them. */
export interface Plural { one: string; other: string }

/** counted is plural for what is only said of some: nothing for none. */
export const counted = (n: number, text: Plural): string => (n === 0 ? '' : plural(text, n));

/** plural takes the text that fits a number, which goes into {n}. */
export function plural(text: Plural, n: number, values: Record<string, string | number> = {}): string {
  return fill(n === 1 ? text.one : text.other, {n: n.toLocaleString('en-US'), ...values});
}
