// Hooks of the panels.

import { createContext } from 'preact';
import { useContext, useEffect, useReducer, useRef, useState } from 'preact/hooks';
import { DARK, LIGHT, type Theme } from '../pure/colour.ts';
import type { Session } from './session.ts';

export const SessionContext = createContext<Session>(null as unknown as Session);

/** Returns the session; the component is drawn again if what `select` returns changes. */
export function useSession(select: (session: Session) => unknown): Session {
  const session = useContext(SessionContext);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const last = useRef<unknown>(undefined);
  last.current = select(session);
  const latest = useRef(select);
  latest.current = select;
  useEffect(
    () =>
      session.subscribe(() => {
        if (!Object.is(latest.current(session), last.current)) redraw(undefined as never);
      }),
    [session],
  );
  return session;
}

const QUERY = '(prefers-color-scheme: dark)';

export function currentTheme(): Theme {
  return matchMedia(QUERY).matches ? DARK : LIGHT;
}

/** Calls `onChange` when the colour scheme changes. Returns a function that stops it. */
export function watchTheme(onChange: () => void): () => void {
  const query = matchMedia(QUERY);
  query.addEventListener('change', onChange);
  return () => query.removeEventListener('change', onChange);
}

export interface Answer<Value> {
  value: Value | null;
  /** True while `value` belongs to an earlier question. */
  isOld: boolean;
  error: string | null;
}

const ASK_AGAIN_MS = 500;

/**
 * Asks a question. The answer to the previous one is kept until the new one arrives. If
 * `isPartial` is true of an answer, the question is asked again.
 */
export function useAnswer<Value>(key: string | null, ask: (signal: AbortSignal) => Promise<Value>, isPartial: (value: Value) => boolean = () => false): Answer<Value> {
  const [answer, setAnswer] = useState<{ key: string | null; value: Value | null; error: string | null }>({ key: null, value: null, error: null });
  useEffect(() => {
    if (key === null) return undefined;
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      try {
        const value = await ask(controller.signal);
        if (controller.signal.aborted) return;
        setAnswer({ key, value, error: null });
        if (isPartial(value)) timer = setTimeout(() => void load(), ASK_AGAIN_MS);
      } catch (error) {
        if (!controller.signal.aborted) setAnswer((old) => ({ key, value: old.value, error: error instanceof Error ? error.message : String(error) }));
      }
    };
    void load();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [key]);
  if (key === null) return { value: null, isOld: false, error: null };
  return { value: answer.value, isOld: answer.key !== key, error: answer.key === key ? answer.error : null };
}
