"""Quantization of the graph, in stages that can each be run and read on its own.

| pass                     | what it does                                              |
|--------------------------|-----------------------------------------------------------|
| `instrument-profile`     | observes every float value under its name                 |
| `equalize-layers`        | evens out ranges between convolutions, where they differ  |
| `insert-casts`           | pairs of casts where `plan.py` says, and how              |
| `fold-storage-casts`     | cancels casts to stored integers (ONNX's spelling)        |
| `fold-computed-weights`  | weights computed from constants as quantized constants    |
| `convert-quantized-gemm` | products by quantized weights as fully connected layers   |
| `fold-casts`             | cancels casts, moves them out of the way                  |
| `form-integer-nodes`     | nodes between casts become nodes on integers              |
| `form-dynamic-products`  | ONNX's spelling of dynamic quantization as one node       |
| `absorb-relus`           | ReLUs that saturation does are dropped                    |
| `fold-rescale`           | rescaling disappears into producers and consumers         |
| `simplify-bounds`        | bounds that ranges imply are dropped, rescaling sinks     |
| `merge-lookup-tables`    | what is computed from one number by a table is a table    |
| `quantize`               | all of them                                               |
| `prepare-qat`            | rounds in floats what `quantize` would store, for training |
| `convert-fake-quantization` | those roundings as casts, for a network that is trained |
| `convert-to-bf16`, `convert-to-fp16` | products multiply 16-bit floats, add in f32   |
| `assert-all-quantized`   | fails where a float node is left between integer products |

A network that comes quantized (ONNX QDQ) needs `fold-casts` and `form-integer-nodes`.
Nothing is imported before it is used. `profiling/` holds what values a network takes and
the scales that follow, `adjustment/` what changes floats beforehand, `integer/` how casts
become integers, `half/` products of 16-bit floats.
"""

from __future__ import annotations

from glow.passes.lazy_passes import lazy_pass, lazy_passes

PASSES = {
    **lazy_passes(
        "glow.passes.quantization",
        "integer.absorb_relus",
        "assert_all_quantized",
        "convert_fake_quantization",
        "integer.convert_quantized_gemm",
        "half.convert_to_bf16",
        "half.convert_to_fp16",
        "adjustment.equalize_layers",
        "integer.fold_casts",
        "integer.fold_computed_weights",
        "integer.fold_rescale",
        "integer.fold_storage_casts",
        "integer.form_dynamic_products",
        "integer.form_integer_nodes",
        "integer.merge_lookup_tables",
        "profiling.instrument_profile",
        "prepare_qat",
        "integer.simplify_bounds",
        "quantize",
    ),
    "insert-casts": lazy_pass("glow.passes.quantization.quantize", "InsertCastsPass"),
}
"""Pass name to factory."""
