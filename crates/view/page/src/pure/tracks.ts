// The tracks of the timeline from top to bottom: which threads have one, and how high it is.

export interface ThreadColumns {
  name: string[];
  virtual: number[];
  calls: number[];
  levels: number[];
}

export interface Track {
  kind: 'thread' | 'group';
  /** Number of the thread, or a negative number of the group. */
  id: number;
  threads: readonly number[];
  top: number;
  height: number;
  /** Height of a level of calls; 0 for groups. */
  row: number;
  isOpen: boolean;
  /** Depth of nesting: 1 for threads of a group. */
  indent: number;
}

export const VIRTUAL_GROUP = -1;
export const OTHERS_GROUP = -2;

/** Platform threads with a track of their own. The other ones fold into a group. */
const MOST_TRACKS = 64;
const ROW = 16;
/** The most levels that a tile can have. */
const OPEN_ROWS = 65_536;
const CLOSED_HEIGHT = 66;
const LEAST_ROW = 1;
const GROUP_HEIGHT = 34;
/** Space between tracks, which is part of the height of a track. */
export const GAP = 7;

/** Returns the height of the levels of a thread, and of one level. */
export function trackRows(levels: number, isOpen: boolean, isSmall: boolean): { height: number; row: number } {
  const rows = Math.max(1, levels);
  if (isOpen) return { height: Math.min(rows, OPEN_ROWS) * ROW, row: ROW };
  const most = isSmall ? 34 : CLOSED_HEIGHT;
  const row = Math.max(LEAST_ROW, Math.min(ROW, Math.floor(most / rows)));
  return { height: Math.max(ROW, Math.min(rows * row, most)), row };
}

/** Returns `open` with a track unfolded that was folded, or the other way round. */
export function toggle(open: readonly number[], id: number): number[] {
  return open.includes(id) ? open.filter((other) => other !== id) : [...open, id];
}

/**
 * Returns all tracks. The ones of an unfolded group follow their group. `toggled` has the tracks
 * that are not as at first, when only the first thread is unfolded. Threads without calls fold
 * into a group, if `isCounted`: the numbers of calls are those of the whole run.
 */
export function layoutTracks(threads: ThreadColumns, toggled: readonly number[], isCounted = true): Track[] {
  const platform: number[] = [];
  const virtual: number[] = [];
  threads.name.forEach((_, at) => (threads.virtual[at] ? virtual : platform).push(at));
  let own = platform;
  if (isCounted && platform.some((at) => threads.calls[at]! > 0)) own = platform.filter((at) => threads.calls[at]! > 0);
  if (own.length > MOST_TRACKS) {
    const chosen = new Set([...own].sort((a, b) => threads.calls[b]! - threads.calls[a]!).slice(0, MOST_TRACKS));
    own = own.filter((at) => chosen.has(at));
  }
  const isOwn = new Set(own);
  const others = platform.filter((at) => !isOwn.has(at));
  const isOpen = new Set(own.length > 0 ? toggle(toggled, own[0]!) : toggled);
  const tracks: Track[] = [];
  let top = 0;
  const addThread = (thread: number, indent: number) => {
    const rows = trackRows(threads.levels[thread] ?? 1, isOpen.has(thread), indent > 0);
    const height = rows.height + GAP;
    tracks.push({ kind: 'thread', id: thread, threads: [thread], top, height, row: rows.row, isOpen: isOpen.has(thread), indent });
    top += height;
  };
  const addGroup = (id: number, members: readonly number[]) => {
    if (members.length === 0) return;
    tracks.push({ kind: 'group', id, threads: members, top, height: GROUP_HEIGHT + GAP, row: 0, isOpen: isOpen.has(id), indent: 0 });
    top += GROUP_HEIGHT + GAP;
    if (isOpen.has(id)) for (const thread of members) addThread(thread, 1);
  };
  for (const thread of own) addThread(thread, 0);
  addGroup(OTHERS_GROUP, others);
  addGroup(VIRTUAL_GROUP, virtual);
  return tracks;
}

export function totalHeight(tracks: readonly Track[]): number {
  const last = tracks[tracks.length - 1];
  return last ? last.top + last.height : 0;
}

/** Returns the tracks between two heights. */
export function visibleTracks(tracks: readonly Track[], top: number, bottom: number): Track[] {
  let [low, high] = [0, tracks.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (tracks[middle]!.top + tracks[middle]!.height > top) high = middle;
    else low = middle + 1;
  }
  const found: Track[] = [];
  for (let at = low; at < tracks.length && tracks[at]!.top < bottom; at++) found.push(tracks[at]!);
  return found;
}

/** Returns the group that a thread is folded into, or `null` if it has a track. */
export function groupOf(tracks: readonly Track[], thread: number): number | null {
  if (tracks.some((track) => track.kind === 'thread' && track.id === thread)) return null;
  return tracks.find((track) => track.kind === 'group' && track.threads.includes(thread))?.id ?? null;
}
