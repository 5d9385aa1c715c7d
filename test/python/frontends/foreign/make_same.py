"""Networks of `same_networks.py` in JAX and PyTorch: writes each as StableHLO.

    python test/python/frontends/foreign/make_same.py jax      (JAX 0.10)
    python test/python/frontends/foreign/make_same.py torch    (torch 2.15, torch-mlir 20261001)

The programs are kept, so that these are needed to change them only.
"""

import sys
from pathlib import Path

import numpy as np
from same_networks import BLOCKS, IMAGE, residual_weights

FOLDER = Path(__file__).parent / "same"


def write_jax():
    """What `jax.jit` lowers to; channels are last, as JAX has them."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    from jax import lax

    def conv(x, weights):
        kernel = jnp.asarray(weights.transpose(2, 3, 1, 0))
        layout = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=layout
        )

    def same_mean(x):
        window = (1, 3, 3, 1), (1, 1, 1, 1), "SAME"
        total = lax.reduce_window(x, 0.0, lax.add, *window)
        return total / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, *window)

    def residual(x):
        w = residual_weights()

        def normalized(x, name):
            x = conv(x, w[name]) - w[f"{name}_mean"]
            x = x * lax.rsqrt(jnp.asarray(w[f"{name}_variance"]) + 1e-5)
            return x * w[f"{name}_scale"] + w[f"{name}_bias"]

        x = jax.nn.relu(conv(x, w["stem"]))
        for block in BLOCKS:
            y = jax.nn.relu(normalized(x, f"{block}1"))
            x = jax.nn.relu(normalized(y, f"{block}2") + x)
            x = same_mean(x) if block == "first" else x
        x = x.mean(axis=(1, 2))
        return jax.nn.softmax(x @ w["head"].T + w["head_bias"])

    def write(function, *examples):
        text = str(jax.jit(function).lower(*examples).compiler_ir("stablehlo"))
        (FOLDER / f"jax_{function.__name__}.mlir").write_text(text)

    write(residual, np.zeros(IMAGE, np.float32))


def write_torch():
    """What torch-mlir makes of `torch.export`."""
    import torch
    from torch.nn import functional as f
    from torch_mlir import fx

    class Network(torch.nn.Module):
        def __init__(self, weights, function):
            super().__init__()
            for name, array in weights.items():
                self.register_buffer(name, torch.from_numpy(array))
            self.function = function

        def forward(self, *inputs):
            return self.function(dict(self.named_buffers()), *inputs)

    def residual(w, x):
        def normalized(x, name):
            x = f.conv2d(x, w[name], padding=1)
            kinds = ("mean", "variance", "scale", "bias")
            return f.batch_norm(x, *(w[f"{name}_{kind}"] for kind in kinds))

        x = f.relu(f.conv2d(x.permute(0, 3, 1, 2), w["stem"], padding=1))
        for block in BLOCKS:
            y = f.relu(normalized(x, f"{block}1"))
            x = f.relu(normalized(y, f"{block}2") + x)
            if block == "first":
                x = f.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
        x = f.adaptive_avg_pool2d(x, 1).flatten(1)
        return f.softmax(f.linear(x, w["head"], w["head_bias"]), -1)

    def write(function, weights, *examples):
        module = fx.export_and_import(
            Network(weights, function).eval(),
            *examples,
            output_type="stablehlo",
            func_name="main",
        )
        (FOLDER / f"torch_{function.__name__}.mlir").write_text(str(module))

    write(residual, residual_weights(), torch.zeros(IMAGE))


if __name__ == "__main__":
    {"jax": write_jax, "torch": write_torch}[sys.argv[1]]()
