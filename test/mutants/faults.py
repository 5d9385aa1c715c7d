"""Which faults are planted, and which tests should find them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Suites:
    """Lit files and folders, and names of pytest's files with a choice of their tests."""

    lit: tuple[str, ...] = ()
    pytest: tuple[str, ...] = ()
    only: str = ""

    def commands(self) -> Iterator[list[str]]:
        """The commands that run them; the first that fails has found a fault."""
        if self.lit:
            yield ["lit", "-q", "-j1", *(f"test/{path}" for path in self.lit)]
        if self.pytest:
            files = [str(file_of(name)) for name in self.pytest]
            yield ["pytest", "-qx", "-pno:cacheprovider", *files, "-k", self.only]


def file_of(name: str) -> Path:
    """The file of pytest of this name, whose folder nobody need know."""
    (file,) = (ROOT / "test" / "python").rglob(f"{name}.py")
    return file.relative_to(ROOT)


def graph(name: str, *more: str) -> Suites:
    """The lit files of a graph pass."""
    return Suites(tuple(f"graph/{name}{part}.mlir" for part in ("", *more)))


COPIES = Suites(("instr/eliminate_copies.mlir", "instr/eliminate_copies_negative.mlir"))
GELU = graph("recognize_gelu", "_negative")
PRODUCTS = graph("merge_products", "_negative", "_quantized")
POOLS = Suites(graph("commute_pools").lit, ("test_graph_passes",), "never_fall")
SOFTMAX = Suites(pytest=("test_onnx_import",), only="softmax")
CACHES = ("test_object_cache", "test_model_cache", "test_model_file", "test_sources")
KEYS = Suites(pytest=CACHES, only="not clones")
BARRIERS = Suites(("lowering/instr_to_loops_barriers.mlir",))
THREADS = Suites(
    (*BARRIERS.lit, "lowering/instr_to_loops.mlir"), ("test_barriers", "test_threads")
)
OPERATORS = Suites(pytest=("test_quantized_operators",))
IMPORT = Suites(
    pytest=(
        "test_onnx_import",
        "test_onnx_errors",
        "test_onnx_forms",
        "test_onnx_old_forms",
        "test_onnx_conformance",
    ),
    only="not native_code_loses_no_test and not page_follows",
)
PLAN = Suites(
    ("instr/plan_memory.mlir", "instr/plan_memory_invalid.mlir"), ("test_plan_memory",)
)

WRITTEN: tuple[tuple[str, str, str, Suites], ...] = (
    ("passes/instr/eliminate_copies.py", "(access.at < at or access.writes)",
     "access.at < at", COPIES),
    ("passes/instr/eliminate_copies.py",
     "return access.writes and not access.reads and access.place == whole",
     "return True", COPIES),
    ("glow/interpreter/integer_arithmetic.py", "np.rint(quotients, out=quotients)",
     "np.floor(quotients + 0.5)", OPERATORS),
    ("passes/graph/recognize_gelu.py", "beside_number(value, glow.AddOp, 1.0)",
     "beside_number(value, glow.AddOp, 2.0)", GELU),
    ("passes/graph/merge_products.py", "(op.weights, op.bias, ", "(op.weights, ",
     PRODUCTS),
    ("passes/graph/commute_pools.py", "glow.SigmoidOp, glow.TanhOp",
     "glow.AbsOp, glow.SigmoidOp, glow.TanhOp", POOLS),
    ("glow/sources.py", ', "glow.lowering")', ")", KEYS),
    ("glow/runtime/caches/object_cache.py", '"xdsl", "llvmlite"', '"xdsl"', KEYS),
    ("glow/backends/cpu/program/call_order.py",
     "any(parts % synchronized == 0 for synchronized in earlier.synchronized)",
     "earlier.synchronized", BARRIERS),
    ("glow/frontends/onnx/operators/normalization.py", 'node.attr_int("axis", 1), len(sizes))',
     'node.attr_int("axis", -1), len(sizes))', SOFTMAX),
)  # fmt: skip
"""File, text, what stands there instead: faults that no test found once."""

DRAWN: tuple[tuple[str, int, Suites], ...] = (
    # Passes on graphs.
    ("passes/graph/convert_gemm.py", 4, graph("convert_gemm", "_quantized")),
    ("passes/graph/eliminate_transposes.py", 4,
     graph("eliminate_transposes", "_negative", "_quantized")),
    ("passes/graph/fold_batch_norm.py", 4, graph("fold_batch_norm", "_negative")),
    ("passes/graph/fold_pads.py", 4, graph("fold_pads", "_negative", "_quantized")),
    ("passes/graph/hoist_pool.py", 3, graph("hoist_pool", "_negative", "_quantized")),
    ("passes/graph/merge_branches.py", 4, graph("merge_branches", "_negative")),
    ("passes/graph/merge_products.py", 4, PRODUCTS),
    ("passes/graph/narrow_gathers.py", 4, graph("narrow_gathers", "_negative")),
    ("passes/graph/recognize_gelu.py", 3, GELU),
    ("passes/graph/recognize_normalizations.py", 4,
     graph("recognize_normalizations", "_negative")),
    ("passes/graph/shrink_convolutions.py", 4,
     graph("shrink_convolutions", "_negative", "_quantized")),
    ("passes/graph/sink_reshapes.py", 4,
     graph("sink_reshapes", "_negative", "_quantized")),
    ("passes/graph/sink_upsampling.py", 4,
     graph("sink_upsampling", "_negative", "_quantized")),
    # Quantization.
    ("passes/quantization/integer/fold_rescale.py", 4, Suites(("quantization/fold_rescale.mlir",))),
    ("passes/quantization/integer/simplify_bounds.py", 4,
     Suites(("quantization/simplify_bounds.mlir",))),
    ("passes/quantization/integer/form_integer_nodes.py", 4,
     Suites(("quantization/form_integer_nodes.mlir",), OPERATORS.pytest)),
    ("glow/interpreter/integer_arithmetic.py", 5,
     Suites(pytest=("test_quantized_operators", "test_fixed_point"))),
    ("lowering/lower_quantized/arithmetic.py", 4,
     Suites(("lowering/lower_quantized.mlir",
             "lowering/lower_quantized_embeddings.mlir"), OPERATORS.pytest)),
    # Importer.
    ("glow/frontends/onnx/operators/spatial/convolution.py", 5, IMPORT),
    ("glow/frontends/onnx/operators/movement.py", 5, IMPORT),
    ("glow/frontends/onnx/operators/normalization.py", 4, IMPORT),
    ("glow/frontends/onnx/operators/quantization/quantized_types.py", 5,
     Suites(pytest=(*OPERATORS.pytest, "test_plain_quantization"))),
    # Kernels.
    ("glow/backends/cpu/kernels/reduction/reduce.py", 4, Suites(pytest=("test_kernels_reduce",))),
    ("glow/backends/cpu/kernels/reduction/softmax.py", 4,
     Suites(BARRIERS.lit, ("test_kernels_reduce", "test_quantized_rows"), "softmax")),
    ("glow/backends/cpu/kernels/movement/transpose.py", 3,
     Suites(pytest=("test_kernels_movement",))),
    ("glow/backends/cpu/kernels/channelwise/pool.py", 4,
     Suites(pytest=("test_kernels_conv",), only="pool")),
    ("lowering/loop_builder/multiply_high.py", 2, Suites(pytest=("test_fixed_point",))),
    ("glow/backends/cpu/program/call_order.py", 3, THREADS),
    ("glow/backends/cpu/program/main_function.py", 3, THREADS),
    # Memory.
    ("passes/instr/eliminate_copies.py", 4, COPIES),
    ("passes/instr/packing/interval_packing.py", 4, PLAN),
    ("passes/instr/plan_memory.py", 4, PLAN),
    ("passes/instr/share_buffers.py", 4,
     Suites(("instr/share_buffers.mlir", "instr/share_buffers_negative.mlir"))),
    # Caches.
    ("glow/runtime/caches/object_cache.py", 4, KEYS),
    ("glow/runtime/caches/model_cache.py", 4, KEYS),
)  # fmt: skip
"""File, how many faults are drawn in it, and the tests that should find them."""

SEEDS = {
    "passes/quantization/integer/fold_rescale.py": "passes/quantization/fold_rescale.py",
    "passes/quantization/integer/simplify_bounds.py":
        "passes/quantization/simplify_bounds.py",
    "passes/quantization/integer/form_integer_nodes.py":
        "passes/quantization/form_integer_nodes.py",
    "glow/frontends/onnx/operators/spatial/convolution.py": "glow/frontends/onnx/convolution.py",
    "glow/frontends/onnx/operators/movement.py": "glow/frontends/onnx/movement.py",
    "glow/frontends/onnx/operators/normalization.py":
        "glow/frontends/onnx/normalization.py",
    "glow/frontends/onnx/operators/quantization/quantized_types.py":
        "glow/frontends/onnx/quantization.py",
    "glow/runtime/caches/object_cache.py": "glow/runtime/object_cache.py",
    "glow/runtime/caches/model_cache.py": "glow/runtime/model_cache.py",
}  # fmt: skip
"""By what the faults of a file are drawn where it is not its path: the path before it moved,
so that it keeps its faults."""

EQUIVALENT: dict[tuple[str, str], str] = {
    ("passes/graph/shrink_convolutions.py",
     'if whole and not any(pads) and view.ints("strides") == (1, 0):'):
        "a convolution that has nothing to drop is made once more",
    ("glow/interpreter/integer_arithmetic.py",
     "return (factor, shift) if 1 < shift <= MAX_SHIFT else (0, 1)"):
        "multipliers of 2^29 and more do not occur",
    ("glow/frontends/onnx/operators/spatial/convolution.py",
     "more = [extra + max(0, -total) for extra, total in zip(more, totals, strict=False)]"):
        "both have a number for each axis of the window",
    ("glow/backends/cpu/kernels/reduction/reduce.py",
     "places |= dict(zip(self.reduced, where, strict=False))"):
        "each reduced axis has its place: the lengths never differ",
}  # fmt: skip
"""File and line of faults that change nothing that a test could see, and why."""
