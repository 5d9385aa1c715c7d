// A sample for @NAME@: inputs, and the outputs that they give. `node @NAME@.sample.mjs` prints OK.

import { loadAll } from './@NAME@.mjs';

const samples = @SAMPLES@;

const TOLERANCE = 1e-4; // Of the largest number of an output.

/** Bytes written in base64, as numbers of an array's type. */
function decoded(text, type) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new type(bytes.buffer);
}

/** The largest error of an output, as a part of its largest number; 1 where integers differ. */
function errorOf(given, expected) {
  const isFloat = given instanceof Float32Array || given instanceof Float64Array;
  if (!isFloat) return given.every((number, k) => number === expected[k]) ? 0 : 1;
  let largest = 0, error = 0;
  for (let k = 0; k < given.length; k++) {
    if (Object.is(given[k], expected[k])) continue;
    largest = Math.max(largest, Math.abs(expected[k]));
    error = Math.max(error, Math.abs(given[k] - expected[k]));
    if (Number.isNaN(given[k])) return 1;
  }
  return largest ? error / largest : error;
}

/** 'OK', or what is wrong with which output. */
export async function check() {
  for (const [name, network] of Object.entries(await loadAll())) {
    const sample = samples[name];
    const inputs = Object.fromEntries(network.inputs.map((place) =>
      [place.name, decoded(sample[place.name], network.views[place.name].constructor)]));
    const outputs = network.run(inputs);
    for (const place of network.outputs) {
      const given = outputs[place.name];
      const error = errorOf(given, decoded(sample[place.name], given.constructor));
      if (error > TOLERANCE) return `${name}: ${place.name} is ${error} off`;
    }
  }
  return 'OK';
}

if (globalThis.process?.argv?.[1]?.endsWith('@NAME@.sample.mjs')) {
  const result = await check();
  console.log(result);
  process.exitCode = result === 'OK' ? 0 : 1;
}
