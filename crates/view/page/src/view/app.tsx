// The page as a whole, and the keys that work everywhere.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Detail } from './detail.tsx';
import { Facts, Header } from './header.tsx';
import { Help } from './help.tsx';
import { SessionContext, useSession } from './hooks.ts';
import { Overview } from './overview.tsx';
import { Panels } from './panels.tsx';
import type { Session } from './session.ts';
import { titleOf } from './text.ts';
import { Timeline, timelineKeys } from './timeline.tsx';

export function App({ session }: { session: Session }): JSX.Element {
  return (
    <SessionContext.Provider value={session}>
      <Page />
    </SessionContext.Provider>
  );
}

function Page(): JSX.Element {
  const session = useSession(({ infos, state }) => `${infos.length} ${state.active} ${state.traces[state.active]!.call !== null}`);
  const [isHelp, setHelp] = useState(false);
  const [share, setShare] = useState(0.35);
  useEffect(() => {
    document.title = `${session.infos.map(titleOf).join(' and ')} – jtrail view`;
    const onKey = (event: KeyboardEvent) => {
      if (handleKey(session, event, () => setHelp(true))) event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [session]);
  const hasTwo = session.infos.length > 1;
  return (
    <>
      <Header onHelp={() => setHelp(true)} />
      <main>
        <div class={`traces ${hasTwo ? 'pair' : ''}`}>
          {session.infos.map((info, trace) => (
            <div key={trace} class={`trace ${hasTwo && session.active === trace ? 'active' : ''}`} role={hasTwo ? 'group' : undefined} aria-label={hasTwo ? titleOf(info) : undefined} onPointerDown={() => session.active !== trace && session.update({ active: trace }, 'replace')}>
              {hasTwo && (
                <div class="trace-head">
                  <b class="letter">{'AB'[trace]}</b>
                  <Facts trace={trace} />
                </div>
              )}
              <Overview trace={trace} />
              <Timeline trace={trace} />
            </div>
          ))}
        </div>
        <Separator share={share} onChange={setShare} />
        <div class="bottom" style={{ flexBasis: `${(share * 100).toFixed(2)}%` }}>
          <Panels />
          {session.traceState(session.active).call && <Detail key={session.active} trace={session.active} />}
        </div>
      </main>
      {isHelp && <Help onClose={() => setHelp(false)} />}
    </>
  );
}

/** The border between timeline and panels, which can be moved. */
function Separator({ share, onChange }: { share: number; onChange: (share: number) => void }): JSX.Element {
  const isDragged = useRef(false);
  const limited = (value: number) => Math.min(0.8, Math.max(0.1, value));
  return (
    <div
      class="separator"
      role="separator"
      aria-orientation="horizontal"
      aria-label="Height of the panels"
      aria-valuenow={Math.round(share * 100)}
      aria-valuemin={10}
      aria-valuemax={80}
      tabIndex={0}
      onKeyDown={(event) => {
        const step = { ArrowUp: 0.03, ArrowDown: -0.03 }[event.key];
        if (step === undefined) return;
        onChange(limited(share + step));
        event.preventDefault();
        event.stopPropagation();
      }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        isDragged.current = true;
      }}
      onPointerUp={() => (isDragged.current = false)}
      onPointerMove={(event) => {
        const main = event.currentTarget.parentElement!.getBoundingClientRect();
        if (isDragged.current) onChange(limited((main.bottom - event.clientY) / main.height));
      }}
    />
  );
}

/** Returns true if the key had a meaning. */
function handleKey(session: Session, event: KeyboardEvent, onHelp: () => void): boolean {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest('input, select, textarea, dialog')) return false;
  const trace = session.active;
  const state = session.traceState(trace);
  switch (event.key) {
    case '/':
      document.getElementById('search')?.focus();
      (document.getElementById('search') as HTMLInputElement | null)?.select();
      return true;
    case '?':
      onHelp();
      return true;
    case 'Escape':
      if (state.method !== null) session.updateTrace(trace, { method: null });
      else if (state.call) session.updateTrace(trace, { call: null });
      else if (state.selection || state.threads) session.updateTrace(trace, { selection: null, threads: null });
      else return false;
      return true;
    case '0':
      session.updateTrace(trace, { view: null });
      return true;
    case 'f':
      if (!session.info(trace).live) return false;
      session.setFollowing(trace, !session.isFollowing(trace));
      return true;
    case 'z':
      if (state.selection) session.setView(trace, state.selection, 'push');
      return true;
    case 'c':
      session.follow(trace, 'caller');
      return true;
    case 'n':
      session.follow(trace, 'next');
      return true;
    case 'p':
      session.follow(trace, 'previous');
      return true;
    case 'm': {
      const answer = session.calls[trace];
      if (answer) session.updateTrace(trace, { method: state.method === answer.method ? null : answer.method });
      return true;
    }
  }
  // While a method is marked, `s` goes to its slowest call, and does not zoom out.
  if (event.key === 's' && state.method !== null) {
    const slowest = session.slowest[trace];
    if (slowest) session.showCall(trace, slowest);
    return true;
  }
  return timelineKeys.get(trace)?.(event) ?? false;
}
