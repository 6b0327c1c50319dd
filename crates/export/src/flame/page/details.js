
// What is said of a bar: the tooltip, and the line that screen readers read.

/**
 * @typedef {object} Line A line of figures, for the trace and for the base.
 * @property {string} key
 * @property {string} name
 * @property {(string | null)[]} texts
 * @property {number[]} [values] Exact figures.
 * @property {string} [change]
 */

/**
 * Creates an element. Texts become text nodes, so that no name is taken for markup.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} content
 * @returns {HTMLElementTagNameMap[T]}
 */
function element(tag, attributes = {}, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

class Details {
  /** @param {Frame[]} frames */
  constructor(frames) {
    this.frames = frames;
    this.rootName = '';
  }

  /** @param {Bar} bar */
  nameOf(bar) {
    return this.frames[bar.frame] ? visible(this.frames[bar.frame].short) : this.rootName;
  }

  /**
   * Returns what is known of a bar, line by line.
   * @param {View} view
   * @param {Bar} bar
   * @returns {Line[]}
   */
  lines(view, bar) {
    const { weight } = view.shown;
    const { figures } = bar;
    const all = view.root.figures;
    const above = bar.above?.figures;
    const amounts = (/** @type {string} */ key, /** @type {string} */ name, /** @type {number[]} */ values) => ({
      key, name, values, texts: values.map((value) => amount(value, weight)), change: changeText(values, weight, view.shown.scale),
    });
    const totals = figures.map(({ total }) => total);
    /** @type {Line[]} */
    const lines = [amounts('total', view.shown.view === 'paths' || view.shown.view === 'callees' ? 'Total' : 'By this caller', totals)];
    if (!above) lines[0].name = 'Total';
    if (!view.isInverted) lines.push(amounts('self', 'Self', figures.map(({ self }) => self)));
    if (above) {
      const shares = (/** @type {Figures[]} */ whole) => figures.map(({ total }, trace) => share(total, whole[trace].total));
      lines.push({ key: 'of-all', name: 'Of all', texts: shares(all) });
      lines.push({ key: 'of-parent', name: view.isInverted ? 'Of the bar above' : 'Of the caller', texts: shares(above) });
    }
    const calls = figures.map((each) => each.calls);
    if (bar.frame >= 0 && this.frames[bar.frame]?.kind === 'method' && calls.some((value) => value > 0)) {
      if (weight.key !== 'calls') {
        lines.push({ key: 'calls', name: 'Calls', values: calls, texts: calls.map(count), change: changeText(calls, { unit: 'count' }, 1) });
        const averages = totals.map((total, trace) => (calls[trace] > 0 ? average(total / calls[trace], weight) : null));
        lines.push({ key: 'average', name: 'Average per call', texts: averages });
      }
    }
    return lines;
  }

  /**
   * Fills a tooltip.
   * @param {HTMLElement} tip
   * @param {View} view
   * @param {Slot} slot
   */
  fill(tip, view, slot) {
    tip.replaceChildren();
    if (!slot.bar) {
      const bars = view.below(slot.above).slice(slot.first, slot.last + 1);
      const total = bars.reduce((sum, bar) => sum + bar.figures[0].total, 0);
      const what = view.isInverted ? 'caller' : 'callee';
      tip.append(element('div', { class: 'name' }, `${plural(bars.length, `narrow ${what}`)} of ${this.nameOf(slot.above)}`));
      tip.append(element('div', { class: 'place' }, `${amount(total, view.shown.weight)}; click to see those here`));
      return;
    }
    const frame = this.frames[slot.bar.frame];
    tip.append(element('div', { class: 'name' }, this.nameOf(slot.bar)));
    if (frame?.owner) tip.append(element('div', { class: 'place' }, visible(frame.owner)));
    const table = element('table');
    const isComparison = view.tree.traces > 1;
    if (isComparison) table.append(element('tr', {}, element('th'), element('th', {}, 'New'), element('th', {}, 'Base'), element('th', {}, view.shown.scale === 1 ? 'Change' : 'Change of share')));
    for (const line of this.lines(view, slot.bar)) {
      const row = element('tr', { 'data-key': line.key }, element('td', {}, line.name));
      line.texts.forEach((text, trace) => {
        const cell = element('td', {}, text ?? '–');
        if (line.values) cell.dataset.value = String(line.values[trace]);
        row.append(cell);
      });
      if (isComparison) row.append(element('td', {}, line.change ?? ''));
      table.append(row);
    }
    tip.append(table);
    const hint = this.hint(view, slot.bar);
    if (hint) tip.append(element('div', { class: 'hint' }, hint));
    if (frame?.threads.some((threads) => threads > 1)) tip.append(element('div', { class: 'hint' }, `${plural(Math.max(...frame.threads), 'thread')} of this name`));
  }

  /**
   * @param {View} view
   * @param {Bar} bar
   */
  hint(view, bar) {
    const kind = this.frames[bar.frame]?.kind;
    if (kind === 'left out') return 'These call paths were too small for this page.';
    if (kind === 'sums') return 'The trace has these calls as sums by caller. The callers were called on several paths, so the paths of the sums are unknown.';
    if (!view.isInverted && bar.figures.some(({ self }) => self < 0)) return 'Negative: the trace lacks calls of this method, which called these.';
    return '';
  }

  /**
   * Returns the nodes of the line below the graph.
   * @param {View} view
   * @param {Bar} bar
   */
  status(view, bar) {
    const lines = this.lines(view, bar);
    const texts = lines.map((line) => {
      const text = line.texts.map((value) => value ?? '–').join(' (base ') + (line.texts.length > 1 ? ')' : '');
      return `${line.name.toLowerCase()} ${text}`;
    });
    const level = bar.depth > 0 ? `, level ${bar.depth}` : '';
    return [element('b', {}, this.nameOf(bar)), ` ${texts.join(', ')}${level}`];
  }
}

/**
 * @param {number[]} values
 * @param {{unit: string}} weight
 * @param {number} scale Factor of the weights of the base.
 */
function changeText(values, weight, scale) {
  if (values.length < 2) return undefined;
  const [now, base] = [values[0], values[1] * scale];
  const part = relative(now, base);
  return `${change(now - base, /** @type {Weight} */ (weight))}${part ? ` (${part})` : ''}`;
}
