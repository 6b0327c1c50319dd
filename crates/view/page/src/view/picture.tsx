// A canvas that fits its place and is drawn at most once for each frame of the screen.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { CanvasPen, Measure } from '../draw/pen.ts';
import type { Theme } from '../pure/colour.ts';
import { currentTheme, watchTheme } from './hooks.ts';

export interface Frame {
  pen: CanvasPen;
  measure: Measure;
  width: number;
  height: number;
  /** Device pixels of a CSS pixel. */
  ratio: number;
  theme: Theme;
}

export interface PictureHandle {
  canvas: HTMLCanvasElement | null;
  frame: Frame | null;
  invalidate: () => void;
}

/** Returns a handle whose canvas calls `draw` after `invalidate`, and after changes of its size. */
export function usePicture(draw: (frame: Frame) => void): PictureHandle & { ref: (canvas: HTMLCanvasElement | null) => void } {
  const latest = useRef(draw);
  latest.current = draw;
  const handle = useRef<PictureHandle & { ref: (canvas: HTMLCanvasElement | null) => void; pen: CanvasPen | null; measure: Measure | null; request: number }>(null!);
  handle.current ??= {
    canvas: null,
    frame: null,
    pen: null,
    measure: null,
    request: 0,
    ref: (canvas) => {
      handle.current.canvas = canvas;
    },
    invalidate: () => {
      if (handle.current.request === 0) handle.current.request = requestAnimationFrame(paint);
    },
  };
  const paint = () => {
    const own = handle.current;
    own.request = 0;
    const canvas = own.canvas;
    if (!canvas) return;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (width === 0 || height === 0) return;
    const ratio = window.devicePixelRatio || 1;
    own.pen ??= new CanvasPen(canvas.getContext('2d')!);
    own.measure ??= new Measure(document.createElement('canvas').getContext('2d')!);
    own.pen.begin(width, height, ratio);
    own.frame = { pen: own.pen, measure: own.measure, width, height, ratio, theme: currentTheme() };
    latest.current(own.frame);
  };
  useLayoutEffect(() => {
    const own = handle.current;
    const observer = new ResizeObserver(() => own.invalidate());
    if (own.canvas) observer.observe(own.canvas);
    const stop = watchTheme(own.invalidate);
    own.invalidate();
    return () => {
      observer.disconnect();
      stop();
      cancelAnimationFrame(own.request);
      own.request = 0;
    };
  }, []);
  // What the component shows may have changed with it.
  useEffect(() => handle.current.invalidate());
  return handle.current;
}

/** A box beside the pointer. It is never read out: the same text stands in a live region. */
export function Tooltip({ x, y, children }: { x: number; y: number; children: ComponentChildren }): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const { offsetWidth: width, offsetHeight: height } = box;
    box.style.left = `${Math.max(4, x + 14 + width > innerWidth ? x - width - 10 : x + 14)}px`;
    box.style.top = `${Math.max(4, y + 16 + height > innerHeight ? y - height - 10 : y + 16)}px`;
  });
  return (
    <div class="tooltip" ref={ref} aria-hidden="true">
      {children}
    </div>
  );
}
