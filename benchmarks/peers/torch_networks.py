"""The networks of `benchmarks/networks/trained.py` as PyTorch modules, as users write them.

Parameters have the names of the ONNX file's weights, which `load_weights` copies.
"""

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

# pyright: basic, reportMissingImports=false


class DigitsMlp(nn.Module):
    """Three linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(64, 128), nn.Linear(128, 64)
        self.fc3 = nn.Linear(64, 10)

    def forward(self, x):
        return self.fc3(self.fc2(self.fc1(x.flatten(1)).relu()).relu())


class Block(nn.Module):
    """A residual block of two convolutions."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        if stride != 1 or inputs != outputs:
            self.conv0 = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.bn0 = nn.BatchNorm2d(outputs)

    def forward(self, x):
        body = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        if hasattr(self, "conv0"):
            x = self.bn0(self.conv0(x))
        return (body + x).relu()


class DigitsCnn(nn.Module):
    """A small residual network."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        self.layer1, self.layer2 = Block(16, 16), Block(16, 32, 2)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.layer2(self.layer1(self.bn(self.conv(x)).relu()))
        return self.fc(x.mean((2, 3)))


class ResNet(nn.Module):
    """ResNet-18."""

    def __init__(self, widths: tuple[int, ...] = (64, 128, 256, 512), blocks: int = 2):
        super().__init__()
        self.conv = nn.Conv2d(3, widths[0], 7, 2, 3, bias=False)
        self.bn = nn.BatchNorm2d(widths[0])
        layers, channels = [], widths[0]
        for stage, width in enumerate(widths):
            for block in range(blocks):
                stride = 2 if stage and not block else 1
                layers.append(Block(channels, width, stride))
                channels = width
        self.layers, self.fc = nn.Sequential(*layers), nn.Linear(channels, 10)

    def forward(self, x):
        x = functional.max_pool2d(self.bn(self.conv(x)).relu(), 3, 2, 1)
        return self.fc(self.layers(x).mean((2, 3)))


class DecoderLayer(nn.Module):
    """Causal attention and two linear layers, each behind a normalization."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, sequence, width = x.shape
        split = (batch, sequence, self.heads, width // self.heads)
        query, keys, values = (
            part.view(split).transpose(1, 2)
            for part in self.qkv(self.ln1(x)).split(width, 2)
        )
        context = functional.scaled_dot_product_attention(
            query, keys, values, is_causal=True
        )
        x = x + self.out(context.transpose(1, 2).reshape(batch, sequence, width))
        return x + self.down(functional.gelu(self.up(self.ln2(x))))


class Transformer(nn.Module):
    """A decoder that predicts the next token at every place."""

    def __init__(
        self,
        width: int = 384,
        layers: int = 6,
        heads: int = 6,
        sequence: int = 64,
        vocabulary: int = 65,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.zeros(sequence, width))
        self.layers = nn.Sequential(
            *(DecoderLayer(width, heads) for _ in range(layers))
        )
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, x):
        x = self.layers(self.tokens(x) + self.positions)
        return self.head(self.ln(x)).flatten(0, 1)


NETWORKS = {
    "digits_mlp": DigitsMlp,
    "digits_cnn": DigitsCnn,
    "resnet18": ResNet,
    "transformer": Transformer,
}


def load_weights(module: nn.Module, model: onnx.ModelProto) -> nn.Module:
    """Returns the module with the weights of an ONNX model, which has one for each name."""
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    state = module.state_dict()
    for name, values in state.items():
        if name in stored:
            values.copy_(
                torch.from_numpy(np.array(numpy_helper.to_array(stored[name])))
            )
        elif not name.endswith("num_batches_tracked"):
            raise ValueError(f"the ONNX model has no weight '{name}'")
    return module
