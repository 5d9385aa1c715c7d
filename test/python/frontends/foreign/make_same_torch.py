"""The networks of `same_networks.py` in PyTorch: torch-mlir writes each as StableHLO.

    python test/python/frontends/foreign/make_same_torch.py    (torch 2.15, torch-mlir 20261001)

The programs are kept, so that PyTorch is needed to change them only.
"""

from pathlib import Path

import torch
from same_networks import (
    BATCH,
    BLOCKS,
    HEADS,
    IMAGE,
    LENGTH,
    TOKENS,
    WIDTH,
    encoder_weights,
    residual_weights,
)
from torch.nn import functional as f
from torch_mlir import fx

FOLDER = Path(__file__).parent / "same"


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


def encoder(w, x, mask):
    def dense(x, name):
        return f.linear(x, w[name], w[f"{name}_bias"])

    def normalized(x, name):
        return f.layer_norm(x, (WIDTH,), w[f"{name}_scale"], w[f"{name}_shift"])

    def heads(x):
        return x.view(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

    y = normalized(x, "first")
    query, key, value = (heads(dense(y, n)) for n in ("query", "key", "value"))
    scores = query @ key.transpose(-2, -1) / (WIDTH // HEADS) ** 0.5
    scores = scores.masked_fill(~mask[:, None, None, :], -1e9)
    y = (scores.softmax(-1) @ value).transpose(1, 2).reshape(TOKENS)
    x = x + dense(y, "output")
    y = f.gelu(dense(normalized(x, "second"), "up"), approximate="tanh")
    x = x + dense(y, "down")
    x = x + dense(f.gelu(dense(x, "second_up")), "second_down")
    return dense(x, "head").argmax(-1)


def write(function, weights, *examples):
    module = fx.export_and_import(
        Network(weights, function).eval(),
        *examples,
        output_type="stablehlo",
        func_name="main",
    )
    (FOLDER / f"torch_{function.__name__}.mlir").write_text(str(module))


if __name__ == "__main__":
    write(residual, residual_weights(), torch.zeros(IMAGE))
    mask = torch.ones(TOKENS[:2], dtype=torch.bool)
    write(encoder, encoder_weights(), torch.zeros(TOKENS), mask)
