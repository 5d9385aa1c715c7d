"""Quantization of the graph, in stages that can each be run and read on its own.

| pass                     | what it does                                              |
|--------------------------|-----------------------------------------------------------|
| `instrument-profile`     | observes every float value under its name                 |
| `equalize-layers`        | evens out ranges between convolutions, where they differ  |
| `insert-casts`           | chooses what is quantized, and how: pairs of casts        |
| `fold-storage-casts`     | cancels casts to stored integers (ONNX's spelling)        |
| `convert-quantized-gemm` | products by quantized weights as fully connected layers   |
| `fold-casts`             | cancels casts, moves them out of the way                  |
| `form-integer-nodes`     | nodes between casts become nodes on integers              |
| `form-dynamic-products`  | ONNX's spelling of dynamic quantization as one node       |
| `fold-rescale`           | rescaling disappears into producers and consumers         |
| `simplify-bounds`        | bounds that ranges imply are dropped, rescaling sinks     |
| `quantize`               | all of them                                               |
| `convert-to-bf16`, `convert-to-fp16` | products multiply 16-bit floats, add in f32   |
| `assert-all-quantized`   | fails where a float node is left between integer products |

A network that comes quantized (ONNX QDQ) needs `fold-casts` and `form-integer-nodes`.
Nothing is imported before it is used. `profiling/` holds what values a network takes and
the scales that follow, `adjustment/` what changes floats beforehand, `integer/` how casts
become integers, `half/` products of 16-bit floats.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass


def _lazy(module: str, class_name: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        return getattr(import_module(f"glow.passes.quantization.{module}"), class_name)

    return load


PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "assert-all-quantized": _lazy("assert_all_quantized", "AssertAllQuantizedPass"),
    "convert-quantized-gemm": _lazy(
        "integer.convert_quantized_gemm", "ConvertQuantizedGemmPass"
    ),
    "convert-to-bf16": _lazy("half.convert_to_bf16", "ConvertToBf16Pass"),
    "convert-to-fp16": _lazy("half.convert_to_fp16", "ConvertToFp16Pass"),
    "equalize-layers": _lazy("adjustment.equalize_layers", "EqualizeLayersPass"),
    "fold-casts": _lazy("integer.fold_casts", "FoldCastsPass"),
    "fold-rescale": _lazy("integer.fold_rescale", "FoldRescalePass"),
    "fold-storage-casts": _lazy("integer.fold_storage_casts", "FoldStorageCastsPass"),
    "form-dynamic-products": _lazy(
        "integer.form_dynamic_products", "FormDynamicProductsPass"
    ),
    "form-integer-nodes": _lazy("integer.form_integer_nodes", "FormIntegerNodesPass"),
    "insert-casts": _lazy("quantize", "InsertCastsPass"),
    "instrument-profile": _lazy(
        "profiling.instrument_profile", "InstrumentProfilePass"
    ),
    "simplify-bounds": _lazy("integer.simplify_bounds", "SimplifyBoundsPass"),
    "quantize": _lazy("quantize", "QuantizePass"),
}
"""Pass name to factory."""
