// Finds boxes for the pointer and for the keyboard.

import { type Tile, Kind, boxAt } from './tile.ts';

/** A box of a tile, on its own. */
export interface FoundBox {
  begin: number;
  end: number;
  method: number;
  count: number;
  level: number;
  kind: number;
}

export function boxOf(tile: Tile, at: number): FoundBox {
  return { begin: tile.begin[at]!, end: tile.end[at]!, method: tile.method[at]!, count: tile.count[at]!, level: tile.level[at]!, kind: tile.kind[at]! };
}

export function findBox(tiles: readonly Tile[], time: number, level: number, slack: number): FoundBox | null {
  let best: FoundBox | null = null;
  let distance = Infinity;
  for (const tile of tiles) {
    const at = boxAt(tile, time, level, slack);
    if (at < 0) continue;
    const box = boxOf(tile, at);
    const away = time < box.begin ? box.begin - time : time > box.end ? time - box.end : 0;
    if (away < distance) [best, distance] = [box, away];
  }
  return best;
}

/** Returns the neighbour of a box: before or after it on its level, its caller, or its first callee. */
export function stepBox(tiles: readonly Tile[], from: FoundBox, direction: 'left' | 'right' | 'up' | 'down'): FoundBox | null {
  let best: FoundBox | null = null;
  const level = from.level + (direction === 'up' ? -1 : direction === 'down' ? 1 : 0);
  for (const tile of tiles) {
    for (let at = 0; at < tile.n; at++) {
      if (tile.level[at] !== level || tile.kind[at] === Kind.missing) continue;
      const begin = tile.begin[at]!;
      const end = tile.end[at]!;
      const isBetter =
        direction === 'left'
          ? end <= from.begin && begin < from.begin && (!best || begin > best.begin)
          : direction === 'right'
            ? begin >= from.end && begin > from.begin && (!best || begin < best.begin)
            : direction === 'up'
              ? begin <= from.begin && end >= from.end
              : begin >= from.begin && end <= from.end && (!best || begin < best.begin);
      if (isBetter) best = boxOf(tile, at);
    }
  }
  return best;
}

/** Returns the box in the middle of a view: the one of the deepest level that is one call. */
export function middleBox(tiles: readonly Tile[], time: number, levels: number, slack: number): FoundBox | null {
  for (let level = Math.ceil(levels) - 1; level >= 0; level--) {
    const box = findBox(tiles, time, level, slack);
    if (box && box.count === 1 && box.kind <= Kind.exception) return box;
  }
  return null;
}
