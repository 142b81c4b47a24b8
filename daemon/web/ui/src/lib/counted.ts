// Numbers of things in words.
import {fill} from './texts';

/** counted says how many there are of something; nothing of none. */
export function counted(count: number, words: {one: string; many: string}): string {
  return count === 0 ? '' : count === 1 ? words.one : fill(words.many, {count});
}
