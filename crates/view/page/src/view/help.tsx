// The list of keys.

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

const KEYS: [string, [string, string][]][] = [
  [
    'Timeline',
    [
      ['W, S, ↑, ↓, wheel', 'zoom in and out at the pointer'],
      ['A, D, ←, →, drag', 'move through time'],
      ['Shift drag, drag the axis', 'select a span'],
      ['Page ↑, Page ↓, wheel on names', 'move through the threads'],
      ['Tab, then ↑ ↓ ← →', 'move among the names of threads; Esc goes back'],
      ['Shift ← → ↑ ↓', 'move among calls: neighbours, caller, callee'],
      ['Enter, click', 'select a call; look closer at hatched calls'],
      ['Double click', 'zoom to a call'],
      ['0', 'show the whole run'],
      ['Z', 'zoom to the selected span'],
      ['F', 'follow the end of a live trace, or stop that'],
    ],
  ],
  [
    'Selected call',
    [
      ['C', 'to its caller'],
      ['N, P', 'to the next, the previous call of its method'],
      ['M', 'mark its method along the run'],
    ],
  ],
  [
    'Search',
    [
      ['/', 'find a method'],
      ['S', 'to the slowest call, while a method is marked'],
      ['Esc', 'clear: mark, then call, then selection'],
    ],
  ],
  [
    'Whole run',
    [
      ['Drag', 'select a span'],
      ['Click on a name', 'select the threads of a row'],
      ['Shift ← →', 'select a span from the keyboard'],
      ['Enter', 'show the selected span in the timeline'],
    ],
  ],
];

export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" aria-label="Keys" onClose={onClose} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <form method="dialog">
        <h2>Keys</h2>
        <button class="plain close" aria-label="Close">
          ✕
        </button>
      </form>
      <div class="columns">
        {KEYS.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, text]) => (
                <div key={key}>
                  <dt>
                    {key.split(', ').map((part) => (
                      <kbd key={part}>{part}</kbd>
                    ))}
                  </dt>
                  <dd>{text}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="dim">The address of the page holds all that is shown. Send it to show the same picture.</p>
    </dialog>
  );
}
