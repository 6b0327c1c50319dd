// What the page knows: the traces, the state, and how both change.

import { Names } from '../data/names.ts';
import type { Source } from '../data/source.ts';
import { Tiles } from '../data/tiles.ts';
import type { CallAnswer, Lanes, TraceInfo } from '../data/types.ts';
import { type Span, clamp, isSame, length, reveal } from '../pure/span.ts';
import { type CallId, type State, type TraceState, emptyState, fromHash, toHash } from '../pure/state.ts';
import { type Track, groupOf, layoutTracks, toggle } from '../pure/tracks.ts';

/** How a change enters the history of the browser: as a step to go back from, or silently. */
export type Step = 'push' | 'replace';

const WRITE_AFTER_MS = 250;
/** Pause between two questions about a trace that grows. */
const REFRESH_MS = 1000;
/** The same for one that has no end and did not grow lately. */
const LOOK_AGAIN_MS = 5000;

export class Session {
  state: State = emptyState(1);
  infos: TraceInfo[] = [];
  readonly names: Names[] = [];
  readonly tiles: Tiles[] = [];
  /** Lanes of the whole run, for marks and collections in the timeline. */
  readonly lanes: (Lanes | null)[] = [];
  /** The last answer about the selected call of each trace, for keys. */
  readonly calls: (CallAnswer | null)[] = [];
  /** The slowest call of the marked method of each trace. */
  readonly slowest: (({ end: number } & CallId) | null)[] = [];
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly source: Source) {}

  async open(): Promise<void> {
    this.infos = await this.source.traces();
    this.infos.forEach((_, trace) => {
      this.names.push(new Names(this.source, trace));
      this.tiles.push(new Tiles(this.source, trace, () => this.notify()));
      this.lanes.push(null);
      this.calls.push(null);
      this.slowest.push(null);
    });
    this.state = fromHash(location.hash, this.infos.length);
    addEventListener('popstate', () => {
      clearTimeout(this.timer);
      this.timer = undefined;
      this.state = fromHash(location.hash, this.infos.length);
      this.notify();
    });
    for (const names of this.names) names.onChange(() => this.notify());
    this.refreshWhileNeeded();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  notify(): void {
    for (const listener of this.listeners) listener();
  }

  update(change: Partial<State>, step: Step = 'push'): void {
    if (step === 'push') this.flush();
    this.state = { ...this.state, ...change };
    if (step === 'push') {
      if (`#${toHash(this.state)}` !== (location.hash || '#')) history.pushState(null, '', this.address());
    } else this.timer ??= setTimeout(() => this.flush(), WRITE_AFTER_MS);
    this.notify();
  }

  updateTrace(trace: number, change: Partial<TraceState>, step: Step = 'push'): void {
    // Linked traces show the same span since their starts.
    const linked: Partial<TraceState> = {};
    if (this.state.isLinked && 'view' in change) linked.view = change.view!;
    if (this.state.isLinked && 'selection' in change) linked.selection = change.selection!;
    const traces = this.state.traces.map((old, at) => ({ ...old, ...(at === trace ? change : linked) }));
    this.update({ traces, active: trace }, step);
  }

  private flush(): void {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    history.replaceState(null, '', this.address());
  }

  private address(): string {
    const hash = toHash(this.state);
    return hash === '' ? location.pathname + location.search : `#${hash}`;
  }

  get active(): number {
    return this.state.active;
  }

  traceState(trace: number): TraceState {
    return this.state.traces[trace]!;
  }

  /** Returns the tracks of the timeline of a trace. */
  tracks(trace: number, open: readonly number[]): Track[] {
    const info = this.info(trace);
    return layoutTracks(info.threads, open, info.indexed >= 1);
  }

  info(trace: number): TraceInfo {
    return this.infos[trace]!;
  }

  /** All that is known of a trace: the whole run, or the part that a stand-alone page has. */
  private own(trace: number): Span {
    const { duration, part } = this.info(trace);
    return part ?? { from: 0, until: duration };
  }

  /** All that can be shown. Linked traces have the same span. */
  whole(trace: number): Span {
    const spans = this.state.isLinked ? this.infos.map((_, at) => this.own(at)) : [this.own(trace)];
    const from = Math.min(...spans.map((span) => span.from));
    return { from, until: Math.max(from + 1, ...spans.map((span) => span.until)) };
  }

  view(trace: number): Span {
    return this.traceState(trace).view ?? this.whole(trace);
  }

  /** The span that the panels are about. */
  selection(trace: number): Span {
    return this.traceState(trace).selection ?? this.info(trace).part ?? { from: 0, until: this.info(trace).duration + 1 };
  }

  /** Moves the timeline. The whole run has no entry in the address. */
  setView(trace: number, view: Span, step: Step = 'replace'): void {
    const whole = this.whole(trace);
    const clamped = clamp(view, whole);
    this.updateTrace(trace, { view: length(clamped) >= length(whole) ? null : clamped }, step);
  }

  /** Selects a call and moves the timeline such that it is in view. */
  showCall(trace: number, call: CallId & { end: number }): void {
    const view = reveal(this.view(trace), call.begin, call.end, this.whole(trace));
    const old = this.traceState(trace);
    let open = old.open;
    const group = groupOf(this.tracks(trace, open), call.thread);
    if (group !== null) open = toggle(open, group);
    // Names fit into the rows of an unfolded track only.
    if (this.tracks(trace, open).some((track) => track.kind === 'thread' && track.id === call.thread && !track.isOpen)) open = toggle(open, call.thread);
    const isWhole = length(view) >= length(this.whole(trace));
    const change: Partial<TraceState> = { call: { thread: call.thread, begin: call.begin, level: call.level }, open };
    if (!isSame(view, this.view(trace))) change.view = isWhole ? null : view;
    this.calls[trace] = null;
    this.scrollTo = { trace, thread: call.thread, level: call.level };
    this.updateTrace(trace, change);
  }

  /** Shows a time in the timeline, and the track of a thread. */
  showTime(trace: number, time: number, thread: number | null): void {
    const view = this.view(trace);
    const size = Math.min(length(view), length(this.whole(trace)) / 50);
    const change: Partial<TraceState> = { view: clamp({ from: time - size / 2, until: time + size / 2 }, this.whole(trace)) };
    if (thread !== null) {
      const { open } = this.traceState(trace);
      const group = groupOf(this.tracks(trace, open), thread);
      if (group !== null) change.open = toggle(open, group);
      this.scrollTo = { trace, thread, level: 0 };
    }
    this.updateTrace(trace, change);
  }

  /** The timeline scrolls to this level of a thread, once. */
  scrollTo: { trace: number; thread: number; level: number } | null = null;

  /** Goes from the selected call to its caller, or to the next or previous call of its method. */
  follow(trace: number, where: 'caller' | 'next' | 'previous'): void {
    const answer = this.calls[trace];
    const call = this.traceState(trace).call;
    if (!answer || !call) return;
    if (where === 'caller') {
      if (answer.caller) this.showCall(trace, { thread: call.thread, ...answer.caller });
      return;
    }
    const target = answer[where];
    if (target) this.showCall(trace, target);
  }

  /** False for traces whose end is not followed, because the user has said so. */
  private readonly following: boolean[] = [];
  /** Traces that were live while the page was open. */
  private readonly wereLive = new Set<number>();

  wasLive(trace: number): boolean {
    return this.wereLive.has(trace);
  }

  /** True if the timeline moves with the end of a trace that grows: it shows the whole run, or its end. */
  isFollowing(trace: number): boolean {
    const { view } = this.traceState(trace);
    return this.following[trace] !== false && (view === null || isAtEnd(view, this.whole(trace)));
  }

  /** Begins or stops to follow the end of a trace. */
  setFollowing(trace: number, isFollowing: boolean): void {
    this.following[trace] = isFollowing;
    const { view } = this.traceState(trace);
    const whole = this.whole(trace);
    if (!isFollowing) this.updateTrace(trace, { view: view ?? whole }, 'replace');
    else if (view) this.setView(trace, { from: whole.until - length(view), until: whole.until });
    else this.notify();
  }

  private refreshWhileNeeded(): void {
    const { infos } = this;
    infos.forEach((info, trace) => info.live && this.wereLive.add(trace));
    const isFast = infos.some((info) => info.live || info.indexed < 1);
    if (!isFast && !infos.some((info) => info.growing)) return;
    const next = async () => {
      try {
        const infos = await this.source.traces();
        infos.forEach((info, trace) => this.grow(trace, info));
      } catch {
        // The server may be busy. The next second asks again.
      }
      this.refreshWhileNeeded();
    };
    setTimeout(() => {
      // Nobody looks at a hidden page.
      if (document.hidden) document.addEventListener('visibilitychange', () => void next(), { once: true });
      else void next();
    }, isFast ? REFRESH_MS : LOOK_AGAIN_MS);
  }

  /** Takes over what is new of a trace. The timeline follows the end if it showed the end. */
  private grow(trace: number, info: TraceInfo): void {
    const old = this.info(trace);
    const isFollowing = this.isFollowing(trace);
    const before = this.whole(trace);
    this.infos = this.infos.map((other, at) => (at === trace ? info : other));
    // An event before all others moves all times.
    if (info.start !== old.start) this.tiles[trace]!.outdate(-Infinity);
    // Answers that were on their way may lack the last seconds before the growth.
    else if (info.events !== old.events) this.tiles[trace]!.outdate(old.duration - 3e9);
    const growth = this.whole(trace).until - before.until;
    const { view } = this.traceState(trace);
    if (growth > 0 && view && isFollowing) {
      const traces = this.state.traces.map((other, at) => (at === trace ? { ...other, view: { from: view.from + growth, until: view.until + growth } } : other));
      this.update({ traces }, 'replace');
    } else this.notify();
  }
}

/** True if a view ends where the trace does, but for a pixel or two. */
function isAtEnd(view: Span, whole: Span): boolean {
  return view.until >= whole.until - length(view) * 0.01;
}
