
// Reads the embedded data. `mod.rs` describes it.

/**
 * @typedef {object} Trace What is known of a trace.
 * @property {string} title
 * @property {string} program
 * @property {number} start In ns since 1970-01-01 UTC.
 * @property {number} duration In ns.
 * @property {number} threads
 * @property {string[]} marks
 */

/**
 * @typedef {object} Profile
 * @property {Trace[]} traces The trace, and the base if there is one.
 * @property {number} leftOut Number of call paths that were left out.
 * @property {Frame[]} frames
 * @property {Tree} tree
 */

/** Columns in the order of their bits; whether their numbers have signs. */
const SIGNED = [false, true, true, false, true, true, true];

class Bytes {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.decoder = new TextDecoder();
  }

  number() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error('its data are truncated');
      if (byte < 128) return value + byte * scale;
      value += (byte - 128) * scale;
    }
  }

  signed() {
    const value = this.number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** @param {number} length */
  take(length) {
    this.at += length;
    if (this.at > this.bytes.length) throw new Error('its data are truncated');
    return this.bytes.subarray(this.at - length, this.at);
  }

  text() {
    return this.decoder.decode(this.take(this.number()));
  }

  texts() {
    return Array.from({ length: this.number() }, () => this.text());
  }

  sortedTexts() {
    let before = new Uint8Array(0);
    return Array.from({ length: this.number() }, () => {
      const shared = this.number();
      const rest = this.take(this.number());
      const bytes = new Uint8Array(shared + rest.length);
      bytes.set(before.subarray(0, shared));
      bytes.set(rest, shared);
      before = bytes;
      return this.decoder.decode(bytes);
    });
  }

  /** @param {number} rows */
  column(rows) {
    return Array.from({ length: rows }, () => this.number());
  }
}

/**
 * Returns the bytes of a zlib stream in base64.
 * @param {string} packed
 */
async function unpack(packed) {
  if (typeof DecompressionStream === 'undefined') throw new Error('it needs a browser of 2023 or later');
  const text = atob(packed);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  try {
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new Error('its data are corrupt');
  }
}

/**
 * @param {Uint8Array} bytes
 * @returns {Profile}
 */
function decode(bytes) {
  const input = new Bytes(bytes);
  if (input.number() !== 1) throw new Error('its data are of another version');
  const traces = Array.from({ length: input.number() }, () => ({
    title: input.text(),
    program: input.text(),
    start: input.signed(),
    duration: input.number(),
    threads: input.number(),
    marks: input.texts(),
  }));
  const leftOut = input.number();
  const frames = decodeFrames(input, traces.length);
  const tree = decodeTree(input, traces.length);
  return { traces, leftOut, frames, tree };
}

/**
 * @param {Bytes} input
 * @param {number} traces
 */
function decodeFrames(input, traces) {
  const [owners, names, descriptors] = [input.sortedTexts(), input.sortedTexts(), input.sortedTexts()];
  const threads = input.texts().map((name) => new Frame('thread', name));
  for (let trace = 0; trace < traces; trace++) {
    for (const thread of threads) thread.threads.push(input.number());
  }
  const count = input.number();
  const columns = [input.column(count), input.column(count), input.column(count)];
  const methods = columns[0].map((owner, at) => new Frame('method', names[columns[1][at]], owners[owner], descriptors[columns[2][at]]));
  return [new Frame('left out', 'smaller call paths, left out'), new Frame('sums', 'short calls, recorded as sums, by caller'), ...threads, ...methods];
}

/**
 * @param {Bytes} input
 * @param {number} traces
 */
function decodeTree(input, traces) {
  const count = input.number() + 1;
  const parent = new Int32Array(count);
  for (let at = 1; at < count; at++) {
    let above = at - 1;
    for (let levels = input.number(); levels > 0; levels--) above = parent[above];
    parent[at] = above;
  }
  const frame = new Int32Array(count);
  frame[0] = -1;
  for (let at = 1; at < count; at++) frame[at] = input.number();
  /** @type {(Float64Array | null)[][]} */
  const own = [];
  for (let trace = 0; trace < traces; trace++) {
    const bits = input.number();
    own.push(SIGNED.map((isSigned, bit) => {
      if (!(bits & (1 << bit))) return null;
      const column = new Float64Array(count);
      for (let at = 1; at < count; at++) column[at] = isSigned ? input.signed() : input.number();
      return column;
    }));
  }
  return new Tree(parent, frame, own);
}
