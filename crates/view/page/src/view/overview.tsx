// The whole run: heat map and lanes. Dragging selects a span.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type OverviewPicture, LABELS, drawOverview, drawRun, drawSpans, overviewHeight, overviewLanes, overviewScale, overviewTexts } from '../draw/overview.ts';
import { CanvasPen, type Measure } from '../draw/pen.ts';
import { duration, moment } from '../pure/format.ts';
import { gridOf, growingGridOf, length, ordered, zoom } from '../pure/span.ts';
import { fileName } from '../pure/tsv.ts';
import { saveSvg } from './download.ts';
import { currentTheme, useAnswer, useSession } from './hooks.ts';
import { Tooltip, usePicture } from './picture.tsx';
import { methodName, titleOf } from './text.ts';

const BINS = 1024;
const ROWS = 13;
/** Share of the picture's width by which keys move. */
const KEY_STEP = 0.01;

export function Overview({ trace }: { trace: number }): JSX.Element {
  const session = useSession(({ infos, state, names }) => {
    const own = state.traces[trace]!;
    return `${infos[trace]!.duration} ${infos[trace]!.indexed} ${state.heat} ${own.method} ${own.selection?.from} ${own.selection?.until} ${own.threads} ${state.isLinked} ${names[trace]!.version}`;
  });
  const info = session.info(trace);
  const state = session.traceState(trace);
  const whole = session.whole(trace);
  const size = length(whole);
  const about = `${trace} ${whole.from} ${whole.until} ${info.events} ${info.indexed}`;
  const grid = info.part ? { ...whole, bins: BINS } : info.live ? growingGridOf(whole, BINS) : gridOf(whole, BINS);
  const heat = useAnswer(`${about} ${session.state.heat}`, (signal) => session.source.heat(trace, grid, grid.bins, ROWS, session.state.heat, signal), (answer) => answer.share < 1);
  const lanes = useAnswer(about, (signal) => session.source.lanes(trace, grid, grid.bins, null, signal), (answer) => answer.share < 1);
  const found = useAnswer(state.method === null ? null : `${about} ${state.method}`, (signal) => session.source.occurrences(trace, state.method!, grid, grid.bins, signal), (answer) => answer.share < 1);
  const [tip, setTip] = useState<{ x: number; y: number; texts: string[] } | null>(null);
  const [spoken, setSpoken] = useState('');
  const drag = useRef<{ kind: 'select' | 'move'; x: number; from: number; until: number; hasMoved: boolean } | null>(null);
  const cursor = useRef(0);
  const measure = useRef<Measure | null>(null);
  /** The picture without spans, and what it was drawn from. */
  const image = useRef<{ canvas: HTMLCanvasElement; parts: unknown[] } | null>(null);
  const width = useRef(1);

  if (session.lanes[trace] !== lanes.value) {
    session.lanes[trace] = lanes.value;
    queueMicrotask(() => session.notify());
  }
  // As long as a part of the trace has not been read, a slower call may be in it.
  const slowest = found.value && !found.isOld && found.value.share >= 1 && state.method !== null ? found.value.slowest : null;
  useEffect(() => {
    session.slowest[trace] = slowest;
    session.notify();
  }, [slowest]);

  const current = (): OverviewPicture => {
    const now = drag.current;
    return {
      width: width.current,
      theme: currentTheme(),
      measure: measure.current!,
      whole,
      view: session.view(trace),
      selection: now?.kind === 'select' && now.hasMoved ? now : session.traceState(trace).selection,
      threads: session.traceState(trace).threads,
      grid,
      heat: heat.value,
      value: session.state.heat,
      lanes: lanes.value,
      occurrences: found.value && state.method !== null ? { answer: found.value, name: methodName(session.names[trace]!, state.method) } : null,
    };
  };
  const picture = usePicture((frame) => {
    measure.current = frame.measure;
    width.current = frame.width;
    const now = current();
    const parts = [now.heat, now.lanes, now.occurrences?.answer, now.occurrences?.name, now.threads, now.theme, now.whole.from, now.whole.until, frame.width, frame.height, frame.ratio];
    const old = image.current;
    if (!old || parts.some((part, at) => part !== old.parts[at])) {
      const canvas = old?.canvas ?? document.createElement('canvas');
      const pen = new CanvasPen(canvas.getContext('2d')!);
      pen.begin(frame.width, frame.height, frame.ratio);
      drawRun(pen, now);
      image.current = { canvas, parts };
    }
    frame.pen.context.drawImage(image.current!.canvas, 0, 0, frame.width, frame.height);
    drawSpans(frame.pen, now);
  });
  useEffect(() => session.subscribe(picture.invalidate), [session]);

  /** Returns the nearest time that is there. */
  const within = (time: number) => Math.min(whole.until, Math.max(whole.from, time));
  const timeAt = (x: number) => within(overviewScale(current()).time(x));
  const onDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    if (event.offsetX < LABELS) {
      chooseRow(event.offsetY);
      return;
    }
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    const time = timeAt(event.offsetX);
    const view = session.view(trace);
    const isView = event.offsetY < 20 && length(view) < size;
    drag.current = isView ? { kind: 'move', x: event.offsetX, ...view, hasMoved: false } : { kind: 'select', x: event.offsetX, from: time, until: time, hasMoved: false };
  };
  const onMove = (event: PointerEvent) => {
    const now = drag.current;
    if (!now) {
      const texts = event.offsetX >= LABELS ? overviewTexts(current(), event.offsetX, event.offsetY) : [];
      (event.currentTarget as HTMLElement).style.cursor = event.offsetX < LABELS ? 'pointer' : event.offsetY < 20 && length(session.view(trace)) < size ? 'grab' : 'crosshair';
      setTip(texts.length > 0 ? { x: event.clientX, y: event.clientY, texts } : null);
      return;
    }
    if (Math.abs(event.offsetX - now.x) >= 3) now.hasMoved = true;
    if (!now.hasMoved) return;
    setTip(null);
    if (now.kind === 'move') {
      const by = (event.offsetX - now.x) * overviewScale(current()).perPixel;
      session.setView(trace, { from: now.from + by, until: now.until + by });
    } else Object.assign(now, ordered(timeAt(now.x), timeAt(event.offsetX)));
    picture.invalidate();
  };
  const onUp = (event: PointerEvent) => {
    const now = drag.current;
    drag.current = null;
    if (!now || (now.kind === 'move' && now.hasMoved)) return;
    if (now.hasMoved) {
      session.updateTrace(trace, { selection: { from: Math.floor(now.from), until: Math.ceil(now.until) } });
      return;
    }
    if (openSlowest(event.offsetX, event.offsetY)) return;
    const shown = length(session.view(trace));
    const time = timeAt(event.offsetX);
    if (shown < size) session.setView(trace, { from: time - shown / 2, until: time + shown / 2 }, 'push');
  };
  /** A click on the name of a row selects its threads, or all threads again. */
  const chooseRow = (y: number) => {
    const row = overviewLanes(current()).find((place) => place.row >= 0 && y >= place.top && y < place.top + place.height)?.row;
    const threads = row === undefined ? undefined : heat.value?.rows[row]?.threads;
    if (!threads) return;
    const old = session.traceState(trace).threads;
    const isChosen = old !== null && old.length === threads.length && old.every((thread) => threads.includes(thread));
    session.updateTrace(trace, { threads: isChosen ? null : [...threads].sort((a, b) => a - b) });
  };
  /** The marker of the slowest call is a way to it. */
  const openSlowest = (x: number, y: number): boolean => {
    const lane = overviewLanes(current()).find((place) => place.label === 'marked method');
    if (!slowest || !lane || y < lane.top || y > lane.top + lane.height || Math.abs(overviewScale(current()).x(slowest.begin) - x) > 7) return false;
    session.showCall(trace, slowest);
    return true;
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === 'Enter' && state.selection) session.setView(trace, state.selection, 'push');
    else if (step !== undefined) {
      const by = step * size * (event.ctrlKey ? KEY_STEP * 10 : KEY_STEP);
      const selection = session.traceState(trace).selection;
      if (event.shiftKey) {
        // Shift and arrow keys move the end of the selection, or begin one in the view.
        const old = selection ?? { from: session.view(trace).from, until: session.view(trace).from };
        const until = Math.min(whole.until, Math.max(old.from + 1, old.until + by));
        session.updateTrace(trace, { selection: { from: Math.floor(old.from), until: Math.ceil(until) } }, 'replace');
        setSpoken(`selected ${duration(until - old.from)} from ${moment(old.from)}`);
      } else if (selection) {
        const selected = length(selection);
        const from = Math.min(whole.until - selected, Math.max(whole.from, selection.from + by));
        session.updateTrace(trace, { selection: { from: Math.floor(from), until: Math.ceil(from + selected) } }, 'replace');
        setSpoken(`selected ${duration(selected)} from ${moment(from)}`);
      } else {
        cursor.current = within(cursor.current + by);
        const shown = length(session.view(trace));
        if (shown < size) session.setView(trace, { from: cursor.current - shown / 2, until: cursor.current + shown / 2 });
      }
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  useEffect(() => {
    const { canvas } = picture;
    if (!canvas) return undefined;
    const onWheel = (event: WheelEvent) => {
      if (event.offsetX < LABELS) return;
      event.preventDefault();
      session.setView(trace, zoom(session.view(trace), timeAt(event.offsetX), Math.exp(Math.max(-0.7, Math.min(0.7, event.deltaY * 0.0022))), session.whole(trace)));
    };
    canvas.addEventListener('wheel', onWheel, { passive: false });
    return () => canvas.removeEventListener('wheel', onWheel);
  }, [whole.from, whole.until]);

  const height = overviewHeight(heat.value?.rows.length ?? Math.min(ROWS, info.threads.name.length), state.method !== null);
  const saveOverview = () => {
    if (!measure.current) return;
    const theme = currentTheme();
    saveSvg(fileName(info.title, 'heat-map') + '.svg', `Heat map of ${titleOf(info)}`, width.current, height, theme, (pen) => drawOverview(pen, current()));
  };
  const error = heat.error ?? lanes.error;
  return (
    <section class="overview" aria-label={info.part ? 'The whole part' : 'The whole run'} style={{ height: `${height}px` }}>
      <canvas
        ref={picture.ref}
        tabIndex={0}
        role="application"
        aria-roledescription="heat map"
        aria-label={`${titleOf(info)}: ${session.state.heat} of threads over ${duration(size)}. Shift and arrow keys select a span, Enter shows it in the timeline.`}
        onPointerDown={onDown}
        onPointerMove={onMove}
        onPointerUp={onUp}
        onPointerLeave={() => setTip(null)}
        onKeyDown={onKey}
      />
      <button class="plain svg" title="Save the heat map as SVG" aria-label="Save the heat map as SVG" onClick={saveOverview}>
        ↓ SVG
      </button>
      {error && <p class="error over">{error}</p>}
      <div class="visually-hidden" aria-live="polite">
        {spoken}
      </div>
      {tip && (
        <Tooltip x={tip.x} y={tip.y}>
          <b>{tip.texts[0]}</b>
          {tip.texts.slice(1).map((text, at) => (
            <div key={at} class={at === tip.texts.length - 2 ? 'dim' : ''}>
              {text}
            </div>
          ))}
        </Tooltip>
      )}
    </section>
  );
}
