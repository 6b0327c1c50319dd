
// What stands around the graph: facts of the traces, notes, the path of the zoomed bar, the legend.

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** @param {Trace} trace */
function nameOf(trace) {
  return visible(trace.title || trace.program, 120);
}

/**
 * Shows what is known of the traces.
 * @param {Profile} profile
 */
function showFacts(profile) {
  const { traces, tree, frames } = profile;
  const paths = tree.frame.reduce((sum, frame) => sum + Number(frames[frame]?.kind === 'method'), 0);
  const names = traces.map(nameOf);
  const title = names.length > 1 ? `${names[0] || 'new trace'} against ${names[1] || 'base'}` : names[0];
  if (title) byId('title').textContent = byId('title').title = title;
  document.title = title ? `${title} – flame graph` : 'Flame graph';
  const facts = traces.map((trace, at) => {
    const calls = tree.own[at][CALLS]?.reduce((sum, value) => sum + value, 0) ?? 0;
    const began = new Date(trace.start / 1e6);
    const texts = [`${time(trace.duration)}`, plural(calls, 'call'), plural(trace.threads, 'thread')];
    if (!Number.isNaN(began.getTime()) && trace.start > 0) texts.push(began.toISOString().slice(0, 19).replace('T', ' ') + ' UTC');
    if (traces.length === 1) texts.splice(2, 0, plural(paths, 'call path'));
    return `${traces.length > 1 ? ['New: ', 'Base: '][at] : ''}${texts.join(' · ')}`;
  });
  byId('facts').textContent = facts.join('   |   ');
  byId('facts').title = byId('facts').textContent;
}

/**
 * Shows what the traces say, and what was left out.
 * @param {Profile} profile
 */
function showNotes(profile) {
  const { traces, leftOut } = profile;
  const texts = byId('marks-text');
  let notes = 0;
  if (leftOut > 0) {
    notes++;
    texts.append(element('p', {}, leftOutText(profile)));
  }
  traces.forEach((trace, at) => {
    notes += trace.marks.length;
    if (trace.marks.length === 0) return;
    if (traces.length > 1) texts.append(element('h2', {}, at === 0 ? 'New trace' : 'Base'));
    texts.append(element('ul', {}, ...trace.marks.map((mark) => element('li', {}, visible(mark, 2000)))));
  });
  const button = byId('show-marks');
  button.hidden = notes === 0;
  button.textContent = plural(notes, 'note');
  button.addEventListener('click', () => /** @type {HTMLDialogElement} */ (byId('marks')).showModal());
}

/** @param {Profile} profile */
function leftOutText({ tree, leftOut }) {
  const shares = WEIGHTS.filter((weight) => !weight.less && tree.has(weight)).map((weight) => {
    let [rest, all] = [0, 0];
    for (const columns of tree.own) {
      const column = columns[weight.bit];
      for (let at = 1; column && at < tree.count; at++) {
        all += column[at];
        if (tree.frame[at] === 0) rest += column[at];
      }
    }
    return `${share(rest, all)} of ${weight.name}`;
  });
  return `The ${count(leftOut)} smallest call paths are left out, so that this page stays small. Each caller has one bar for all of its own: together ${shares.join(', ')}. The table of methods lacks them.`;
}

/**
 * Shows the path to the zoomed bar.
 * @param {HTMLElement} nav
 * @param {Bar} zoomed
 * @param {(bar: Bar) => string} nameOf
 * @param {(bar: Bar) => void} zoom
 * @param {{name: string, leave: () => void} | null} special What a view shows instead of all paths.
 */
function showCrumbs(nav, zoomed, nameOf, zoom, special) {
  /** @type {Bar[]} */
  const bars = [];
  for (let at = /** @type {Bar | null} */ (zoomed); at; at = at.above) bars.unshift(at);
  const parts = [];
  if (special) {
    const chip = element('button', { type: 'button', class: 'chip', title: 'Back to all call paths' }, `${special.name}  ✕`);
    chip.addEventListener('click', special.leave);
    parts.push(chip);
  }
  const crumb = (/** @type {Bar} */ bar) => {
    const button = element('button', { type: 'button', title: nameOf(bar) }, nameOf(bar));
    if (bar === zoomed) button.setAttribute('aria-current', 'true');
    if (bar.above === null) button.classList.add('fixed');
    button.addEventListener('click', () => zoom(bar));
    return button;
  };
  const hidden = bars.length > 7 ? bars.slice(2, -4) : [];
  bars.forEach((bar) => {
    if (hidden.includes(bar)) {
      if (bar !== hidden[0]) return;
      parts.push(element('span', { class: 'then' }, '›'), element('span', { class: 'then', title: hidden.map(nameOf).join('\n') }, `… ${hidden.length} …`));
      return;
    }
    if (parts.length > 0) parts.push(element('span', { class: 'then' }, '›'));
    parts.push(crumb(bar));
  });
  nav.replaceChildren(...parts);
}

/**
 * Shows which colour each package has, and its self weight.
 * @param {HTMLElement} legend
 * @param {Tree} tree
 * @param {Weight} weight
 * @param {Frame[]} frames
 * @param {Colours} colours
 * @param {(group: number, name: string) => void} pick
 * @param {number} picked
 */
function showPackages(legend, tree, weight, frames, colours, pick, picked) {
  const sums = new Float64Array(colours.packages.length);
  const self = tree.self(0, weight);
  let all = 0;
  for (let at = 0; at < tree.count; at++) {
    all += self[at];
    const group = tree.frame[at] < 0 ? -1 : frames[tree.frame[at]].group;
    if (group >= 0) sums[group] += self[at];
  }
  const order = [...sums.keys()].sort((a, b) => sums[b] - sums[a]);
  legend.replaceChildren(...order.map((group) => {
    const { name } = colours.packages[group];
    const swatch = element('span', { class: 'swatch' });
    swatch.style.background = colours.ofPackage(colours.packages[group], '');
    const text = name === '' ? 'no package' : visible(name, 80);
    const button = element('button', { type: 'button', 'aria-pressed': String(group === picked), title: `Highlight ${text}` }, swatch, text, element('span', { class: 'share' }, share(sums[group], all)));
    button.addEventListener('click', () => pick(group, text));
    return button;
  }));
}

/**
 * Shows what the colours of changes mean.
 * @param {HTMLElement} legend
 * @param {Colours} colours
 */
function showRamp(legend, colours) {
  const ramp = element('span', { class: 'ramp' });
  const stops = Array.from({ length: 21 }, (_, at) => colours.ofChange(at / 10 - 1));
  ramp.style.background = `linear-gradient(to right, ${stops.join(', ')})`;
  legend.replaceChildren(
    element('span', { class: 'key' }, '− vanished', ramp, '+ new'),
    element('span', { class: 'key' }, 'blue: less than in the base; red: more; grey: the same'),
  );
}
