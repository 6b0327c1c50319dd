
// The state of the page, and what changes it.

/**
 * @typedef {object} Step What Back returns to.
 * @property {Shown['view']} view
 * @property {number} method
 * @property {number[]} zoom Frames from the root to the zoomed bar.
 * @property {Part} part
 */

const WHOLE = -1;

/** @returns {Step} */
function allPaths() {
  return { view: 'paths', method: WHOLE, zoom: [], part: null };
}

class App {
  /** @param {Profile} profile */
  constructor(profile) {
    this.profile = profile;
    this.frames = profile.frames;
    this.isComparison = profile.traces.length > 1;
    this.weights = WEIGHTS.filter((weight) => profile.tree.has(weight));
    this.weight = this.weights[0] ?? WEIGHTS[0];
    /** 'merged', 'apart', or the number of a thread's frame. */
    this.threads = 'merged';
    /** @type {Widths} */
    this.widths = this.isComparison ? 'both' : 'new';
    this.isScaled = false;
    /** @type {Shown['order']} */
    this.order = 'size';
    /** @type {Step[]} */
    this.steps = [allPaths()];
    this.at = 0;
    this.picked = WHOLE;
    /** @type {Found | null} */
    this.highlight = null;
    /** @type {Map<string, Tree>} */
    this.trees = new Map();
    const { frames } = this;
    this.colours = new Colours(packagesOf(frames, packageSizes(profile)));
    const canvas = /** @type {HTMLCanvasElement} */ (byId('canvas'));
    this.painter = new Painter(canvas, this.colours, frames);
    this.painter.byChange = this.isComparison;
    this.graph = new Graph(canvas, byId('scroller'), byId('content'), this.painter);
    this.details = new Details(frames);
    const colours = this.colours;
    this.table = new MethodTable(byId('methods-title'), byId('columns'), byId('cells'), /** @type {HTMLButtonElement} */ (byId('more')), (frame) => colours.ofFrame(frame));
    if (this.isComparison) this.table.sort = { key: 'self-change', isRising: false };
    this.menu = new Menu(byId('menu'));
  }

  get step() {
    return this.steps[this.at];
  }

  /** Returns the tree of the selected threads. */
  tree() {
    const { tree } = this.profile;
    let selected = this.trees.get(this.threads);
    if (!selected) {
      const thread = tree.threads().find((node) => String(tree.frame[node]) === this.threads);
      selected = this.threads === 'apart' ? tree : thread === undefined ? tree.merged() : tree.below(thread);
      this.trees.set(this.threads, selected);
    }
    return selected;
  }

  /** Shows everything again, after a change of what is shown. */
  rebuild() {
    const tree = this.tree();
    const { view, method, zoom, part } = this.step;
    const { weight, widths, order } = this;
    const sums = tree.own.map((_, trace) => tree.total(trace, weight)[0]);
    const scale = this.isScaled && sums[1] > 0 && sums[0] > 0 ? sums[0] / sums[1] : 1;
    this.view = new View(tree, { view, method, weight, widths, scale, order });
    const thread = this.frames[Number(this.threads)];
    const name = view === 'bottom-up' ? 'all methods' : thread ? visible(thread.name, 80) || 'thread without a name' : 'all call paths';
    this.painter.rootName = this.details.rootName = name;
    const zoomed = this.view.find(zoom);
    this.graph.show(this.view, zoomed, part);
    const empty = byId('empty');
    empty.hidden = this.view.root.size > 0;
    empty.textContent = `No ${weight.name.toLowerCase()} here`;
    this.showLegend();
    this.showZoomed(zoomed);
  }

  /**
   * Shows what belongs to the zoomed bar.
   * @param {Bar} zoomed
   */
  showZoomed(zoomed) {
    const { view, method } = this.step;
    const name = this.frames[method] ? visible(this.frames[method].short, 120) : '';
    const special = { paths: null, 'bottom-up': 'Self, by callers', callers: `Callers of ${name}`, callees: `Callees of ${name}` }[view];
    const leave = () => this.go(allPaths());
    showCrumbs(byId('crumbs'), zoomed, (bar) => this.details.nameOf(bar), (bar) => this.zoom(bar), special ? { name: special, leave } : null);
    /** @type {HTMLSelectElement} */ (byId('view')).value = view === 'bottom-up' ? view : 'paths';
    this.table?.fill(/** @type {View} */ (this.view), zoomed, this.frames, this.details.nameOf(zoomed));
    this.showFound();
    this.showStatus();
    this.hideTip();
  }

  /**
   * Shows another view or bar, to which Back does not return.
   * @param {Step} step
   */
  go(step) {
    const isSame = JSON.stringify(step) === JSON.stringify(this.step);
    if (isSame) return;
    this.steps.length = this.at + 1;
    this.steps.push(step);
    this.apply(this.at + 1);
    try {
      history.pushState({ at: this.at }, '');
    } catch {
      // Some embedders forbid it. Escape goes back all the same.
    }
  }

  /** @param {number} at */
  apply(at) {
    const before = this.step;
    this.at = at;
    const { view, method, zoom, part } = this.step;
    if (view === before.view && method === before.method && this.view) {
      const bar = this.view.find(zoom);
      this.graph.zoom(this.view, bar, part);
      this.showZoomed(bar);
    } else {
      this.rebuild();
    }
  }

  back() {
    if (this.at === 0) return;
    if (history.state?.at === this.at) history.back();
    else this.apply(this.at - 1);
  }

  /**
   * @param {Bar} bar
   * @param {Part} part
   */
  zoom(bar, part = null) {
    this.go({ ...this.step, zoom: pathOf(bar), part });
  }

  /**
   * Shows the callers or callees of a method.
   * @param {'callers' | 'callees'} view
   * @param {number} method
   */
  showMethod(view, method) {
    if (this.frames[method]?.kind === 'method') this.go({ view, method, zoom: [], part: null });
  }

  /**
   * Highlights frames, or none.
   * @param {Found | null} highlight
   * @param {number} picked Number of the package that is highlighted.
   */
  setHighlight(highlight, picked = WHOLE) {
    this.highlight = highlight;
    this.picked = picked;
    this.painter.highlight = highlight;
    this.graph.request();
    this.table.filter(highlight);
    this.showLegend();
    this.showFound();
  }

  /** Shows the share of what is highlighted. */
  showFound() {
    const { highlight, view, graph } = this;
    const found = byId('found');
    found.classList.remove('error');
    byId('unfind').hidden = highlight === null;
    if (!highlight || !view || !graph.zoomed) {
      found.textContent = '';
      return;
    }
    const zoomed = graph.zoomed;
    const totals = zoomed.figures.map((figures, trace) => ({ matched: matchedTotal(view, zoomed, highlight, trace), all: figures.total }));
    const shares = totals.map(({ matched, all }) => share(matched, all)).join(', base ');
    found.textContent = `${shares} · ${plural(this.table.sorted.length, 'method')}`;
    found.title = `${totals.map(({ matched }) => amount(matched, this.weight)).join(', base ')} of ${this.details.nameOf(zoomed)}; calls within other matched calls count once`;
    found.dataset.value = totals.map(({ matched }) => matched).join(' ');
  }

  showLegend() {
    const legend = byId('legend');
    if (this.painter.byChange) {
      showRamp(legend, this.colours);
      return;
    }
    showPackages(legend, this.tree(), this.weight, this.frames, this.colours, (group, name) => {
      if (group === this.picked) return this.setHighlight(null);
      /** @type {HTMLInputElement} */ (byId('find')).value = '';
      this.setHighlight(new Found(name, Uint8Array.from(this.frames, (frame) => (frame.group === group ? 1 : 0))), group);
    }, this.picked);
  }

  showStatus() {
    const { view, graph } = this;
    if (view && graph.focused) byId('status').replaceChildren(...this.details.status(view, graph.focused));
  }

  /**
   * Shows the tooltip of a slot beside a place.
   * @param {Slot} slot
   * @param {number} x
   * @param {number} y
   */
  showTip(slot, x, y) {
    if (!this.view || this.menu.isOpen) return;
    const tip = byId('tip');
    this.details.fill(tip, this.view, slot);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? x - width - 10 : x + 14;
    const top = y + 18 + height > innerHeight ? y - height - 12 : y + 18;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  }

  hideTip() {
    byId('tip').hidden = true;
  }

  /**
   * Opens the menu of a method.
   * @param {number} method
   * @param {Bar | null} bar
   * @param {number} x
   * @param {number} y
   */
  openMenu(method, bar, x, y) {
    this.hideTip();
    const frame = this.frames[method];
    const isMethod = frame?.kind === 'method';
    /** @type {Item[]} */
    const items = [
      { name: 'Callers of this method', key: 'c', run: () => this.showMethod('callers', method), isOff: !isMethod },
      { name: 'Callees of this method', key: 'v', run: () => this.showMethod('callees', method), isOff: !isMethod },
      { name: 'Highlight this method', key: 'h', run: () => this.highlightMethod(method), isOff: !frame },
      { name: 'Copy the name', key: '', run: () => void navigator.clipboard?.writeText(frame.raw), isOff: !frame || !navigator.clipboard },
    ];
    if (bar) items.unshift({ name: 'Zoom in', key: 'Enter', run: () => this.zoom(bar) });
    if (this.at > 0) items.push({ name: 'Back', key: 'Esc', run: () => this.back() });
    this.menu.open(frame ? visible(frame.short, 120) : this.details.rootName, items, x, y);
  }

  /** @param {number} method */
  highlightMethod(method) {
    if (!this.frames[method]) return;
    /** @type {HTMLInputElement} */ (byId('find')).value = '';
    this.setHighlight(new Found(this.frames[method].short, Uint8Array.from(this.frames, (_, at) => (at === method ? 1 : 0))));
  }
}

/**
 * Returns the self weight of each frame, for the order of packages.
 * @param {Profile} profile
 */
function packageSizes({ tree, frames }) {
  const sizes = new Float64Array(frames.length);
  for (const columns of tree.own) {
    const column = columns[1] ?? columns[CALLS];
    for (let at = 1; column && at < tree.count; at++) sizes[tree.frame[at]] += column[at];
  }
  return sizes;
}
