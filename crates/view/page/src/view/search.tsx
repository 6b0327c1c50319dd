// Finds methods by name: a list under a text field.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count, duration, visible } from '../pure/format.ts';
import { fullName, shortName } from '../pure/names.ts';
import { useAnswer, useSession } from './hooks.ts';

const MOST_SHOWN = 40;

export function Search(): JSX.Element {
  const session = useSession(({ state, names }) => `${state.active} ${names[state.active]!.version}`);
  const trace = session.active;
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState<number | null>(null);
  const [asked, setAsked] = useState('');
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), 120);
    return () => clearTimeout(timer);
  }, [text]);
  const { value: latest, isOld, error } = useAnswer(asked === '' || !isOpen ? null : `${trace} ${asked}`, (signal) => session.source.find(trace, asked, signal), (answer) => answer.share < 1);
  // A list that belongs to an earlier text would be chosen from by mistake.
  const value = isOld || asked !== text.trim() ? null : latest;
  const found = value?.methods.slice(0, MOST_SHOWN) ?? [];
  /** Methods may change their places while more of the run is read. */
  const at = Math.max(0, found.findIndex(([id]) => id === chosen));
  const setAt = (place: number) => setChosen(found[place]?.[0] ?? null);
  /** True after Enter was pressed before the list arrived: its first method is chosen then. */
  const isAwaited = useRef(false);
  useEffect(() => setChosen(null), [asked]);
  useEffect(() => {
    if (isAwaited.current && found[0]) choose(found[0][0]);
    if (found[0] || value?.share === 1) isAwaited.current = false;
  }, [value]);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  const choose = (method: number) => {
    session.updateTrace(trace, { method });
    setOpen(false);
    (document.activeElement as HTMLElement | null)?.blur();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(found.length - 1, at + 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
    else if (event.key === 'Enter' && found[at]) choose(found[at]![0]);
    else if (event.key === 'Enter') isAwaited.current = value === null || value.share < 1;
    else if (event.key === 'Escape') {
      setOpen(false);
      setText('');
      (event.currentTarget as HTMLElement).blur();
      session.updateTrace(trace, { method: null });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="search">
      <input
        id="search"
        type="search"
        role="combobox"
        list={undefined}
        aria-expanded={isOpen && asked !== ''}
        aria-controls="found"
        aria-autocomplete="list"
        aria-activedescendant={isOpen && found[at] ? `found${found[at]![0]}` : undefined}
        aria-label="Find a method"
        placeholder="Find a method  ( / )"
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          isAwaited.current = false;
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKey}
      />
      {isOpen && asked !== '' && (
        <ul id="found" role="listbox" aria-label="Methods" ref={list}>
          {found.map(([id, calls, total], place) => {
            const name = session.names[trace]!.get(id);
            return (
              // The list must not take the focus before the click arrives.
              <li key={id} id={`found${id}`} role="option" aria-selected={place === at} onMouseDown={(event) => event.preventDefault()} onClick={() => choose(id)}>
                <span class="name" title={name ? fullName(name) : ''}>
                  {name ? shortName(name) : '…'}
                  <small>{name ? visible(name[0], 90) : ''}</small>
                </span>
                <span class="dim">
                  {count(calls)} × · {duration(total)}
                </span>
              </li>
            );
          })}
          {value && found.length === 0 && value.share === 1 && <li class="dim">No method has this name.</li>}
          {value && value.share < 1 && (
            <li class="dim">
              {found.length === 0 ? 'None so far; ' : ''}
              {Math.floor(value.share * 100)}% of the run is read.
            </li>
          )}
          {error && <li class="error">{error}</li>}
        </ul>
      )}
    </div>
  );
}
