// What the timeline of a trace does: it draws, finds boxes, zooms, pans and steps.

import type { Lanes } from '../data/types.ts';
import { Tiles } from '../data/tiles.ts';
import { Palette } from '../draw/boxes.ts';
import type { Measure, Pen } from '../draw/pen.ts';
import { AXIS_HEIGHT, type Box, drawTimeline, substitutes } from '../draw/timeline.ts';
import type { Theme } from '../pure/colour.ts';
import { type FoundBox, findBox, middleBox, stepBox } from '../pure/focus.ts';
import { Scale, around, gridOf, length, pan, zoom } from '../pure/span.ts';
import { Kind, TILE_WIDTH, type Tile, placesFor, powerFor } from '../pure/tile.ts';
import { type Track, visibleTracks } from '../pure/tracks.ts';
import type { Session } from './session.ts';

const DENSITY_AFTER_MS = 100;
const DENSITY_BINS = 512;

export class TimelineModel {
  tracks: Track[] = [];
  scrollTop = 0;
  width = 1;
  height = 1;
  focus: Box | null = null;
  /** False while a part of the picture is missing or coarse. */
  isSharp = false;
  /** The selected span while it is being dragged. */
  dragged: { from: number; until: number } | null = null;
  /** Pixels of the screen that the picture is wide. */
  private pixels = TILE_WIDTH;
  private palette: Palette | null = null;
  private readonly density = new Map<number, Lanes>();
  private densityKey = '';
  private densityTimer: ReturnType<typeof setTimeout> | undefined;
  private densityRequest: AbortController | null = null;
  private layoutKey: unknown[] = [];

  constructor(
    readonly session: Session,
    readonly trace: number,
  ) {}

  layout(): Track[] {
    const { threads, indexed } = this.session.info(this.trace);
    const key = [threads, indexed >= 1, this.session.traceState(this.trace).open];
    if (key.some((part, at) => part !== this.layoutKey[at])) {
      this.layoutKey = key;
      this.tracks = this.session.tracks(this.trace, this.session.traceState(this.trace).open);
    }
    return this.tracks;
  }

  get scale(): Scale {
    return new Scale(this.session.view(this.trace), this.width);
  }

  shown(): Track[] {
    return visibleTracks(this.layout(), this.scrollTop, this.scrollTop + this.height - AXIS_HEIGHT);
  }

  draw(pen: Pen, measure: Measure, theme: Theme, width: number, height: number, ratio: number): void {
    const { session, trace } = this;
    [this.width, this.height] = [width, height];
    this.pixels = width * ratio;
    const names = session.names[trace]!;
    if (this.palette?.theme !== theme) this.palette = new Palette(names, theme);
    const state = session.traceState(trace);
    const answer = session.calls[trace];
    const tracks = this.shown();
    const wanted = drawTimeline(pen, {
      width,
      height,
      view: session.view(trace),
      selection: this.dragged ?? state.selection,
      tracks,
      scrollTop: this.scrollTop,
      power: powerFor(session.view(trace), this.pixels),
      tiles: session.tiles[trace]!,
      look: { palette: this.palette, names, measure, method: state.method },
      lanes: session.lanes[trace]!,
      density: this.density,
      focus: this.focus,
      call: state.call,
      callEnd: answer?.end ?? null,
      end: session.info(trace).duration,
    });
    this.isSharp = session.tiles[trace]!.want(wanted);
    this.askDensity(tracks);
  }

  private askDensity(tracks: readonly Track[]): void {
    const groups = tracks.filter((track) => track.kind === 'group');
    const view = this.session.view(this.trace);
    const key = `${groups.map((group) => group.id).join()} ${view.from} ${view.until} ${this.session.info(this.trace).duration}`;
    if (key === this.densityKey || groups.length === 0) return;
    this.densityKey = key;
    clearTimeout(this.densityTimer);
    this.densityTimer = setTimeout(async () => {
      this.densityRequest?.abort();
      const controller = (this.densityRequest = new AbortController());
      const grid = gridOf(view, DENSITY_BINS);
      for (const group of groups) {
        try {
          const lanes = await this.session.source.lanes(this.trace, grid, grid.bins, group.threads, controller.signal);
          if (controller.signal.aborted) return;
          this.density.set(group.id, lanes);
          this.session.notify();
        } catch {
          // The next change of the view asks again.
        }
      }
    }, DENSITY_AFTER_MS);
  }

  /** Returns what a point of the picture shows. */
  boxAt(x: number, y: number): Box | null {
    const track = this.trackAt(y);
    if (!track || track.kind !== 'thread') return null;
    const level = Math.floor((y - AXIS_HEIGHT + this.scrollTop - track.top - 3) / track.row);
    if (level < 0) return null;
    const { scale } = this;
    const box = findBox(this.tilesOf(track.id), scale.time(x), level, 2.5 * scale.perPixel);
    return box && { thread: track.id, ...box };
  }

  trackAt(y: number): Track | undefined {
    if (y < AXIS_HEIGHT) return undefined;
    const top = y - AXIS_HEIGHT + this.scrollTop;
    return this.shown().find((track) => top >= track.top && top < track.top + track.height);
  }

  private tilesOf(thread: number): Tile[] {
    const view = this.session.view(this.trace);
    const store = this.session.tiles[this.trace]!;
    return placesFor(view, powerFor(view, this.pixels)).flatMap((place) => {
      const own = store.get(Tiles.key(thread, place, TILE_WIDTH));
      return (own ? [own] : substitutes(store, thread, place)).map(({ tile }) => tile);
    });
  }

  /** Selects a box: a call, or a closer look at calls that share a pixel. */
  choose(box: Box): void {
    const { session, trace } = this;
    if (box.count > 1) {
      session.setView(trace, around(box.begin, box.end, session.whole(trace)), 'push');
      return;
    }
    let { level, begin } = box;
    // A wait belongs to the call around it.
    if (box.kind >= Kind.blocked) {
      const caller = stepBox(this.tilesOf(box.thread), box, 'up');
      if (!caller || caller.count > 1) return;
      ({ level, begin } = caller);
    }
    // A box that is narrower than a few pixels may be a pixel: the call begins somewhere in it.
    if (box.end - begin < 4 * this.scale.perPixel && box.kind < Kind.blocked) {
      void session.source.call(trace, box.thread, begin, level, undefined, box.end).then(
        (answer) => this.select(box.thread, answer.begin, level),
        () => this.select(box.thread, begin, level),
      );
      return;
    }
    this.select(box.thread, begin, level);
  }

  private select(thread: number, begin: number, level: number): void {
    this.session.calls[this.trace] = null;
    this.session.updateTrace(this.trace, { call: { thread, begin, level } });
  }

  zoomTo(box: Box): void {
    const { session, trace } = this;
    session.setView(trace, around(box.begin, box.end, session.whole(trace)), 'push');
  }

  zoomAt(x: number, factor: number): void {
    const { session, trace } = this;
    session.setView(trace, zoom(session.view(trace), this.scale.time(x), factor, session.whole(trace)));
  }

  panBy(pixels: number): void {
    const { session, trace } = this;
    session.setView(trace, pan(session.view(trace), pixels * this.scale.perPixel, session.whole(trace)));
  }

  /** Time for the keyboard to zoom at: the pointer, the focus, or the middle. */
  anchor(pointer: number | null): number {
    if (pointer !== null) return pointer;
    const view = this.session.view(this.trace);
    const box = this.focus ?? this.selectedBox();
    if (box && box.end > view.from && box.begin < view.until) {
      return this.scale.x((Math.max(view.from, box.begin) + Math.min(view.until, box.end)) / 2);
    }
    return this.width / 2;
  }

  private selectedBox(): Box | null {
    const { call } = this.session.traceState(this.trace);
    const answer = this.session.calls[this.trace];
    if (!call) return null;
    return { ...call, end: answer?.end ?? call.begin, method: answer?.method ?? 0, count: 1, kind: 0 };
  }

  /** Moves the focus of the keyboard. Returns the box that has it. */
  step(direction: 'left' | 'right' | 'up' | 'down'): Box | null {
    const from = this.focus ?? this.selectedBox();
    if (!from) return this.focusMiddle();
    const next: FoundBox | null = stepBox(this.tilesOf(from.thread), from, direction);
    if (next) this.focus = { thread: from.thread, ...next };
    return this.focus;
  }

  focusMiddle(): Box | null {
    const view = this.session.view(this.trace);
    for (const track of this.shown()) {
      if (track.kind !== 'thread') continue;
      const box = middleBox(this.tilesOf(track.id), view.from + length(view) / 2, Math.min(track.height / track.row, 200), 4 * this.scale.perPixel);
      if (box) return (this.focus = { thread: track.id, ...box });
    }
    return null;
  }
}
