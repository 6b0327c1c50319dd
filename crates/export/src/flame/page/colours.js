
// Colours of frames, by package or by change.

/** Hues of packages in degrees. Neighbours in the list differ much. */
const HUES = [255, 60, 145, 330, 200, 95, 290, 25, 170, 230, 115, 310];

/** A package, or all packages beyond those that have a colour of their own. */
class Package {
  /**
   * @param {string} name
   * @param {number | null} hue
   */
  constructor(name, hue) {
    this.name = name;
    this.hue = hue;
    /** Self time or calls, for the order. */
    this.size = 0;
  }
}

/**
 * Returns the packages of frames, and sets the package of each frame. The largest packages have
 * colours of their own, which depend on their names first, so that they rarely differ between
 * traces.
 * @param {Frame[]} frames
 * @param {Float64Array} sizes For each frame.
 */
function packagesOf(frames, sizes) {
  /** @type {Map<string, number>} */
  const byName = new Map();
  /** Packages by class. @type {Map<string, string>} */
  const names = new Map();
  frames.forEach((frame, at) => {
    if (frame.kind !== 'method') return;
    let name = names.get(frame.owner);
    if (name === undefined) names.set(frame.owner, name = frame.package);
    byName.set(name, (byName.get(name) ?? 0) + Math.max(0, sizes[at]));
  });
  const largest = [...byName].sort((a, b) => b[1] - a[1]).slice(0, HUES.length);
  const free = new Set(HUES.keys());
  const packages = largest.map(([name, size]) => {
    let place = hash(name) % HUES.length;
    while (!free.has(place)) place = (place + 5) % HUES.length;
    free.delete(place);
    const group = new Package(name, HUES[place]);
    group.size = size;
    return group;
  });
  if (byName.size > packages.length) {
    const others = new Package(`${byName.size - packages.length} other packages`, null);
    const named = new Set(packages.map((group) => group.name));
    for (const [name, size] of byName) if (!named.has(name)) others.size += size;
    packages.push(others);
  }
  const numbers = new Map(packages.map((group, number) => [group.name, number]));
  for (const frame of frames) {
    frame.group = frame.kind === 'method' ? numbers.get(names.get(frame.owner) ?? '') ?? packages.length - 1 : -1;
  }
  return packages;
}

/** @param {string} text */
function hash(text) {
  let value = 2166136261;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  return value >>> 0;
}

class Colours {
  /** @param {Package[]} packages */
  constructor(packages) {
    this.packages = packages;
    this.isDark = false;
    /** @type {Map<string, string>} */
    this.cache = new Map();
  }

  /** @param {boolean} isDark */
  setDark(isDark) {
    this.isDark = isDark;
    this.cache.clear();
  }

  get back() {
    return this.isDark ? '#14161b' : '#ffffff';
  }

  get text() {
    return this.isDark ? '#f2f3f7' : '#14161b';
  }

  get dimText() {
    return this.isDark ? '#8d95a5' : '#6f7684';
  }

  get match() {
    return this.isDark ? '#ff7ad2' : '#c2188f';
  }

  get matchText() {
    return this.isDark ? '#24061a' : '#ffffff';
  }

  get ring() {
    return this.isDark ? '#ffffff' : '#101218';
  }

  /** Colour of what is too narrow to be drawn. */
  get rest() {
    return this.isDark ? '#2a2e37' : '#e3e6ec';
  }

  /**
   * @param {number} lightness 0 to 1
   * @param {number} chroma
   * @param {number} hue In degrees.
   */
  colour(lightness, chroma, hue) {
    return `oklch(${lightness.toFixed(3)} ${chroma.toFixed(3)} ${hue.toFixed(1)})`;
  }

  /**
   * Returns the colour of a package. Its classes differ a little in lightness.
   * @param {Package | undefined} group
   * @param {string} owner
   */
  ofPackage(group, owner) {
    const key = `${group?.name} ${owner}`;
    let colour = this.cache.get(key);
    if (!colour) {
      const shade = owner === '' ? 0 : ((hash(owner) % 7) - 3) * 0.012;
      const chroma = group?.hue == null ? 0.012 : this.isDark ? 0.085 : 0.09;
      colour = this.colour((this.isDark ? 0.44 : 0.83) + shade, chroma, group?.hue ?? 255);
      this.cache.set(key, colour);
    }
    return colour;
  }

  /** @param {Frame | undefined} frame */
  ofFrame(frame) {
    if (frame?.kind !== 'method') return this.isDark ? '#3a404c' : '#cfd4dd';
    return this.ofPackage(this.packages[frame.group], frame.owner);
  }

  /**
   * Returns the colour of a change.
   * @param {number} change −1 for vanished, 0 for none, 1 for new.
   */
  ofChange(change) {
    const part = Math.sqrt(Math.min(1, Math.abs(change)));
    const hue = change > 0 ? 27 : 250;
    return this.isDark ? this.colour(0.36 + 0.16 * part, 0.008 + 0.15 * part, hue) : this.colour(0.91 - 0.22 * part, 0.006 + 0.15 * part, hue);
  }
}

/**
 * Returns the relative change of figures: −1 for vanished, 0 for none, 1 for new.
 * @param {Figures[]} figures
 * @param {number} scale Factor of the weights of the base.
 */
function changeOf(figures, scale) {
  const [now, base] = [figures[0].total, figures[1].total * scale];
  const larger = Math.max(now, base);
  return larger > 0 ? Math.max(-1, Math.min(1, (now - base) / larger)) : 0;
}
