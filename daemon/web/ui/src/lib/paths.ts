// Paths of fields, such as spec.users[0].name, when a list that they lead through gets shorter.

/** without is where a path leads when an item of a list is taken out: nowhere (undefined) if it led into that item, one place before if it led behind it. */
export function without(path: string, list: string, at: number): string | undefined {
  const [, index, rest] = path.startsWith(list) ? /^\[(\d+)\](.*)$/.exec(path.slice(list.length)) ?? [] : [];
  if (index === undefined || Number(index) < at) return path;
  return Number(index) === at ? undefined : `${list}[${Number(index) - 1}]${rest}`;
}

/** recordWithout is what is known by path when an item of a list is taken out. */
export function recordWithout<T>(record: Readonly<Record<string, T>>, list: string, at: number): Record<string, T> {
  return Object.fromEntries(Object.entries(record).flatMap(([path, value]) => {
    const next = without(path, list, at);
    return next === undefined ? [] : [[next, value]];
  }));
}
