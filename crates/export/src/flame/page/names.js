
// Names of frames: threads, methods, and what was left out.

/** Longest name that is measured, drawn and shown. Names of 64 KB exist. */
const MAX_NAME = 400;

/** @type {Record<string, string>} */
const PRIMITIVES = { B: 'byte', C: 'char', D: 'double', F: 'float', I: 'int', J: 'long', S: 'short', Z: 'boolean', V: 'void' };

/** What a node of a call tree stands for. */
class Frame {
  /**
   * @param {'left out' | 'sums' | 'thread' | 'method'} kind
   * @param {string} name
   * @param {string} owner Name of the class, with its package.
   * @param {string} descriptor
   */
  constructor(kind, name, owner = '', descriptor = '') {
    this.kind = kind;
    this.name = name;
    this.owner = owner;
    this.descriptor = descriptor;
    /** Number of threads of this name in each trace. @type {number[]} */
    this.threads = [];
    /** Number of the package. */
    this.group = 0;
    /** Texts for bars, the longest first. @type {string[] | null} */
    this.labels = null;
    /** @type {string | null} */
    this.parameters = null;
  }

  /** The name by which the trace knows the method. */
  get raw() {
    return this.owner === '' ? this.name : `${this.owner}.${this.name}${this.descriptor}`;
  }

  /** Name of the class without its package. */
  get simpleOwner() {
    return this.owner.slice(this.owner.lastIndexOf('.') + 1);
  }

  get package() {
    return this.owner.slice(0, Math.max(0, this.owner.lastIndexOf('.')));
  }

  /** Method and parameters, or the name of the thread. */
  get call() {
    this.parameters ??= this.kind === 'method' ? readableParameters(this.descriptor) : '';
    return this.name + this.parameters;
  }

  /** Class, method and parameters. */
  get short() {
    return this.owner === '' ? this.call : `${this.simpleOwner}.${this.call}`;
  }

  /** Package, class, method and parameters. */
  get full() {
    return this.owner === '' ? this.call : `${this.owner}.${this.call}`;
  }
}

/**
 * Returns the parameters of a descriptor with simple names: `(int, String[])`.
 * @param {string} descriptor
 */
function readableParameters(descriptor) {
  const end = descriptor.lastIndexOf(')');
  if (!descriptor.startsWith('(') || end < 0) return descriptor;
  const parameters = [];
  for (const [, dimensions, type, owner] of descriptor.slice(1, end).matchAll(/(\[*)(?:([BCDFIJSZ])|L([^;]*);)/g)) {
    const name = type ? PRIMITIVES[type] : owner.slice(owner.lastIndexOf('/') + 1);
    parameters.push(name + '[]'.repeat(dimensions.length));
  }
  return `(${parameters.join(', ')})`;
}

/**
 * Returns a text as it is shown: what has no shape or turns the direction of writing becomes
 * visible, and what is too long is cut.
 * @param {string} text
 */
function visible(text, length = MAX_NAME) {
  const cut = text.length > length ? `${text.slice(0, length)}… (${text.length.toLocaleString('en')} characters)` : text;
  // Control pictures are 0x2400 above the control characters.
  return cut
    .replace(/[\0-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
