
// Mouse, keyboard and controls.

/** @param {App} app */
function connect(app) {
  connectControls(app);
  connectFinder(app);
  connectCanvas(app);
  connectTable(app);
  connectSplitter(app);
  document.addEventListener('keydown', (event) => pressed(app, event));
  addEventListener('popstate', (event) => {
    const at = event.state?.at ?? 0;
    if (app.steps[at] && at !== app.at) app.apply(at);
  });
  try {
    history.replaceState({ at: 0 }, '');
  } catch {
    // Without a history, Escape goes back.
  }
}

/**
 * @param {string} id
 * @param {(value: string) => void} change
 */
function onSelect(id, change) {
  const select = /** @type {HTMLSelectElement} */ (byId(id));
  select.addEventListener('change', () => change(select.value));
}

/** @param {App} app */
function connectControls(app) {
  byId('weight').append(...app.weights.map((weight) => element('option', { value: weight.key }, weight.name)));
  fillThreads(app);
  onSelect('weight', (key) => setWeight(app, key));
  onSelect('threads', (threads) => {
    app.threads = threads;
    app.rebuild();
  });
  onSelect('view', (view) => app.go({ ...allPaths(), view: view === 'bottom-up' ? view : 'paths' }));
  onSelect('order', (order) => {
    app.order = order === 'first' ? order : 'size';
    app.rebuild();
  });
  onSelect('widths', (widths) => {
    app.widths = /** @type {Widths} */ (widths);
    app.rebuild();
  });
  onSelect('colour', (colour) => {
    app.painter.byChange = colour === 'change';
    app.showLegend();
    app.graph.request();
  });
  for (const id of ['widths-label', 'scale-label', 'help-comparison']) byId(id).hidden = !app.isComparison;
  const colour = /** @type {HTMLSelectElement} */ (byId('colour'));
  /** @type {HTMLElement} */ (colour.parentElement).hidden = !app.isComparison;
  colour.value = app.isComparison ? 'change' : 'package';
  const scale = /** @type {HTMLInputElement} */ (byId('scale'));
  scale.addEventListener('change', () => {
    app.isScaled = scale.checked;
    app.rebuild();
  });
  byId('upside').addEventListener('click', () => turn(app));
  byId('show-table').addEventListener('click', () => toggleTable(app));
  byId('show-help').addEventListener('click', () => /** @type {HTMLDialogElement} */ (byId('help')).showModal());
  connectTheme(app);
}

/** @param {App} app */
function connectTheme(app) {
  const preference = matchMedia('(prefers-color-scheme: dark)');
  const set = (/** @type {boolean} */ isDark) => {
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    app.colours.setDark(isDark);
    app.painter.reset();
    if (!app.view) return;
    app.showLegend();
    app.table.write();
    app.graph.request();
  };
  preference.addEventListener('change', () => set(preference.matches));
  byId('theme').addEventListener('click', () => set(!app.colours.isDark));
  set(preference.matches);
}

/** @param {App} app */
function fillThreads(app) {
  const { tree } = app.profile;
  const threads = tree.threads();
  const sums = (/** @type {number} */ node) => tree.own.map((_, trace) => tree.total(trace, app.weight)[node]);
  const all = tree.own.map((_, trace) => tree.total(trace, app.weight)[0]);
  const largest = (/** @type {number} */ node) => Math.max(...sums(node).map((sum, trace) => sum / (all[trace] || 1)));
  threads.sort((a, b) => largest(b) - largest(a));
  const options = threads.map((node) => {
    const frame = app.frames[tree.frame[node]];
    const name = visible(frame.name, 80) || 'without a name';
    const number = Math.max(...frame.threads) > 1 ? ` ×${count(Math.max(...frame.threads))}` : '';
    const shares = sums(node).map((sum, trace) => share(sum, all[trace])).join(', base ');
    return element('option', { value: String(tree.frame[node]) }, `${name}${number} (${shares})`);
  });
  const select = /** @type {HTMLSelectElement} */ (byId('threads'));
  select.replaceChildren(element('option', { value: 'merged' }, 'all, merged'), element('option', { value: 'apart' }, 'all, each apart'), ...options);
  select.value = app.threads;
  byId('threads-label').hidden = threads.length < 2;
}

/**
 * @param {App} app
 * @param {string} key
 */
function setWeight(app, key) {
  app.weight = app.weights.find((weight) => weight.key === key) ?? app.weight;
  /** @type {HTMLSelectElement} */ (byId('weight')).value = app.weight.key;
  fillThreads(app);
  app.rebuild();
}

/** @param {App} app */
function turn(app) {
  const { graph } = app;
  graph.isUpsideDown = !graph.isUpsideDown;
  byId('upside').setAttribute('aria-pressed', String(graph.isUpsideDown));
  graph.scroller.scrollTop = graph.isUpsideDown ? graph.content.clientHeight : 0;
  if (graph.zoomed) graph.reveal(graph.zoomed);
  graph.request();
}

/** @param {App} app */
function toggleTable(app) {
  const isHidden = !byId('methods').hidden;
  byId('methods').hidden = byId('splitter').hidden = isHidden;
  byId('show-table').setAttribute('aria-pressed', String(!isHidden));
  app.graph.request();
}

/** @param {App} app */
function connectFinder(app) {
  const find = /** @type {HTMLInputElement} */ (byId('find'));
  const regex = byId('regex');
  const search = () => {
    find.removeAttribute('aria-invalid');
    if (find.value === '') return app.setHighlight(null);
    try {
      app.setHighlight(searched(app.frames, find.value, regex.getAttribute('aria-pressed') === 'true'));
    } catch (error) {
      app.setHighlight(null);
      find.setAttribute('aria-invalid', 'true');
      byId('found').classList.add('error');
      byId('found').textContent = 'no regular expression';
      byId('found').title = String(error);
    }
  };
  let timer = 0;
  find.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(search, 80);
  });
  regex.addEventListener('click', () => {
    regex.setAttribute('aria-pressed', String(regex.getAttribute('aria-pressed') !== 'true'));
    search();
  });
  byId('unfind').addEventListener('click', () => endSearch(app));
  find.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') endSearch(app);
    else if (event.key === 'Enter') {
      clearTimeout(timer);
      search();
      nextMatch(app, event.shiftKey ? -1 : 1, true);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

/** @param {App} app */
function endSearch(app) {
  const find = /** @type {HTMLInputElement} */ (byId('find'));
  find.value = '';
  find.removeAttribute('aria-invalid');
  app.setHighlight(null);
  byId('canvas').focus();
}

/**
 * Moves the focus to a highlighted bar.
 * @param {App} app
 * @param {number} step
 * @param {boolean} isFirst True to begin with the widest one.
 */
function nextMatch(app, step, isFirst = false) {
  if (!app.highlight) return;
  const bars = app.graph.matches(app.highlight);
  if (bars.length === 0) return;
  const at = app.graph.focused && !isFirst ? bars.indexOf(app.graph.focused) : -1;
  const next = at < 0 ? (step > 0 ? 0 : bars.length - 1) : (at + step + bars.length) % bars.length;
  byId('canvas').focus();
  focusBar(app, bars[next]);
}

/**
 * @param {App} app
 * @param {Bar} bar
 */
function focusBar(app, bar) {
  const { graph } = app;
  graph.focused = bar;
  graph.showsFocus = true;
  graph.hovered = null;
  graph.reveal(bar);
  graph.paint();
  app.showStatus();
  const place = graph.placeOf(bar);
  const box = graph.canvas.getBoundingClientRect();
  const slot = { x: place.x, width: place.width, bar, above: bar, first: 0, last: 0 };
  app.showTip(slot, box.left + place.x + Math.min(place.width / 2, 60), box.top + place.y + 8);
}

/** @param {App} app */
function connectCanvas(app) {
  const { graph } = app;
  const { canvas } = graph;
  const hover = (/** @type {Slot | null} */ slot) => {
    canvas.classList.toggle('over', slot !== null);
    if (slot === graph.hovered) return;
    graph.hovered = slot;
    graph.request();
  };
  canvas.addEventListener('pointermove', (event) => {
    const slot = graph.slotAt(event.offsetX, event.offsetY);
    hover(slot);
    if (slot) app.showTip(slot, event.clientX, event.clientY);
    else app.hideTip();
  });
  canvas.addEventListener('pointerleave', () => {
    hover(null);
    app.hideTip();
  });
  graph.scroller.addEventListener('scroll', () => app.hideTip());
  canvas.addEventListener('pointerdown', () => {
    graph.showsFocus = false;
    graph.request();
  });
  canvas.addEventListener('click', (event) => {
    const slot = graph.slotAt(event.offsetX, event.offsetY);
    if (slot?.bar) app.zoom(slot.bar);
    else if (slot) app.zoom(slot.above, graph.partAt(slot, event.offsetX));
  });
  canvas.addEventListener('contextmenu', (event) => {
    event.preventDefault();
    const isMouse = event.button === 2;
    const bar = isMouse ? graph.slotAt(event.offsetX, event.offsetY)?.bar : graph.focused;
    if (!bar) return;
    graph.focused = bar;
    const place = graph.placeOf(bar);
    const box = canvas.getBoundingClientRect();
    const [x, y] = isMouse ? [event.clientX, event.clientY] : [box.left + place.x + 20, box.top + place.y + ROW];
    app.openMenu(bar.frame, bar, x, y);
  });
  canvas.addEventListener('focus', () => graph.request());
  canvas.addEventListener('blur', () => {
    app.hideTip();
    graph.request();
  });
}

/** @param {App} app */
function connectTable(app) {
  const body = byId('cells');
  const rowOf = (/** @type {Event} */ event) => /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest('tr'));
  const toggle = (/** @type {HTMLElement} */ row) => {
    const method = Number(row.dataset.frame);
    const isOn = app.highlight?.count === 1 && app.highlight.has(method);
    if (isOn) return endSearch(app);
    app.highlightMethod(method);
  };
  body.addEventListener('click', (event) => {
    const row = rowOf(event);
    if (row) toggle(row);
  });
  body.addEventListener('dblclick', (event) => {
    const row = rowOf(event);
    if (row) app.showMethod('callees', Number(row.dataset.frame));
  });
  body.addEventListener('contextmenu', (event) => {
    const row = rowOf(event);
    if (!row) return;
    event.preventDefault();
    const box = row.getBoundingClientRect();
    const [x, y] = event.button === 2 ? [event.clientX, event.clientY] : [box.left + 40, box.bottom];
    app.openMenu(Number(row.dataset.frame), null, x, y);
  });
  body.addEventListener('keydown', (event) => {
    const row = rowOf(event);
    const next = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling }[event.key];
    if (row && event.key === 'Enter') toggle(row);
    else if (row && event.key === 'c') app.showMethod('callers', Number(row.dataset.frame));
    else if (row && event.key === 'v') app.showMethod('callees', Number(row.dataset.frame));
    else if (next) /** @type {HTMLElement} */ (next).focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

/** @param {App} app */
function connectSplitter(app) {
  const splitter = byId('splitter');
  const methods = byId('methods');
  const setWidth = (/** @type {number} */ width) => {
    methods.style.width = `${Math.round(Math.max(180, Math.min(innerWidth * 0.7, width)))}px`;
  };
  if (app.isComparison) setWidth(Math.min(760, innerWidth * 0.5));
  splitter.addEventListener('pointerdown', (event) => splitter.setPointerCapture(event.pointerId));
  splitter.addEventListener('pointermove', (event) => {
    if (splitter.hasPointerCapture(event.pointerId)) setWidth(innerWidth - event.clientX);
  });
  splitter.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: 20, ArrowRight: -20 }[event.key];
    if (!step) return;
    setWidth(methods.clientWidth + step);
    event.stopPropagation();
  });
}

/**
 * @param {App} app
 * @param {KeyboardEvent} event
 */
function pressed(app, event) {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'f') {
    event.preventDefault();
    return findField().select();
  }
  const target = /** @type {Element} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest('input, select, dialog')) return;
  const action = actions(app, event.key);
  const isOnButton = target.closest('button') !== null;
  if (!action || (isOnButton && event.key === 'Enter')) return;
  event.preventDefault();
  action();
}

function findField() {
  const find = /** @type {HTMLInputElement} */ (byId('find'));
  find.focus();
  return find;
}

/**
 * Returns what a key does.
 * @param {App} app
 * @param {string} key
 * @returns {(() => void) | undefined}
 */
function actions(app, key) {
  const { graph } = app;
  const focused = graph.focused;
  if (key.startsWith('Arrow')) {
    if (document.activeElement !== graph.canvas && document.activeElement !== document.body) return undefined;
    return () => {
      graph.canvas.focus();
      const bar = graph.neighbour(key);
      if (bar) focusBar(app, bar);
    };
  }
  const weights = app.weights.map((weight) => weight.key);
  return /** @type {Record<string, () => void>} */ ({
    '/': () => findField().select(),
    '?': () => byId('show-help').click(),
    Enter: () => focused && app.zoom(focused),
    Escape: () => app.back(),
    Backspace: () => app.back(),
    Home: () => app.go(allPaths()),
    c: () => focused && app.showMethod('callers', focused.frame),
    v: () => focused && app.showMethod('callees', focused.frame),
    h: () => focused && app.highlightMethod(focused.frame),
    i: () => turn(app),
    t: () => toggleTable(app),
    w: () => setWeight(app, weights[(weights.indexOf(app.weight.key) + 1) % weights.length]),
    n: () => nextMatch(app, 1),
    N: () => nextMatch(app, -1),
  })[key];
}
