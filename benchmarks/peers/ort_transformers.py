"""Encoders as ONNX Runtime's own optimizer of transformers rewrites them.

It fuses attention, GELU with its bias, and sums with the normalization behind them into
operators that only ONNX Runtime has: `onnxruntime.transformers.optimizer`, for `bert`. It needs
the package `sympy`.
"""

import sys
from pathlib import Path

from onnx import ModelProto

from benchmarks.networks.bert import Encoder

# The optimizer carries no types.
# pyright: basic


def optimize(path: Path, size: Encoder) -> ModelProto | None:
    """Returns the optimized model of a file; None, and says so, without the optimizer."""
    try:
        from onnxruntime.transformers.optimizer import optimize_model

        optimizer = optimize_model(
            str(path),
            model_type="bert",
            num_heads=size.heads,
            hidden_size=size.hidden,
            opt_level=0,  # The session applies its own passes when it loads the result.
        )
    except ImportError as error:
        print(f"compare: ort transformers: {error}, left out", file=sys.stderr)
        return None
    return optimizer.model
