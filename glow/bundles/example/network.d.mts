// Types of @NAME@.mjs.

/** An input or output: `scale * (stored - zero_point)` is a stored integer's number. */
export interface Place {
  name: string;
  dtype: string;
  shape: number[];
  offset: number;
  bytes: number;
  scale?: number;
  zero_point?: number;
}

export interface Network<Inputs, Outputs> {
  name: string;
  inputs: Place[];
  outputs: Place[];
  /** The arrays in the network's memory, on which `compute` runs. */
  views: Inputs & Outputs;
  /** The values of variables, which calls keep. */
  variables: Record<string, ArrayBufferView>;
  reset(): void;
  compute(): void;
  run(inputs: Inputs): Outputs;
}

export interface Networks {
@NETWORKS@
}

export type Only = @NETWORK@;

export interface Files {
  module?: BufferSource | WebAssembly.Module;
  weights?: Uint8Array;
}

export const description: object;
export function loadAll(files?: Files): Promise<Networks>;
export function load(files?: Files): Promise<Only>;
