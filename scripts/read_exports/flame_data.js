// Puts call paths of our own into a flame graph page: what no trace at hand has, such as hostile
// names. `crates/export/src/flame/mod.rs` describes the data.

'use strict';

const zlib = require('node:zlib');

/** Weights in the order of their bits; whether their numbers have signs. */
const WEIGHTS = [['calls', false], ['time', true], ['cpu', true], ['objects', false], ['bytes', true], ['blocked', true], ['waiting', true]];

class Output {
  constructor() {
    this.bytes = [];
  }

  number(value) {
    for (; value >= 128; value = Math.floor(value / 128)) this.bytes.push((value % 128) + 128);
    this.bytes.push(value);
  }

  signed(value) {
    this.number(value < 0 ? -2 * value - 1 : 2 * value);
  }

  text(text) {
    const bytes = Buffer.from(text);
    this.number(bytes.length);
    for (const byte of bytes) this.bytes.push(byte);
  }

  texts(texts) {
    this.number(texts.length);
    texts.forEach((text) => this.text(text));
  }

  /** Writes texts that share nothing with the one before, which is allowed. */
  sortedTexts(texts) {
    this.number(texts.length);
    for (const text of texts) {
      this.number(0);
      this.text(text);
    }
  }
}

/**
 * Returns the data of call paths. A path is `{level, frame, weights}`: the level is that of a
 * preorder, 0 for threads; the frame is a text for a thread, and `[class, name, descriptor]` for a
 * method; the weights are one object for each trace, such as `{calls: 1, time: 5}`.
 */
function encode({ titles, marks = [], leftOut = 0, paths }) {
  const out = new Output();
  out.number(1);
  out.number(titles.length);
  for (const title of titles) {
    out.text(title);
    out.text('');
    out.signed(1_700_000_000_000_000_000);
    out.number(1_000_000);
    out.number(1);
    out.texts(marks);
  }
  out.number(leftOut);
  const numbers = encodeFrames(out, titles.length, paths);
  out.number(paths.length);
  let before = -1;
  for (const { level } of paths) {
    out.number(before + 1 - level);
    before = level;
  }
  for (const { frame } of paths) out.number(numbers.get(JSON.stringify(frame)));
  for (let trace = 0; trace < titles.length; trace++) {
    const column = (name) => paths.map(({ weights }) => weights[trace]?.[name] ?? 0);
    const used = WEIGHTS.filter(([name]) => column(name).some((value) => value !== 0));
    out.number(used.reduce((bits, weight) => bits + (1 << WEIGHTS.indexOf(weight)), 0));
    for (const [name, isSigned] of used) column(name).forEach((value) => (isSigned ? out.signed(value) : out.number(value)));
  }
  return Buffer.from(out.bytes);
}

/** Writes the frames. Returns the number of each frame. */
function encodeFrames(out, traces, paths) {
  const frames = [...new Set(paths.map(({ frame }) => JSON.stringify(frame)))];
  const threads = frames.filter((frame) => typeof JSON.parse(frame) === 'string');
  const methods = frames.filter((frame) => typeof JSON.parse(frame) !== 'string');
  const parts = [0, 1, 2].map((at) => [...new Set(methods.map((method) => JSON.parse(method)[at]))].sort());
  parts.forEach((part) => out.sortedTexts(part));
  out.texts(threads.map((thread) => JSON.parse(thread)));
  for (let trace = 0; trace < traces; trace++) threads.forEach(() => out.number(1));
  out.number(methods.length);
  parts.forEach((part, at) => {
    const places = new Map(part.map((text, place) => [text, place]));
    methods.forEach((method) => out.number(places.get(JSON.parse(method)[at])));
  });
  return new Map([...threads, ...methods].map((frame, at) => [frame, at + 2]));
}

/** Returns a page with other data. */
function withData(page, profile) {
  const packed = zlib.deflateSync(encode(profile)).toString('base64');
  return page.replace(/(id="profile">)[^<]*/, `$1${packed}`);
}

/** Returns a random profile of so many call paths of 20,000 methods. */
function large(count) {
  const paths = [{ level: 0, frame: 'main', weights: [{}] }];
  let [level, seed] = [0, 1];
  const random = (below) => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  for (let at = 0; at < count; at++) {
    level = at === 0 ? 1 : random(3) > 0 && level < 60 ? level + 1 : Math.max(2, level - random(4));
    const method = random(20_000);
    const frame = [`com.acme.p${method % 40}.Class${method % 3000}`, `method${method}`, '(ILjava/lang/String;)V'];
    paths.push({ level, frame, weights: [{ calls: 1 + random(1000), time: random(1_000_000), cpu: random(1_000_000), bytes: 16 * random(1000) }] });
  }
  return { titles: ['large'], paths };
}

module.exports = { withData, large };
