// Figures in words.

const GROUPED = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** Returns a duration with at most four significant digits: `1.234 ms`. */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size < 999.5) return `${Number.isInteger(ns) || size >= 100 ? Math.round(ns) : Number(ns.toFixed(1))} ns`;
  const [unit, name] = size < 999.95e3 ? [1e3, 'µs'] : size < 999.95e6 ? [1e6, 'ms'] : [1e9, 's'];
  const value = ns / unit;
  const digits = Math.abs(value) < 9.9995 ? 3 : Math.abs(value) < 99.995 ? 2 : 1;
  return Math.abs(value) >= 1000 ? `${GROUPED.format(value)} ${name}` : `${value.toFixed(digits)} ${name}`;
}

/** Returns a time since the start of the trace with all its digits: `1.234 567 890 s`. */
export function moment(ns: number): string {
  const sign = ns < 0 ? '−' : '';
  const whole = Math.round(Math.abs(ns));
  const seconds = Math.floor(whole / 1e9);
  const rest = String(whole - seconds * 1e9).padStart(9, '0');
  return `${sign}${GROUPED.format(seconds)}.${rest.slice(0, 3)} ${rest.slice(3, 6)} ${rest.slice(6)} s`;
}

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [rest, unit] = [value, 0];
  while (Math.abs(rest) >= 1023.95 && unit < units.length - 1) {
    rest /= 1024;
    unit++;
  }
  return unit === 0 ? `${GROUPED.format(rest)} B` : `${rest.toFixed(1)} ${units[unit]}`;
}

export function count(value: number): string {
  return GROUPED.format(value);
}

/** Returns a count with at most four characters and a unit: `8.6 M`. */
export function shortCount(value: number): string {
  if (Math.abs(value) < 10_000) return count(value);
  const [unit, name] = value < 999_500 ? [1e3, 'k'] : value < 999.5e6 ? [1e6, 'M'] : [1e9, 'G'];
  const rest = value / unit;
  return `${rest.toFixed(rest < 9.95 ? 1 : 0)} ${name}`;
}

export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return '–';
  const value = (100 * part) / whole;
  return part > 0 && value < 0.05 ? '<0.1%' : `${value.toFixed(1)}%`;
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/**
 * Returns a text as it is shown: control characters and characters that turn the direction of
 * writing become visible, and a text that is too long is cut.
 */
export function visible(text: string, length = 400): string {
  const cut = text.length > length ? `${text.slice(0, length)}… (${count(text.length)} characters)` : text;
  return cut
    .replace(/[\0-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(
      /[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
}

export interface Tick {
  at: number;
  text: string;
}

/** The marks of a time axis. Texts are relative to `base`, which is 0 unless the span is small. */
export interface Axis {
  base: number;
  ticks: Tick[];
}

/** Returns at most `most` marks with a step of 1, 2 or 5 times a power of ten nanoseconds. */
export function axis(from: number, until: number, most: number): Axis {
  const rough = Math.max(1, (until - from) / Math.max(1, most));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= rough * 0.999) ?? 10 * power);
  const first = Math.ceil(from / step) * step;
  // Labels that would need more than four digits refer to a base at the left edge.
  const unit = 10 ** (3 * Math.floor(Math.log10(step) / 3));
  const isFine = Math.max(Math.abs(from), Math.abs(until)) / unit >= 10_000;
  const base = isFine ? Math.floor(from / (unit * 1000)) * unit * 1000 : 0;
  const ticks: Tick[] = [];
  for (let at = first; at <= until; at += step) ticks.push({ at, text: tickText(at - base, unit, step, base !== 0) });
  return { base, ticks };
}

function tickText(value: number, unit: number, step: number, isRelative: boolean): string {
  const names: [number, string][] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
  const size = Math.abs(value);
  const [scale, name] = names.find(([scale]) => scale <= Math.max(unit, size >= unit * 1000 ? unit * 1000 : unit)) ?? [1, 'ns'];
  const digits = Math.max(0, Math.round(Math.log10(scale)) - Math.floor(Math.log10(step) + 1e-9));
  const number = (value / scale).toFixed(digits);
  return `${isRelative ? '+' : ''}${number} ${name}`;
}
