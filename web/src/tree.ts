// A tree of which only some levels are known, as the rows of a table.

export interface Branch<T> {
  row: T;
  /** How many children it has, fetched or not. */
  kids: number;
}

/** The children of a node that have arrived: a prefix of them. */
export interface Level<T> {
  items: Branch<T>[];
  total: number;
}

export type Line<T> =
  | { kind: "row"; path: string; depth: number; row: T; open: boolean; kids: number }
  | { kind: "more"; path: string; depth: number; have: number; total: number }
  | { kind: "wait"; path: string; depth: number };

/** The lines of the open part, without recursion: input may be deep. */
export function flatten<T>(root: Branch<T>, pathOf: (row: T) => string, isOpen: (path: string) => boolean, level: (path: string) => Level<T> | undefined): Line<T>[] {
  const lines: Line<T>[] = [];
  type Todo = { branch: Branch<T>; depth: number } | { line: Line<T> };
  const stack: Todo[] = [{ branch: root, depth: 0 }];
  while (stack.length) {
    const next = stack.pop() as Todo;
    if ("line" in next) {
      lines.push(next.line);
      continue;
    }
    const { branch, depth } = next;
    const path = pathOf(branch.row);
    const open = branch.kids > 0 && isOpen(path);
    lines.push({ kind: "row", path, depth, row: branch.row, open, kids: branch.kids });
    if (!open) continue;
    const known = level(path);
    if (!known) {
      lines.push({ kind: "wait", path, depth: depth + 1 });
      continue;
    }
    if (known.items.length < known.total) {
      stack.push({ line: { kind: "more", path, depth: depth + 1, have: known.items.length, total: known.total } });
    }
    for (let i = known.items.length - 1; i >= 0; i--) stack.push({ branch: known.items[i] as Branch<T>, depth: depth + 1 });
  }
  return lines;
}

/** The paths above a path, the root's "" included. */
export function ancestors(path: string, separator = "/"): string[] {
  const above = [""];
  for (let at = path.indexOf(separator); at >= 0; at = path.indexOf(separator, at + 1)) above.push(path.slice(0, at));
  return path ? above : [];
}

/** Which rows a window shows, with a few to spare. */
export function visible(scroll: number, height: number, row: number, count: number, spare = 6): [number, number] {
  const from = Math.max(0, Math.floor(scroll / row) - spare);
  return [Math.min(from, count), Math.min(count, Math.ceil((scroll + height) / row) + spare)];
}
