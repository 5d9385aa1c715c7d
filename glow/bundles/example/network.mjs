// @NAME@: a network compiled ahead of time, for browsers and Node.
//
//   import { load } from './@NAME@.mjs';
//   const network = await load();
//   const outputs = network.run({ NAME: new Float32Array(...) });
//
// `load` takes { module, weights } of those who fetch the files themselves. A network keeps its
// inputs and outputs in its memory: `views` are those arrays, and `compute()` runs on them
// without a copy. `run` is for one caller at a time.

export const description = @MANIFEST@;

const ERRORS = {
  1: 'the weights are not those of the code',
  2: 'a region is not aligned',
  3: 'an index among the inputs is outside of its axis',
};

const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array,
  uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array,
  uint64: BigUint64Array, float16: Uint16Array, bfloat16: Uint16Array,
  float32: Float32Array, float64: Float64Array,
};

const PAGE = 65536;

/** The bytes of a file beside this one. */
async function readFile(name) {
  const url = new URL(name, import.meta.url);
  if (url.protocol === 'file:' && globalThis.process?.versions?.node) {
    const { readFile } = await import('node:fs/promises');
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** One network of the bundle. */
class Network {
  constructor(entry, call, reset, memory, mutables) {
    this.name = entry.name;
    /** Of each: name, dtype, shape, and scale and zero_point of quantized numbers. */
    this.inputs = entry.inputs;
    this.outputs = entry.outputs;
    this.call = call;
    const viewsOf = (places) => Object.fromEntries(places.map((place) => {
      const size = place.shape.reduce((product, extent) => product * extent, 1);
      const type = ARRAYS[place.dtype];
      return [place.name, new type(memory.buffer, mutables + place.offset, size)];
    }));
    /** The arrays of inputs and outputs by name. */
    this.views = viewsOf([...entry.inputs, ...entry.outputs]);
    /** Those of variables, which keep their values between calls. */
    this.variables = viewsOf(entry.variables);
    /** Gives variables their first values. */
    this.reset = reset;
    this.reset();
  }

  /** Runs on `views`. */
  compute() {
    const error = this.call();
    if (error) throw new Error(`@NAME@: ${ERRORS[error] ?? `error ${error}`}`);
  }

  /** From typed arrays by input name to new typed arrays by output name. */
  run(inputs) {
    for (const name of Object.keys(inputs))
      if (!this.inputs.some((place) => place.name === name))
        throw new TypeError(`@NAME@: no input '${name}'`);
    for (const place of this.inputs) {
      const given = inputs[place.name], view = this.views[place.name];
      if (given?.constructor !== view.constructor || given.length !== view.length)
        throw new TypeError(
          `@NAME@: input '${place.name}' must be a ${view.constructor.name} of ` +
          `${view.length} (${place.dtype}[${place.shape}])`);
      view.set(given);
    }
    this.compute();
    return Object.fromEntries(
      this.outputs.map(({ name }) => [name, this.views[name].slice()]));
  }
}

/** Where each region begins: constants, mutables, activations; and where the last one ends. */
function layout(start, sizes, alignment) {
  const places = [];
  let place = start;
  for (const size of sizes) {
    place = Math.ceil(place / alignment) * alignment;
    places.push(place);
    place += size;
  }
  return [...places, place];
}

/** All networks of the bundle by name, with memory of their own. */
export async function loadAll({ module, weights } = {}) {
  const info = description, linked = info.weights === 'linked';
  module ??= await readFile('./@NAME@.wasm');
  if (!linked) weights ??= await readFile('./@NAME@.weights.bin');
  if (!(module instanceof WebAssembly.Module)) module = await WebAssembly.compile(module);
  const { exports } = await WebAssembly.instantiate(module);
  const { memory } = exports;
  const mutables = info.entries.map((entry) => entry.mutables_bytes);
  const sizes = [linked ? 0 : weights.length, info.activations_bytes, ...mutables];
  const regions = layout(exports.__heap_base.value, sizes, info.alignment);
  const [first, activations, ...places] = regions, end = places.at(-1);
  const missing = Math.ceil((end - memory.buffer.byteLength) / PAGE);
  if (missing > 0) memory.grow(missing);
  const constants = linked ? exports.@NAME@_constants.value : first;
  if (!linked) new Uint8Array(memory.buffer).set(weights, constants);
  const size = linked ? info.constants_bytes : weights.length;
  const error = exports.@NAME@_check(constants, size);
  if (error) throw new Error(`@NAME@: ${ERRORS[error]}`);
  return Object.fromEntries(info.entries.map((entry, k) => {
    const run = (name) => exports[name]?.(constants, places[k], activations) ?? 0;
    const call = () => run(entry.symbol), reset = () => run(`${entry.symbol}_reset`);
    return [entry.name, new Network(entry, call, reset, memory, places[k])];
  }));
}

/** The only network of the bundle. */
export async function load(files) {
  const networks = Object.values(await loadAll(files));
  if (networks.length > 1) throw new Error('@NAME@ has several networks: use loadAll()');
  return networks[0];
}
