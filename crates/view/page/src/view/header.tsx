// The head of the page: what the traces are, and whether they are complete.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { TraceInfo } from '../data/types.ts';
import { duration, moment, plural, shortCount, visible } from '../pure/format.ts';
import { length } from '../pure/span.ts';
import { HEATS, type Heat } from '../pure/state.ts';
import { useSession } from './hooks.ts';
import { Search } from './search.tsx';
import { titleOf } from './text.ts';

const HEAT_TITLES: Record<Heat, string> = { calls: 'Calls', allocated: 'Allocated', cpu: 'CPU' };

export function Header({ onHelp }: { onHelp: () => void }): JSX.Element {
  const session = useSession(({ state, infos, lanes }) => `${state.heat} ${state.isNet} ${state.isLinked} ${infos.length} ${lanes.map((of) => of?.cpu.length)}`);
  const { state } = session;
  // A stand-alone page can't subtract the cost.
  const hasCost = session.infos.some((info) => info.cost && !info.part);
  // Few traces have readings of CPU time.
  const hasCpu = session.lanes.some((lanes) => lanes && lanes.cpu.length > 0);
  return (
    <header>
      <h1>jtrail</h1>
      {session.infos.length === 1 ? <Facts trace={0} /> : <span class="facts dim">{session.infos.map((info, at) => `${'AB'[at]}: ${titleOf(info)}`).join(' · ')}</span>}
      <span class="spring" />
      <label>
        Heat
        <select value={state.heat} onChange={(event) => session.update({ heat: event.currentTarget.value as Heat })}>
          {HEATS.filter((heat) => heat !== 'cpu' || hasCpu || state.heat === 'cpu').map((heat) => (
            <option key={heat} value={heat}>
              {HEAT_TITLES[heat]}
            </option>
          ))}
        </select>
      </label>
      {hasCost && (
        <label title={`Subtracts what recording cost from the times in the tables (${session.infos.map((info) => info.cost?.text ?? 'unknown').join('; ')})`}>
          <input type="checkbox" checked={state.isNet} onChange={(event) => session.update({ isNet: event.currentTarget.checked })} /> net
        </label>
      )}
      {session.infos.length > 1 && (
        <label title="Both timelines show the same span since the start of their traces">
          <input type="checkbox" checked={state.isLinked} onChange={(event) => session.update({ isLinked: event.currentTarget.checked })} /> linked
        </label>
      )}
      <Search />
      <button class="plain" onClick={onHelp} title="Keys (?)" aria-label="Show the keys">
        ?
      </button>
    </header>
  );
}

/** Facts of a trace, and its badges. */
export function Facts({ trace }: { trace: number }): JSX.Element {
  const session = useSession((s) => { const { infos, tiles } = s; return `${infos[trace]!.duration} ${infos[trace]!.events} ${infos[trace]!.indexed} ${infos[trace]!.live} ${tiles[trace]!.problem} ${s.isFollowing(trace)}`; });
  const { problem } = session.tiles[trace]!;
  const info = session.info(trace);
  const start = new Date(Number(BigInt(/^\d+$/.test(info.start) ? info.start : '0') / 1_000_000n));
  const date = start.getTime() > 0 ? `${start.toISOString().slice(0, 19).replace('T', ' ')} UTC` : '';
  // A stand-alone page may have a part of the trace.
  const { part } = info;
  const isPart = part && (part.from > 0 || part.until < info.duration);
  const size = isPart ? `${duration(length(part))} from ${moment(part.from)}, a part of ${duration(info.duration)}` : duration(info.duration);
  const texts = [size, part ? `${shortCount(info.calls)} calls` : `${shortCount(info.events)} events`, plural(info.threads.name.length, 'thread')];
  return (
    <span class="facts">
      <b title={visible(info.title, 500)}>{titleOf(info)}</b>
      {info.program !== '' && (
        <span class="dim program" title={visible(info.program, 2000)}>
          {visible(info.program, 120)}
        </span>
      )}
      <span class="dim" title={`${plural(info.events, 'event')}, ${plural(info.calls, 'call')}${date && `, began ${date}`}`}>
        {texts.join(' · ')}
      </span>
      <Missing trace={trace} info={info} />
      <span class="badge quiet" title={visible(`Clock: ${info.clock}`, 500)}>
        {info.clock === 'exact' ? 'exact clock' : visible(info.clock, 60)}
      </span>
      {info.cost && (
        <span class="badge quiet" title={visible(`What recording cost: ${info.cost.text}`, 500)}>
          {visible(info.cost.text, 60)}
        </span>
      )}
      {problem !== null && (
        <span class="badge warn" role="alert" title={visible(problem, 500)}>
          ⚠ no picture: {visible(problem, 40)}
        </span>
      )}
      <Live trace={trace} info={info} />
      {info.indexed < 1 && !info.live && (
        <span class="badge" title="Pictures become finer while the index is built">
          <progress value={info.indexed} max={1} aria-label="Progress of the index" /> index {Math.floor(info.indexed * 100)}%
        </span>
      )}
    </span>
  );
}

/** Says that a trace still grows, and whether the timeline moves with its end. */
function Live({ trace, info }: { trace: number; info: TraceInfo }): JSX.Element | null {
  const session = useSession((s) => s.isFollowing(trace));
  if (!info.live) return session.wasLive(trace) ? <span class="badge quiet">{info.growing ? '■ ended without an end of the trace' : '■ ended'}</span> : null;
  const isFollowing = session.isFollowing(trace);
  return (
    <>
      <span class="badge live" title="The program still runs, and the trace grows">
        ● live
      </span>
      <button class="badge follow" aria-pressed={isFollowing} title={isFollowing ? 'The timeline moves with the end of the trace; F stops that' : 'The timeline stays where it is; F goes to the end of the trace and moves with it'} onClick={() => session.setFollowing(trace, !isFollowing)}>
        {isFollowing ? '❚❚ following' : '▶ follow'}
      </button>
    </>
  );
}

/** Tells that nothing is missing, or what. A click on an entry selects its time. */
function Missing({ trace, info }: { trace: number; info: TraceInfo }): JSX.Element {
  const session = useSession(() => null);
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const close = (event: Event) => {
      if (event instanceof KeyboardEvent ? event.key === 'Escape' : !box.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener('pointerdown', close);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('pointerdown', close);
      removeEventListener('keydown', close);
    };
  }, [isOpen]);
  const lost = info.missing.reduce((sum, gap) => sum + gap.events, 0);
  const isComplete = info.missing.length === 0 && info.remarks.length === 0;
  // A long trace may turn out to be damaged until all of it is read.
  const isKnown = !info.live && info.indexed >= 1;
  if (isComplete) return <span class="badge good">{isKnown ? '✓ complete: 0 lost' : '✓ 0 lost so far'}</span>;
  const title = info.missing.length === 0 ? plural(info.remarks.length, 'remark') : `⚠ ${shortCount(lost)} events missing`;
  return (
    <span class="missing" ref={box}>
      <button class="badge warn" aria-expanded={isOpen} aria-haspopup="true" onClick={() => setOpen(!isOpen)}>
        {title}
      </button>
      {isOpen && (
        <div class="popup" role="group" aria-label="What is missing">
          {info.remarks.map((remark, at) => (
            <p key={at}>{visible(remark, 2000)}</p>
          ))}
          <ul>
            {info.missing.map((gap, at) => (
              <li key={at}>
                <button
                  onClick={() => {
                    setOpen(false);
                    const size = Math.max(1000, gap.until - gap.from);
                    session.updateTrace(trace, { selection: { from: gap.from, until: Math.max(gap.from + 1, gap.until) }, view: { from: Math.max(0, gap.from - size), until: gap.until + size } });
                  }}
                >
                  <b>{plural(gap.events, 'event')}</b> in {duration(gap.until - gap.from)} from {moment(gap.from)}
                  <span class="dim">{visible(gap.text, 500)}</span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      )}
    </span>
  );
}
