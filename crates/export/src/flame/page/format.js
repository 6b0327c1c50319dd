
// Figures in words.

const GROUPED = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/**
 * Returns a time with four digits.
 * @param {number} ns
 */
function time(ns) {
  const size = Math.abs(ns);
  if (size < 999.5) return `${Math.round(ns)} ns`;
  const [unit, name] = size < 999.95e3 ? [1e3, 'µs'] : size < 999.95e6 ? [1e6, 'ms'] : [1e9, 's'];
  const value = ns / unit;
  const digits = Math.abs(value) < 9.9995 ? 3 : Math.abs(value) < 99.995 ? 2 : 1;
  return value >= 1000 ? `${GROUPED.format(value)} ${name}` : `${value.toFixed(digits)} ${name}`;
}

/** @param {number} bytes */
function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [value, unit] = [bytes, 0];
  while (Math.abs(value) >= 1023.95 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? `${GROUPED.format(value)} B` : `${value.toFixed(1)} ${units[unit]}`;
}

/** @param {number} value */
function count(value) {
  return GROUPED.format(value);
}

/**
 * @param {number} value
 * @param {Weight} weight
 */
function amount(value, weight) {
  return weight.unit === 'time' ? time(value) : weight.unit === 'bytes' ? size(value) : count(value);
}

/**
 * Returns an average: counts have a fraction.
 * @param {number} value
 * @param {Weight} weight
 */
function average(value, weight) {
  return weight.unit === 'count' && value < 100 ? String(Number(value.toPrecision(3))) : amount(value, weight);
}

/**
 * @param {number} value
 * @param {Weight} weight
 */
function change(value, weight) {
  const text = amount(Math.abs(value), weight);
  return value > 0 ? `+${text}` : value < 0 ? `−${text}` : text;
}

/**
 * @param {number} part
 * @param {number} whole
 */
function share(part, whole) {
  if (!(whole > 0)) return '–';
  const percent = (100 * part) / whole;
  return part > 0 && percent < 0.05 ? '<0.1%' : `${percent.toFixed(1)}%`;
}

/**
 * Returns a relative change: `+12%`, `×3.4`.
 * @param {number} now
 * @param {number} base
 */
function relative(now, base) {
  if (base <= 0) return now > 0 ? 'new' : '';
  if (now <= 0) return 'vanished';
  if (now >= 3 * base) return `×${(now / base).toPrecision(2)}`;
  const percent = (100 * (now - base)) / base;
  if (Math.abs(percent) < 0.05) return '±0%';
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(Math.abs(percent) < 10 ? 1 : 0)}%`;
}

/**
 * @param {number} value
 * @param {string} one
 */
function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}
