// The timeline of a trace: a track for each thread.

import type { JSX } from 'preact';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { WAIT_TEXT } from '../draw/boxes.ts';
import { AXIS_HEIGHT, type Box, boxText, pixelTime } from '../draw/timeline.ts';
import { duration, moment } from '../pure/format.ts';
import { shortName } from '../pure/names.ts';
import { ordered } from '../pure/span.ts';
import { Kind } from '../pure/tile.ts';
import { type Track, toggle as toggleTrack, totalHeight } from '../pure/tracks.ts';
import { fileName } from '../pure/tsv.ts';
import { saveSvg } from './download.ts';
import { SessionContext, currentTheme, useSession } from './hooks.ts';
import { usePicture } from './picture.tsx';
import { threadName } from './text.ts';
import { TimelineModel } from './timeline-model.ts';
import { BoxTooltip, TrackLabel } from './track.tsx';

/** Handlers of keys, by trace. */
export const timelineKeys = new Map<number, (event: KeyboardEvent) => boolean>();

interface Drag {
  x: number;
  y: number;
  isSelecting: boolean;
  hasMoved: boolean;
  lastX: number;
  lastY: number;
}

export function Timeline({ trace }: { trace: number }): JSX.Element {
  const session = useContext(SessionContext);
  const model = useMemo(() => new TimelineModel(session, trace), [session, trace]);
  const [hover, setHover] = useState<{ x: number; y: number; box: Box } | null>(null);
  const [spoken, setSpoken] = useState('');
  const [, setScroll] = useState(0);
  /** The track that had the focus last. */
  const [focused, setFocused] = useState('');
  const scroller = useRef<HTMLDivElement>(null);
  const drag = useRef<Drag | null>(null);
  const pointer = useRef<number | null>(null);
  useSession(({ infos, state }) => `${infos[trace]!.threads.name.length} ${state.traces[trace]!.open} ${state.traces[trace]!.threads} ${infos[trace]!.duration}`);
  const picture = usePicture((frame) => {
    scrollToThread();
    model.draw(frame.pen, frame.measure, frame.theme, frame.width, frame.height, frame.ratio);
    picture.canvas?.setAttribute('aria-busy', String(!model.isSharp));
  });
  const tracks = model.layout();
  const total = totalHeight(tracks) + AXIS_HEIGHT;

  const scrollToThread = () => {
    const target = session.scrollTo;
    const box = scroller.current;
    if (!target || target.trace !== trace || !box) return;
    session.scrollTo = null;
    const track = model.layout().find((other) => other.kind === 'thread' && other.id === target.thread);
    if (!track) return;
    const height = box.clientHeight - AXIS_HEIGHT;
    const top = track.top + target.level * track.row;
    if (top < box.scrollTop || top + 2 * track.row > box.scrollTop + height) {
      // The whole track, if the level stays in view.
      box.scrollTop = Math.max(0, Math.max(track.top - height / 4, top - height * 0.7));
      model.scrollTop = box.scrollTop;
    }
  };

  useEffect(() => session.subscribe(picture.invalidate), [session]);
  useEffect(() => {
    const { canvas } = picture;
    if (!canvas) return undefined;
    const onWheel = (event: WheelEvent) => {
      // A line of a mouse wheel is some 16 pixels.
      const unit = event.deltaMode === 1 ? 16 : 1;
      const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
      if (event.altKey) return;
      event.preventDefault();
      if (event.shiftKey) model.panBy(dx + dy);
      else if (Math.abs(dx) > Math.abs(dy)) model.panBy(dx);
      else model.zoomAt(event.offsetX, Math.exp(Math.max(-0.7, Math.min(0.7, dy * (event.ctrlKey ? 0.01 : 0.0022)))));
      setHover(null);
    };
    canvas.addEventListener('wheel', onWheel, { passive: false });
    return () => canvas.removeEventListener('wheel', onWheel);
  }, [model]);

  const describe = (box: Box): string => {
    const name = session.names[trace]!.get(box.method);
    const what = box.kind >= Kind.blocked ? WAIT_TEXT[box.kind]![0]! : boxText(box, name ? shortName(name) : `method ${box.method}`);
    return `${what}, ${duration(box.end - box.begin)}, ${threadName(session.info(trace), box.thread)}`;
  };

  const onDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    // The axis selects, and so does the shift key. Elsewhere dragging moves the picture.
    drag.current = { x: event.offsetX, y: event.offsetY, lastX: event.offsetX, lastY: event.offsetY, isSelecting: event.shiftKey || event.offsetY < AXIS_HEIGHT, hasMoved: false };
  };
  const onMove = (event: PointerEvent) => {
    pointer.current = event.offsetX;
    const now = drag.current;
    if (!now) {
      const box = model.boxAt(event.offsetX, event.offsetY);
      model.focus = box;
      picture.invalidate();
      setHover(box && { x: event.clientX, y: event.clientY, box });
      if (picture.canvas) picture.canvas.style.cursor = event.offsetY < AXIS_HEIGHT ? 'col-resize' : box ? 'pointer' : 'grab';
      return;
    }
    if (!now.hasMoved && Math.hypot(event.offsetX - now.x, event.offsetY - now.y) < 4) return;
    now.hasMoved = true;
    setHover(null);
    if (now.isSelecting) {
      model.dragged = ordered(model.scale.time(now.x), model.scale.time(event.offsetX));
      picture.invalidate();
    } else {
      model.panBy(now.lastX - event.offsetX);
      if (scroller.current) scroller.current.scrollTop += now.lastY - event.offsetY;
    }
    now.lastX = event.offsetX;
    now.lastY = event.offsetY;
  };
  const onUp = (event: PointerEvent) => {
    const now = drag.current;
    drag.current = null;
    if (!now) return;
    if (model.dragged) {
      const { from, until } = model.dragged;
      model.dragged = null;
      session.updateTrace(trace, { selection: { from: Math.max(0, Math.floor(from)), until: Math.ceil(until) } });
    } else if (!now.hasMoved) {
      const box = model.boxAt(event.offsetX, event.offsetY);
      if (box) model.choose(box);
      else if (session.active !== trace) session.update({ active: trace });
    }
  };
  const onLeave = () => {
    pointer.current = null;
    model.focus = null;
    setHover(null);
    picture.invalidate();
  };

  const onKey = (event: KeyboardEvent): boolean => {
    const isOwn = document.activeElement === picture.canvas || document.activeElement === document.body;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const arrow = { ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down' }[key] as 'left' | 'right' | 'up' | 'down' | undefined;
    if (arrow && !isOwn) return false;
    if (arrow && event.shiftKey) {
      const box = model.step(arrow);
      if (box) setSpoken(describe(box));
      picture.invalidate();
      return true;
    }
    const pan = model.width * 0.12;
    const zoom = (factor: number) => model.zoomAt(model.anchor(pointer.current), factor);
    if (key === 'a' || arrow === 'left') model.panBy(-pan);
    else if (key === 'd' || arrow === 'right') model.panBy(pan);
    else if (key === 'w' || key === '+' || key === '=' || arrow === 'up') zoom(0.7);
    else if (key === 's' || key === '-' || arrow === 'down') zoom(1 / 0.7);
    else if ((key === 'PageDown' || key === 'PageUp') && isOwn && scroller.current) scroller.current.scrollTop += (key === 'PageDown' ? 0.8 : -0.8) * scroller.current.clientHeight;
    else if (key === 'Enter' && isOwn) {
      const box = model.focus ?? model.focusMiddle();
      if (!box) return false;
      model.choose(box);
      setSpoken(describe(box));
    } else return false;
    return true;
  };
  useEffect(() => {
    timelineKeys.set(trace, onKey);
  });

  const first = tracks.length > 0 ? model.scrollTop - 200 : 0;
  const shown = tracks.filter((track) => track.top + track.height >= first && track.top <= model.scrollTop + Math.max(model.height, 600) + 200);
  // If the Tab key stopped at each track, it would scroll through all threads.
  const stop = shown.find((track) => keyOf(track) === focused) ?? shown.find((track) => track.top >= model.scrollTop) ?? shown[0];
  const onTrackKey = (event: KeyboardEvent) => {
    const button = (event.target as Element).closest('button');
    if (!button) return;
    const own = [...button.parentElement!.querySelectorAll('button')];
    const column = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>(`button.${button.className}`)];
    const at = column.indexOf(button);
    if (event.key === 'ArrowDown') column[at + 1]?.focus();
    else if (event.key === 'ArrowUp') column[at - 1]?.focus();
    else if (event.key === 'ArrowLeft') own[0]?.focus();
    else if (event.key === 'ArrowRight') own.at(-1)?.focus();
    else if (event.key === 'Escape') picture.canvas?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="timeline" aria-label="Timeline">
      <div
        class="scroller"
        ref={scroller}
        onScroll={() => {
          model.scrollTop = scroller.current!.scrollTop;
          setScroll(model.scrollTop);
          picture.invalidate();
        }}
      >
        <div class="sticky">
          <div class="corner">
            <ViewLength trace={trace} model={model} />
            <button class="plain" title="Unfold or fold all threads" aria-label="Unfold or fold all threads" onClick={() => toggleAll(model)}>
              ⇕
            </button>
            <button class="plain" title="Save the timeline as SVG" aria-label="Save the timeline as SVG" onClick={() => saveTimeline(model, picture.frame?.measure ?? null)}>
              ↓ SVG
            </button>
          </div>
          <canvas
            ref={picture.ref}
            tabIndex={0}
            role="application"
            aria-roledescription="timeline"
            aria-label="Calls of all threads over time. Arrow keys pan and zoom, Shift and arrow keys move among calls, Enter selects a call, question mark lists all keys."
            onPointerDown={onDown}
            onPointerMove={onMove}
            onPointerUp={onUp}
            onPointerLeave={onLeave}
            onBlur={onLeave}
            onDblClick={(event) => {
              const box = model.boxAt(event.offsetX, event.offsetY);
              if (box) model.zoomTo(box);
            }}
          />
        </div>
        <div class="tracks" style={{ height: `${total}px` }} onKeyDown={onTrackKey}>
          {shown.map((track) => (
            <div key={keyOf(track)} onFocusCapture={() => setFocused(keyOf(track))}>
              <TrackLabel trace={trace} track={track} isStop={track === stop} />
            </div>
          ))}
        </div>
      </div>
      <div class="visually-hidden" aria-live="polite">
        {spoken}
      </div>
      {hover && <BoxTooltip trace={trace} {...hover} />}
    </section>
  );
}

function keyOf(track: Track): string {
  return `${track.kind}${track.id}`;
}

/** Unfolds all threads that have a track, or folds them if they are. */
function toggleAll({ session, trace, tracks }: TimelineModel): void {
  const threads = tracks.filter((track) => track.kind === 'thread' && track.indent === 0);
  const isOpen = threads.every((track) => track.isOpen);
  let { open } = session.traceState(trace);
  for (const track of threads) if (track.isOpen === isOpen) open = toggleTrack(open, track.id);
  session.updateTrace(trace, { open });
}

function saveTimeline(model: TimelineModel, measure: import('../draw/pen.ts').Measure | null): void {
  if (!measure) return;
  const { session, trace, width, height } = model;
  const theme = currentTheme();
  saveSvg(fileName(session.info(trace).title, 'timeline') + '.svg', `Timeline of ${session.info(trace).title}`, width, height, theme, (pen) => model.draw(pen, measure, theme, width, height, window.devicePixelRatio || 1));
}

function ViewLength({ trace, model }: { trace: number; model: TimelineModel }): JSX.Element {
  const session = useSession((s) => `${s.view(trace).from} ${s.view(trace).until}`);
  const view = session.view(trace);
  return (
    <span class="dim" title={`In view: ${moment(view.from)} to ${moment(view.until)}; ${pixelTime(view, model.width)}`}>
      {duration(view.until - view.from)}
    </span>
  );
}
