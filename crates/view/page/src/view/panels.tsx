// The panels below the timeline: figures of the selection, a tab for each kind.

import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { count, duration, moment } from '../pure/format.ts';
import { TABS, type Tab } from '../pure/state.ts';
import { useSession } from './hooks.ts';
import { Table } from './table.tsx';
import { methodName, threadName, titleOf } from './text.ts';
import { CallTree, FlameGraph } from './tree.tsx';

const TITLES: Record<Tab, string> = {
  flame: 'Flame graph',
  methods: 'Methods',
  callers: 'Callers and callees',
  tree: 'Call tree',
  allocations: 'Allocations',
  waits: 'Waits',
  exceptions: 'Exceptions',
  collections: 'Collections',
  threads: 'Threads',
};

export function Panels(): JSX.Element {
  const session = useSession(({ state, infos, names }) => `${state.tab} ${state.active} ${state.filter} ${state.traces[state.active]!.method} ${infos.length} ${names[state.active]!.version}`);
  const { tab, active } = session.state;
  const list = useRef<HTMLDivElement>(null);
  const choose = (next: Tab) => session.update({ tab: next, sort: '', isReversed: false });
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -TABS.indexOf(tab), End: TABS.length - 1 - TABS.indexOf(tab) }[event.key];
    if (step === undefined) return;
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length]!;
    choose(next);
    list.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="panels" aria-label="Figures of the selection">
      <div class="tabs">
        {session.infos.length > 1 && (
          <label class="which">
            <span class="visually-hidden">Trace</span>
            <select value={String(active)} onChange={(event) => session.update({ active: Number(event.currentTarget.value) })}>
              {session.infos.map((info, trace) => (
                <option key={trace} value={String(trace)}>
                  {'AB'[trace] ?? trace}: {titleOf(info)}
                </option>
              ))}
            </select>
          </label>
        )}
        <div role="tablist" aria-label="Figures" ref={list} onKeyDown={onKey}>
          {TABS.map((name) => (
            <button key={name} id={`tab-${name}`} role="tab" aria-selected={name === tab} aria-controls="panel" tabIndex={name === tab ? 0 : -1} onClick={() => choose(name)}>
              {TITLES[name]}
            </button>
          ))}
        </div>
        {tab !== 'flame' && (
          <input
            type="search"
            class="filter"
            placeholder="Filter"
            aria-label="Filter the rows"
            spellcheck={false}
            value={session.state.filter}
            onInput={(event) => session.update({ filter: event.currentTarget.value }, 'replace')}
          />
        )}
      </div>
      <SelectionBar trace={active} />
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`} class="panel">
        <Panel tab={tab} trace={active} method={session.traceState(active).method} />
      </div>
    </section>
  );
}

function Panel({ tab, trace, method }: { tab: Tab; trace: number; method: number | null }): JSX.Element {
  switch (tab) {
    case 'flame':
      return <FlameGraph key={trace} trace={trace} />;
    case 'tree':
      return <CallTree key={trace} trace={trace} />;
    case 'callers':
      if (method === null) return <p class="dim pad">Choose a method first: press / and type its name, or click a method in another table.</p>;
      return (
        <div class="two">
          <Table key={`${trace}callers`} trace={trace} what="callers" caption="Callers" method={method} />
          <Table key={`${trace}callees`} trace={trace} what="callees" caption="Callees" method={method} />
        </div>
      );
    default:
      return <Table key={`${trace}${tab}`} trace={trace} what={tab} caption={TITLES[tab]} />;
  }
}

/** Tells what the figures are about, and clears it. */
function SelectionBar({ trace }: { trace: number }): JSX.Element {
  const session = useSession(({ state, names, slowest }) => {
    const own = state.traces[trace]!;
    return `${own.selection?.from} ${own.selection?.until} ${own.threads} ${own.method} ${names[trace]!.version} ${slowest[trace] !== null}`;
  });
  const { selection, threads, method } = session.traceState(trace);
  const info = session.info(trace);
  return (
    <div class="selection" role="status">
      <span class="chip">
        {selection ? (
          <>
            <b>{duration(selection.until - selection.from)}</b> from {moment(selection.from)}
            <button class="link" title="Shows the selected span in the timeline (key z)" onClick={() => session.setView(trace, selection, 'push')}>
              zoom
            </button>
            <button class="plain x" aria-label="Clear the selected span" onClick={() => session.updateTrace(trace, { selection: null })}>
              ✕
            </button>
          </>
        ) : (
          <>{info.part ? 'the whole part' : 'the whole run'}</>
        )}
      </span>
      <span class="chip">
        {threads ? (
          <>
            {threads.length === 1 ? threadName(info, threads[0]!) : `${count(threads.length)} threads`}
            <button class="plain x" aria-label="Select all threads" onClick={() => session.updateTrace(trace, { threads: null })}>
              ✕
            </button>
          </>
        ) : (
          <>all threads</>
        )}
      </span>
      {method !== null && (
        <span class="chip mark">
          <span aria-hidden="true">◆</span> <span class="name">{methodName(session.names[trace]!, method)}</span>
          {session.slowest[trace] && (
            <button class="link" title="Jumps to the slowest call (key s)" onClick={() => session.showCall(trace, session.slowest[trace]!)}>
              slowest
            </button>
          )}
          {session.state.tab !== 'callers' && (
            <button class="link" onClick={() => session.update({ tab: 'callers', sort: '' })}>
              callers
            </button>
          )}
          <button class="plain x" aria-label="Clear the marked method" onClick={() => session.updateTrace(trace, { method: null })}>
            ✕
          </button>
        </span>
      )}
      {session.infos.length > 1 && <span class="dim">of {titleOf(info)}</span>}
    </div>
  );
}
