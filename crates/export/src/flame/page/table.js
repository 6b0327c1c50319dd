
// The table of methods.

const STEP = 100;

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} name
 * @property {(row: Row) => number | string} value
 * @property {(row: Row) => string} text
 * @property {(row: Row) => string} [share] A second cell.
 * @property {string} [title]
 * @property {boolean} [isChange]
 */

/** @typedef {{frame: Frame, number: number, calls: number[], self: number[], total: number[]}} Row */

class MethodTable {
  /**
   * @param {HTMLElement} title
   * @param {HTMLElement} head
   * @param {HTMLElement} body
   * @param {HTMLButtonElement} more
   * @param {(frame: Frame) => string} swatch Returns the colour of a frame.
   */
  constructor(title, head, body, more, swatch) {
    this.title = title;
    this.head = head;
    this.body = body;
    this.more = more;
    this.swatch = swatch;
    /** @type {Row[]} */
    this.rows = [];
    /** @type {Column[]} */
    this.columns = [];
    this.sort = { key: 'self', isRising: false };
    /** The highlighted rows, or all, as sorted. @type {Row[]} */
    this.sorted = [];
    /** Number of rows that are shown. */
    this.shown = 0;
    /** @type {Found | null} */
    this.highlight = null;
    more.addEventListener('click', () => this.grow(5 * STEP));
  }

  /**
   * Fills the table with the methods of the bars that a view shows from a bar on.
   * @param {View} view
   * @param {Bar} bar
   * @param {Frame[]} frames
   * @param {string} place Name of the bar.
   */
  fill(view, bar, frames, place) {
    const { tree, shown } = view;
    const isWhole = view.isInverted || bar.above === null && shown.view === 'paths';
    const nodes = isWhole ? [0] : bar.nodes;
    const sums = tree.own.map((_, trace) => methodTotals(tree, nodes, frames.length, trace, shown.weight));
    const all = sums.map((_, trace) => nodes.reduce((sum, node) => sum + view.totals[trace][node], 0));
    this.rows = [];
    frames.forEach((frame, number) => {
      if (frame.kind !== 'method') return;
      if (sums.every((s) => s.calls[number] === 0 && s.self[number] === 0 && s.total[number] === 0)) return;
      this.rows.push({ frame, number, calls: sums.map((s) => s.calls[number]), self: sums.map((s) => s.self[number]), total: sums.map((s) => s.total[number]) });
    });
    this.title.textContent = `${plural(this.rows.length, 'method')}${isWhole ? '' : ` in ${place}`}`;
    this.title.title = this.title.textContent;
    this.columns = tree.traces > 1 ? comparingColumns(shown.weight, shown.scale) : plainColumns(shown.weight, all[0]);
    if (!this.columns.some((column) => column.key === this.sort.key)) this.sort = { key: tree.traces > 1 ? 'self-change' : 'self', isRising: false };
    this.write();
  }

  /**
   * Shows the highlighted methods only.
   * @param {Found | null} highlight
   */
  filter(highlight) {
    this.highlight = highlight;
    this.write();
  }

  write() {
    this.writeHead();
    const column = this.columns.find(({ key }) => key === this.sort.key) ?? this.columns[0];
    const sign = this.sort.isRising ? 1 : -1;
    const compare = (/** @type {number | string} */ a, /** @type {number | string} */ b) => (a < b ? -sign : a > b ? sign : 0);
    const selected = this.highlight ? this.rows.filter((row) => this.highlight?.has(row.number)) : this.rows;
    const ranked = selected.map((row) => {
      const value = column.value(row);
      return { row, rank: typeof value === 'number' && column.isChange ? Math.abs(value) : value };
    });
    this.sorted = ranked.sort((a, b) => compare(a.rank, b.rank) || a.row.number - b.row.number).map(({ row }) => row);
    this.body.replaceChildren();
    this.shown = 0;
    this.grow(STEP);
    this.body.querySelector('tr')?.setAttribute('tabindex', '0');
  }

  /**
   * Shows more rows.
   * @param {number} step
   */
  grow(step) {
    this.body.append(...this.sorted.slice(this.shown, this.shown + step).map((row) => this.row(row)));
    this.shown += step;
    const rest = this.sorted.length - this.shown;
    this.more.hidden = rest <= 0;
    this.more.textContent = `Show more (${count(rest)})`;
  }

  writeHead() {
    const cells = this.columns.map((column) => {
      const isSorted = column.key === this.sort.key;
      const arrow = isSorted ? (this.sort.isRising ? ' ▴' : ' ▾') : '';
      const button = element('button', { type: 'button', title: column.title ?? `Sort by ${column.name}` }, column.name + arrow);
      button.addEventListener('click', () => {
        this.sort = { key: column.key, isRising: isSorted ? !this.sort.isRising : column.key === 'method' };
        this.write();
        /** @type {HTMLElement | null} */ (this.head.querySelector(`[data-key="${column.key}"] button`))?.focus();
      });
      const cell = element('th', { scope: 'col', 'data-key': column.key }, button);
      if (column.share) cell.colSpan = 2;
      if (isSorted) cell.setAttribute('aria-sort', this.sort.isRising ? 'ascending' : 'descending');
      return cell;
    });
    this.head.replaceChildren(element('tr', {}, ...cells));
    this.head.parentElement?.classList.toggle('method-first', this.columns[0] === METHOD);
  }

  /** @param {Row} row */
  row(row) {
    const made = element('tr', { tabindex: '-1', 'data-frame': String(row.number), 'data-raw': row.frame.raw });
    for (const column of this.columns) {
      const value = column.value(row);
      const cell = element('td', { 'data-key': column.key });
      if (column.key === 'method') {
        const swatch = element('span', { class: 'swatch' });
        swatch.style.background = this.swatch(row.frame);
        const owner = row.frame.package ? element('span', { class: 'package' }, `  ${visible(row.frame.package)}`) : '';
        cell.append(swatch, visible(row.frame.short), owner);
      } else {
        cell.textContent = column.text(row);
        cell.dataset.value = String(value);
        if (column.isChange && value !== 0) cell.className = Number(value) > 0 ? 'more' : 'less';
      }
      made.append(cell);
      if (column.share) made.append(element('td', { class: 'share' }, column.share(row)));
    }
    made.title = visible(row.frame.full);
    return made;
  }
}

/** @type {Column} */
const METHOD = { key: 'method', name: 'Method', value: (row) => row.frame.short, text: (row) => row.frame.short };

/**
 * @param {Weight} weight
 * @param {number} all
 * @returns {Column[]}
 */
function plainColumns(weight, all) {
  /** @type {Column[]} */
  const columns = [
    { key: 'self', name: 'Self', value: (row) => row.self[0], text: (row) => amount(row.self[0], weight), share: (row) => share(row.self[0], all) },
    { key: 'total', name: 'Total', value: (row) => row.total[0], text: (row) => amount(row.total[0], weight), share: (row) => share(row.total[0], all) },
    { key: 'calls', name: 'Calls', value: (row) => row.calls[0], text: (row) => count(row.calls[0]) },
    METHOD,
  ];
  if (weight.key !== 'calls') return columns;
  columns[0].name = 'Calls';
  columns[1].name = 'With callees';
  return columns.filter(({ key }) => key !== 'calls');
}

/**
 * @param {Weight} weight
 * @param {number} scale Factor of the weights of the base.
 * @returns {Column[]}
 */
function comparingColumns(weight, scale) {
  const isScaled = scale !== 1;
  const of = (/** @type {'self' | 'total' | 'calls'} */ what, /** @type {string} */ name) => {
    const factor = what === 'calls' && weight.key !== 'calls' ? 1 : scale;
    const unit = what === 'calls' ? /** @type {Weight} */ ({ unit: 'count' }) : weight;
    const difference = (/** @type {Row} */ row) => row[what][0] - row[what][1] * factor;
    return [
      { key: `${what}-change`, name: `Δ ${name}`, isChange: true, title: isScaled ? 'Change, with the base scaled to the same total' : 'Change', value: difference, text: (/** @type {Row} */ row) => change(difference(row), unit) },
      { key: what, name, value: (/** @type {Row} */ row) => row[what][0], text: (/** @type {Row} */ row) => amount(row[what][0], unit) },
      { key: `${what}-base`, name: 'Base', value: (/** @type {Row} */ row) => row[what][1], text: (/** @type {Row} */ row) => amount(row[what][1], unit) },
    ];
  };
  if (weight.key === 'calls') return [METHOD, ...of('self', 'Calls'), ...of('total', 'With callees')];
  return [METHOD, ...of('self', 'Self'), ...of('total', 'Total'), ...of('calls', 'Calls')];
}
