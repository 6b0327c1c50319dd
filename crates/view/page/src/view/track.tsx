// Names of tracks, and what the pointer shows.

import type { JSX } from 'preact';
import { WAIT_TEXT } from '../draw/boxes.ts';
import { AXIS_HEIGHT, type Box } from '../draw/timeline.ts';
import { count, duration, moment, shortCount, visible } from '../pure/format.ts';
import { shortName } from '../pure/names.ts';
import { Kind } from '../pure/tile.ts';
import { type Track, GAP, OTHERS_GROUP, VIRTUAL_GROUP, toggle as toggleTrack } from '../pure/tracks.ts';
import { useSession } from './hooks.ts';
import { Tooltip } from './picture.tsx';
import { threadName } from './text.ts';

/** Name of a track, with buttons that unfold it and select its threads. The Tab key stops at one track only. */
export function TrackLabel({ trace, track, isStop }: { trace: number; track: Track; isStop: boolean }): JSX.Element {
  const session = useSession(() => null);
  const info = session.info(trace);
  const { threads, open } = session.traceState(trace);
  const isGroup = track.kind === 'group';
  const name = isGroup
    ? `${count(track.threads.length)} ${track.id === VIRTUAL_GROUP ? 'virtual threads' : track.id === OTHERS_GROUP ? 'other threads' : 'threads'}`
    : threadName(info, track.id);
  const isChosen = threads !== null && track.threads.every((thread) => threads.includes(thread));
  const toggle = () => session.updateTrace(trace, { open: toggleTrack(open, track.id) });
  const choose = (event: MouseEvent) => {
    const old = event.ctrlKey || event.metaKey || event.shiftKey ? (threads ?? []) : [];
    const rest = old.filter((thread) => !track.threads.includes(thread));
    const chosen = isChosen ? rest : [...rest, ...track.threads].sort((a, b) => a - b);
    session.updateTrace(trace, { threads: chosen.length === 0 ? null : chosen });
  };
  const levels = isGroup ? 0 : info.threads.levels[track.id]!;
  const rows = isGroup ? 0 : Math.floor((track.height - GAP) / track.row);
  const calls = track.threads.reduce((sum, thread) => sum + (info.threads.calls[thread] ?? 0), 0);
  const end = isGroup ? -1 : info.threads.end[track.id]!;
  // While the index is built, the server knows no times of threads, and their calls only roughly.
  const busy = isGroup || info.indexed < 1 ? 0 : (info.threads.busy[track.id] ?? 0);
  const facts = [...(calls > 0 ? [`${shortCount(calls)} calls`] : []), ...(busy > 0 ? [`${duration(busy)} busy`] : []), ...(end >= 0 ? [`ended at ${duration(end)}`] : [])].join(', ');
  const cut = levels > rows ? `${count(rows)} of ${count(levels)} levels are shown` : '';
  return (
    <div class={`track ${isGroup ? 'group' : ''} ${isChosen ? 'chosen' : ''}`} style={{ top: `${AXIS_HEIGHT + track.top}px`, height: `${track.height}px`, paddingLeft: `${track.indent * 14}px` }}>
      <button class="fold" tabIndex={isStop ? 0 : -1} aria-expanded={track.isOpen} aria-label={`${isGroup ? 'all threads of' : 'all levels of'} ${name}`} onClick={toggle}>
        {track.isOpen ? '▾' : '▸'}
      </button>
      <button class="name" tabIndex={isStop ? 0 : -1} aria-pressed={isChosen} title={`${visible(name)}\n${facts}\nSelects the thread for the panels below`} onClick={choose}>
        <span>{name}</span>
        {track.height > 30 && <small>{facts}</small>}
        {track.height > 50 && cut !== '' && <small>{cut}</small>}
      </button>
    </div>
  );
}

/** Facts of the box under the pointer. */
export function BoxTooltip({ trace, x, y, box }: { trace: number; x: number; y: number; box: Box }): JSX.Element {
  const session = useSession(({ names }) => names[trace]!.version);
  const name = session.names[trace]!.get(box.method);
  const isWait = box.kind >= Kind.blocked;
  return (
    <Tooltip x={x} y={y}>
      <b>{isWait ? WAIT_TEXT[box.kind]![0] : name ? shortName(name) : '…'}</b>
      {!isWait && name && <div class="dim">{visible(`${name[0]}${name[2] === '' ? '' : ` · ${name[2]}`}`, 160)}</div>}
      <div>
        {duration(box.end - box.begin)}
        {box.count > 1 && ` · ${count(box.count)} ${isWait ? 'waits' : 'calls'} narrower than a pixel`}
        {box.kind === Kind.exception && ' · ended by an exception'}
      </div>
      <div class="dim">
        at {moment(box.begin)} · {threadName(session.info(trace), box.thread)}
      </div>
      {box.count > 1 && <div class="dim">Click to look closer</div>}
    </Tooltip>
  );
}
