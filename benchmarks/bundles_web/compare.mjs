// Times bundles and onnxruntime-web in one process, on one thread, in turns.
//
//   node compare.mjs CONFIG.json
//
// CONFIG: { rounds, seconds, modules, networks: [{ name, model, shape, bundles: { LABEL: FILE } }] },
// `modules` being the folder of node_modules, null without a peer. Prints JSON: for each network
// the microseconds of a call, the least of all rounds, and the outputs.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const PEER = 'onnxruntime-web';
const CALLS_A_LOOK = 8; // Calls between two looks at the clock.

const config = JSON.parse(await readFile(process.argv[2]));

/** Numbers in [-1, 1), the same in each run. */
function numbers(count) {
  let state = 1;
  return Float32Array.from({ length: count }, () => {
    state = (state * 48271) % 2147483647;
    return state / 1073741823.5 - 1;
  });
}

/** What runs a bundle once. */
async function bundleCall(file, input) {
  const { load } = await import(pathToFileURL(file));
  const network = await load();
  const [{ name }] = network.inputs, [output] = network.outputs;
  return () => network.run({ [name]: input })[output.name];
}

/** What runs a model in onnxruntime-web once. */
async function peerCall(model, input, shape) {
  const ort = createRequire(path.resolve(config.modules, 'package.json'))(PEER);
  ort.env.wasm.numThreads = 1;
  const session = await ort.InferenceSession.create(model, { executionProviders: ['wasm'] });
  const [name] = session.inputNames, [output] = session.outputNames;
  return async () => {
    const results = await session.run({ [name]: new ort.Tensor('float32', input, shape) });
    return results[output].data;
  };
}

/** Microseconds a call, of as many as fill the time. */
async function time(call, seconds) {
  const start = performance.now();
  let calls = 0, spent = 0;
  for (; spent < seconds * 1000; spent = performance.now() - start, calls += CALLS_A_LOOK)
    for (let k = 0; k < CALLS_A_LOOK; k++) {
      const result = call();
      if (result instanceof Promise) await result;
    }
  return spent * 1000 / calls;
}

const results = [];
for (const { name, model, shape, bundles } of config.networks) {
  const input = numbers(shape.reduce((product, extent) => product * extent, 1));
  const calls = {}, microseconds = {}, outputs = {};
  for (const [label, file] of Object.entries(bundles))
    calls[label] = await bundleCall(file, input);
  if (config.modules) calls[PEER] = await peerCall(model, input, shape);
  for (let round = 0; round < config.rounds; round++)
    for (const [label, call] of Object.entries(calls)) {
      const spent = await time(call, config.seconds);
      microseconds[label] = Math.min(microseconds[label] ?? Infinity, spent);
    }
  for (const [label, call] of Object.entries(calls)) outputs[label] = [...await call()];
  results.push({ name, microseconds, outputs });
}
console.log(JSON.stringify(results));
