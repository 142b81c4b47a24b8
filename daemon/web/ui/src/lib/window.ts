// Which rows of a long table are in the document. All have one height, so that the place of each is known without drawing it.

/** The rows from first up to, but not including, end, and the heights of what is left out before and behind them. */
export interface Slice {
  first: number;
  end: number;
  above: number;
  below: number;
}

/** How many rows are drawn beyond what is seen, at either side. */
const margin = 12;

/** slice finds the rows that can be seen of so many with a height: top is where the first row begins below the top of the window, which may be above it, and seen is the height of the window. */
export function slice(rows: number, height: number, top: number, seen: number): Slice {
  const first = Math.min(Math.max(0, Math.floor(-top / height) - margin), rows);
  const end = Math.max(first, Math.min(rows, Math.ceil((seen - top) / height) + margin));
  return {first, end, above: first * height, below: (rows - end) * height};
}

/** reveal is by how much the window must scroll so that a row is seen between two edges of the window; 0 when it is. */
export function reveal(index: number, height: number, top: number, from: number, to: number): number {
  const at = top + index * height;
  if (at < from) return at - from;
  if (at + height > to) return at + height - to;
  return 0;
}
