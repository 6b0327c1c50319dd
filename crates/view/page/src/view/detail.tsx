// What is known of the selected call.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { CallAnswer } from '../data/types.ts';
import { WAIT_TEXT } from '../draw/boxes.ts';
import { count, duration, moment, percent, visible } from '../pure/format.ts';
import { useAnswer, useSession } from './hooks.ts';
import { methodName, threadName } from './text.ts';

/** Waits that are listed. More of them make the pane long and slow. */
const MOST_WAITS = 50;

export function Detail({ trace }: { trace: number }): JSX.Element | null {
  const session = useSession(({ state, names }) => `${JSON.stringify(state.traces[trace]!.call)} ${state.traces[trace]!.method} ${names[trace]!.version}`);
  const { call } = session.traceState(trace);
  const answer = useAnswer(call && `${trace} ${call.thread} ${call.begin} ${call.level}`, (signal) => session.source.call(trace, call!.thread, call!.begin, call!.level, signal));
  const known = answer.isOld ? null : answer.value;
  useEffect(() => {
    session.calls[trace] = known;
    session.notify();
  }, [known]);
  if (!call) return null;
  const shown = answer.error ? null : answer.value;
  return (
    <aside class="detail" aria-label="Selected call" aria-busy={answer.isOld}>
      <button class="plain close" aria-label="Close the details" title="Close the details (Esc)" onClick={() => session.updateTrace(trace, { call: null })}>
        ✕
      </button>
      {answer.error && <p class="error">{answer.error}</p>}
      {shown && <CallFacts trace={trace} thread={call.thread} call={shown} />}
      {!shown && !answer.error && <p class="dim">Loading…</p>}
    </aside>
  );
}

function Row({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </>
  );
}

function CallFacts({ trace, thread, call }: { trace: number; thread: number; call: CallAnswer }): JSX.Element {
  const session = useSession(() => null);
  const names = session.names[trace]!;
  const [owner, name, signature] = names.get(call.method) ?? ['…', '…', ''];
  const total = call.end - call.begin;
  const isMarked = session.traceState(trace).method === call.method;
  return (
    <>
      <h2>{visible(name, 300)}</h2>
      <p class="owner">{visible(owner, 600)}</p>
      {signature !== '' && <p class="signature">{visible(signature, 1000)}</p>}
      <div class="buttons">
        <button disabled={!call.caller} onClick={() => session.follow(trace, 'caller')} title="To the caller (key c)">
          ↑ Caller <kbd>c</kbd>
        </button>
        <button disabled={!call.previous} onClick={() => session.follow(trace, 'previous')} title="To the previous call of the method (key p)">
          ← Previous <kbd>p</kbd>
        </button>
        <button disabled={!call.next} onClick={() => session.follow(trace, 'next')} title="To the next call of the method (key n)">
          Next → <kbd>n</kbd>
        </button>
      </div>
      <dl>
        <Row label="Length">
          <b>{duration(total)}</b>
        </Row>
        {call.self != null && (
          <Row label="Self">
            {duration(call.self)} <span class="dim">{percent(call.self, total)}</span>
          </Row>
        )}
        <Row label="Begin">{moment(call.begin)}</Row>
        <Row label="End">
          {moment(call.end)}
          {call.exception && <span class="flag"> by an exception</span>}
        </Row>
        <Row label="Thread">{threadName(session.info(trace), thread)}</Row>
        <Row label="Level">{count(call.level)}</Row>
        <Row label="Caller">{call.caller ? methodName(names, call.caller.method) : 'none: outermost call'}</Row>
        {call.waits.length === 0 && <Row label="Waits">none recorded</Row>}
      </dl>
      <div class="buttons">
        <button onClick={() => session.setView(trace, { from: call.begin - total * 0.1 - 5, until: call.end + total * 0.1 + 5 }, 'push')}>Zoom to it</button>
        <button onClick={() => session.updateTrace(trace, { selection: { from: Math.floor(call.begin), until: Math.ceil(call.end) }, threads: [thread] })}>Select its time</button>
        <button aria-pressed={isMarked} onClick={() => session.updateTrace(trace, { method: isMarked ? null : call.method })}>
          Mark method
        </button>
      </div>
      <Waits trace={trace} call={call} />
    </>
  );
}

function Waits({ trace, call }: { trace: number; call: CallAnswer }): JSX.Element | null {
  const session = useSession(() => null);
  if (call.waits.length === 0) return null;
  const sum = call.waits.reduce((all, wait) => all + wait.end - wait.begin, 0);
  return (
    <>
      <h3>
        {count(call.waits.length)} {call.waits.length === 1 ? 'wait' : 'waits'}, {duration(sum)}
      </h3>
      <ul class="waits">
        {call.waits.slice(0, MOST_WAITS).map((wait, at) => (
          <li key={at} class={`kind${wait.kind}`}>
            <b>{WAIT_TEXT[wait.kind]?.[0] ?? 'wait'}</b> {duration(wait.end - wait.begin)}
            <div class="dim">{visible(wait.object, 200)}</div>
            {wait.owner !== null && (
              <div>
                held by {threadName(session.info(trace), wait.owner)}
                {wait.owner_in && (
                  <>
                    {' in '}
                    <button class="link" onClick={() => session.showCall(trace, { thread: wait.owner!, ...wait.owner_in! })}>
                      {methodName(session.names[trace]!, wait.owner_in.method)}
                    </button>
                  </>
                )}
              </div>
            )}
          </li>
        ))}
      </ul>
      {call.waits.length > MOST_WAITS && <p class="dim">{count(call.waits.length - MOST_WAITS)} more waits</p>}
    </>
  );
}
