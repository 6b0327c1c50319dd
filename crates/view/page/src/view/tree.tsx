// The flame graph and the call tree of the selection: two views of one answer.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Palette } from '../draw/boxes.ts';
import { FLAME_ROW, drawFlame } from '../draw/flame.ts';
import { count, duration, percent, visible } from '../pure/format.ts';
import { type Bar, type TreeShape, ancestors, hottestPath, layoutFlame, nextBar, shapeOf, treeRows } from '../pure/flame.ts';
import { fullName } from '../pure/names.ts';
import { NO_METHOD, SHORTER_CALLS } from '../pure/tile.ts';
import { fileName, tsv } from '../pure/tsv.ts';
import { save, saveSvg } from './download.ts';
import { currentTheme, useAnswer, useSession } from './hooks.ts';
import { Tooltip, usePicture } from './picture.tsx';
import { queryOf } from './query.ts';
import { Share } from './table.tsx';
import { methodName, titleOf } from './text.ts';

const NODE_LIMIT = 20_000;
const MOST_ROWS = 2000;

function useTree(trace: number): { shape: TreeShape | null; share: number; isOld: boolean; error: string | null } {
  const session = useSession((s) => `${queryOf(s, trace, null, NODE_LIMIT).key} ${s.names[trace]!.version} ${s.traceState(trace).method}`);
  const { query } = queryOf(session, trace, null, NODE_LIMIT);
  const whole = { ...query, sort: '', isReversed: false, filter: '' };
  const info = session.info(trace);
  const key = `${trace} ${query.span.from} ${query.span.until} ${query.threads} ${query.isNet} ${info.events} ${info.indexed}`;
  const { value, isOld, error } = useAnswer(key, (signal) => session.source.tree(trace, whole, signal), (answer) => answer.share < 1);
  const shape = useMemo(() => value && shapeOf(value.nodes), [value]);
  return { shape, share: value?.share ?? 1, isOld, error };
}

export function FlameGraph({ trace }: { trace: number }): JSX.Element {
  const { shape, share, isOld, error } = useTree(trace);
  if (error && !shape) return <p class="error">{error}</p>;
  if (!shape) return <p class="dim pad">Loading…</p>;
  return <Flame trace={trace} shape={shape} share={share} isOld={isOld} />;
}

function Flame({ trace, shape, share, isOld }: { trace: number; shape: TreeShape; share: number; isOld: boolean }): JSX.Element {
  const session = useSession((s) => `${s.names[trace]!.version} ${s.traceState(trace).method}`);
  const [zoomed, setZoomed] = useState(0);
  const [focus, setFocus] = useState<number | null>(null);
  const [tip, setTip] = useState<{ x: number; y: number } | null>(null);
  const [width, setWidth] = useState(800);
  const palette = useRef<Palette | null>(null);
  const names = session.names[trace]!;
  useEffect(() => {
    setZoomed(0);
    setFocus(null);
  }, [shape]);
  const bars = useMemo(() => layoutFlame(shape, zoomed < shape.children.length ? zoomed : 0, 0.6 / width), [shape, zoomed, width]);
  const depth = bars.reduce((most, bar) => Math.max(most, bar.depth), 0) + 1;
  const { method } = shape.nodes;
  const pictureOf = (measure: import('../draw/pen.ts').Measure, w: number) => {
    const theme = currentTheme();
    if (palette.current?.theme !== theme) palette.current = new Palette(names, theme);
    palette.current.key();
    return { width: w, bars, methods: method, zoomDepth: ancestors(shape, zoomed).length - 1, palette: palette.current, names, measure, theme, marked: session.traceState(trace).method, focus };
  };
  const picture = usePicture((frame) => {
    if (frame.width !== width) setWidth(frame.width);
    drawFlame(frame.pen, pictureOf(frame.measure, frame.width));
  });
  const barAt = (event: MouseEvent): Bar | undefined => {
    const row = Math.floor(event.offsetY / FLAME_ROW);
    const share = event.offsetX / width;
    return bars.find((bar) => bar.depth === row && share >= bar.left && share <= bar.left + Math.max(bar.width, 2 / width));
  };
  const onKey = (event: KeyboardEvent) => {
    const direction = ({ ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' } as const)[event.key as 'ArrowUp'];
    const from = bars.find((bar) => bar.node === (focus ?? zoomed));
    if (direction && from) {
      const next = focus === null ? from : nextBar(bars, shape, from, direction);
      if (next) setFocus(next.node);
    } else if (event.key === 'Enter' && focus !== null) setZoomed(focus);
    else if (event.key === ' ' && focus !== null) mark(focus);
    else if (event.key === 'Escape' && zoomed !== 0) setZoomed(0);
    else return;
    setTip(null);
    event.preventDefault();
    event.stopPropagation();
  };
  const mark = (node: number) => {
    if (method[node] !== NO_METHOD && method[node] !== SHORTER_CALLS) session.updateTrace(trace, { method: method[node]! });
  };
  const info = session.info(trace);
  const saveGraph = () => {
    const { frame } = picture;
    if (!frame) return;
    saveSvg(fileName(info.title, 'flame-graph') + '.svg', `Flame graph of ${titleOf(info)}`, width, depth * FLAME_ROW, frame.theme, (pen) => drawFlame(pen, pictureOf(frame.measure, width)));
  };
  return (
    <div class={`flame ${isOld ? 'old' : ''}`} aria-busy={isOld}>
      <div class="bar">
        <span class="dim facts" aria-live="polite">
          {focus !== null ? nodeText(shape, focus, methodName(names, method[focus]!)) : `${duration(shape.size[0] ?? 0)} in ${count(Math.max(0, method.length - 1))} call paths. Click zooms, Space marks the method.`}
        </span>
        <Share share={share} />
        {zoomed !== 0 && (
          <button class="plain" onClick={() => setZoomed(0)}>
            Show all
          </button>
        )}
        <button class="plain" onClick={saveGraph} title="Save the flame graph as SVG" aria-label="Save the flame graph as SVG">
          ↓ SVG
        </button>
      </div>
      <div class="rows">
        <canvas
          ref={picture.ref}
          style={{ height: `${depth * FLAME_ROW}px` }}
          tabIndex={0}
          role="application"
          aria-roledescription="flame graph"
          aria-label="Flame graph. Arrow keys move, Enter zooms, Space marks the method, Escape shows all. The call tree has the same figures as a table."
          onKeyDown={onKey}
          onClick={(event) => {
            const bar = barAt(event);
            if (bar) setZoomed(bar.node);
          }}
          onPointerMove={(event) => {
            const bar = barAt(event);
            setFocus(bar?.node ?? null);
            setTip(bar ? { x: event.clientX, y: event.clientY } : null);
          }}
          onPointerLeave={() => {
            setFocus(null);
            setTip(null);
          }}
        />
      </div>
      {tip && focus !== null && (
        <Tooltip {...tip}>
          <b>{methodName(names, method[focus]!)}</b>
          {names.get(method[focus]!) && <div class="dim">{visible(`${names.get(method[focus]!)![0]} ${names.get(method[focus]!)![2]}`, 160)}</div>}
          <div>
            total {duration(shape.nodes.total[focus]!)} ({percent(shape.nodes.total[focus]!, shape.size[0]!)}) · self {duration(shape.nodes.self[focus]!)}
          </div>
          {focus !== 0 && <div class="dim">{count(shape.nodes.calls[focus]!)} calls</div>}
        </Tooltip>
      )}
    </div>
  );
}

/** The root is no call, and has no number of calls. */
function nodeText({ nodes, size }: TreeShape, node: number, name: string): string {
  return `${name}: total ${duration(nodes.total[node]!)}, ${percent(nodes.total[node]!, size[0]!)}, self ${duration(nodes.self[node]!)}${node === 0 ? '' : `, ${count(nodes.calls[node]!)} calls`}`;
}

export function CallTree({ trace }: { trace: number }): JSX.Element {
  const { shape, share, isOld, error } = useTree(trace);
  const session = useSession((s) => `${s.names[trace]!.version} ${s.traceState(trace).method} ${s.state.filter}`);
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const [focus, setFocus] = useState(0);
  useEffect(() => {
    if (shape) setUnfolded(new Set(hottestPath(shape, 0)));
    setFocus(0);
  }, [shape]);
  if (error && !shape) return <p class="error">{error}</p>;
  if (!shape) return <p class="dim pad">Loading…</p>;
  const names = session.names[trace]!;
  const { nodes, children, size, depth } = shape;
  const wanted = session.state.filter.toLowerCase();
  const rows = treeRows(shape, unfolded, MOST_ROWS);
  const nameOf = (node: number) => (names.get(nodes.method[node]!) ? fullName(names.get(nodes.method[node]!)!) : '…');
  const toggle = (node: number) => {
    const next = new Set(unfolded);
    if (!next.delete(node)) for (const other of hottestPath(shape, node)) next.add(other);
    setUnfolded(next);
  };
  const onKey = (event: KeyboardEvent) => {
    const at = rows.indexOf(focus);
    const isOpen = unfolded.has(focus);
    if (event.key === 'ArrowDown') setFocus(rows[Math.min(rows.length - 1, at + 1)]!);
    else if (event.key === 'ArrowUp') setFocus(rows[Math.max(0, at - 1)]!);
    else if (event.key === 'ArrowRight') isOpen ? setFocus(rows[Math.min(rows.length - 1, at + 1)]!) : toggle(focus);
    else if (event.key === 'ArrowLeft') isOpen && children[focus]!.length > 0 ? toggle(focus) : setFocus(nodes.parent[focus] ?? 0);
    else if (event.key === 'Enter' && nodes.method[focus]! < SHORTER_CALLS) session.updateTrace(trace, { method: nodes.method[focus]! });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const saveTree = () => {
    const all = treeRows(shape, new Set(nodes.parent.keys()), Infinity);
    const cells = all.map((node) => [depth[node], nameOf(node), nodes.calls[node], nodes.self[node], nodes.total[node]]);
    save(fileName(session.info(trace).title, 'call-tree') + '.tsv', 'text/tab-separated-values', tsv(['level', 'method', 'calls', 'self (ns)', 'total (ns)'], cells));
  };
  return (
    <div class={`table tree ${isOld ? 'old' : ''}`} aria-busy={isOld}>
      <div class="bar">
        <span class="dim">{count(nodes.parent.length - 1)} call paths. Arrow keys move and unfold.</span>
        <Share share={share} />
        <button class="plain" onClick={saveTree} title="Save the call tree as tab-separated values">
          ↓ TSV
        </button>
      </div>
      <div class="rows">
        <table role="treegrid" aria-label="Call tree" tabIndex={0} onKeyDown={onKey} aria-activedescendant={`node${focus}`}>
          <thead>
            <tr role="row">
              <th role="columnheader">method</th>
              <th role="columnheader" class="number">total</th>
              <th role="columnheader" class="number">share</th>
              <th role="columnheader" class="number">self</th>
              <th role="columnheader" class="number">calls</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((node) => {
              const isMatch = wanted !== '' && nameOf(node).toLowerCase().includes(wanted);
              const isFolder = children[node]!.length > 0;
              return (
                <tr
                  key={node}
                  id={`node${node}`}
                  role="row"
                  aria-level={depth[node]! + 1}
                  aria-expanded={isFolder ? unfolded.has(node) : undefined}
                  aria-selected={node === focus}
                  class={`${node === focus ? 'focus' : ''} ${nodes.method[node] === session.traceState(trace).method || isMatch ? 'marked' : ''}`}
                  onClick={() => setFocus(node)}
                  onDblClick={() => toggle(node)}
                >
                  <td role="gridcell" class="method" style={{ paddingLeft: `${8 + 14 * Math.min(40, depth[node]!)}px` }}>
                    <button class="fold" tabIndex={-1} aria-hidden="true" disabled={!isFolder} onClick={() => toggle(node)}>
                      {!isFolder ? '·' : unfolded.has(node) ? '▾' : '▸'}
                    </button>
                    <span title={nameOf(node)}>{methodName(names, nodes.method[node]!)}</span>
                  </td>
                  <td role="gridcell" class="number">
                    <span class="share-bar" style={{ width: `${((64 * size[node]!) / Math.max(1, size[0]!)).toFixed(1)}px` }} aria-hidden="true" />
                    {duration(nodes.total[node]!)}
                  </td>
                  <td role="gridcell" class="number dim">{percent(nodes.total[node]!, size[0]!)}</td>
                  <td role="gridcell" class="number">{duration(nodes.self[node]!)}</td>
                  <td role="gridcell" class="number">{node !== 0 && count(nodes.calls[node]!)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
        {rows.length >= MOST_ROWS && <p class="dim pad">Only {count(MOST_ROWS)} rows are shown. Fold some of them.</p>}
      </div>
    </div>
  );
}
