"""The integer layers of a network as calls of CMSIS-NN's functions.

CMSIS-NN is Arm's library of kernels for Cortex-M; its repository is fetched apart, at `COMMIT`.
Layers get weights by a seed: how many instructions they take does not depend on them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

REPOSITORY = "https://github.com/ARM-software/CMSIS-NN"
COMMIT = "99f736a63036613032f9b70de36b493bcd7802d4"

FOLDERS = (
    "ActivationFunctions",
    "BasicMathFunctions",
    "ConvolutionFunctions",
    "FullyConnectedFunctions",
    "NNSupportFunctions",
    "PoolingFunctions",
    "TransposeFunctions",
)
FLOATS = ("_f16", "_f32", "_flt")
"""Parts of the names of files that compute in floats."""


@dataclass(frozen=True)
class Layer:
    """A convolution, or a matrix product: one of a single pixel."""

    inputs: int
    outputs: int
    plane: tuple[int, int]
    """Of the input."""
    kernel: tuple[int, int]
    strides: tuple[int, int]
    pads: tuple[int, int, int, int]
    is_depthwise: bool = False

    @property
    def result(self) -> tuple[int, int]:
        """The plane of the output."""
        top, left, bottom, right = self.pads
        sizes = (self.plane[0] + top + bottom, self.plane[1] + left + right)
        rows, columns = (
            (size - kernel) // stride + 1
            for size, kernel, stride in zip(
                sizes, self.kernel, self.strides, strict=True
            )
        )
        return rows, columns

    @property
    def multiply_adds(self) -> int:
        """Those of all taps, also of taps in the padding."""
        rows, columns = self.result
        taps = self.kernel[0] * self.kernel[1]
        depth = 1 if self.is_depthwise else self.inputs
        return rows * columns * self.outputs * taps * depth


HEAD = """
#include "arm_nnfunctions.h"
static int8_t input[$input], weights[$weights], output[$output];
static int32_t bias[$channels], multipliers[$channels], shifts[$channels];
static int32_t scratch[$scratch];

void prepare(void)
{
    for (int k = 0; k < $channels; k++) { multipliers[k] = 1 << 30; shifts[k] = -7; }
}
"""

CALL = """
int layer$number(void)
{
    const cmsis_nn_context context = {scratch, sizeof scratch};
    const $params_type params = {
        .input_offset = 128, .output_offset = -128,
        $multiplier
        .stride = {$stride_w, $stride_h}, .padding = {$pad_w, $pad_h}, .dilation = {1, 1},
        .activation = {-128, 127}};
    const cmsis_nn_per_channel_quant_params scales = {multipliers, shifts};
    const cmsis_nn_dims in = {1, $height, $width, $inputs};
    const cmsis_nn_dims filter = {$filter_n, $kernel_h, $kernel_w, $filter_c};
    const cmsis_nn_dims out = {1, $rows, $columns, $outputs};
    const cmsis_nn_dims biases = {1, 1, 1, $outputs};
    return $function(&context, &params, &scales, &in, input, &filter, weights, &biases, bias,
                     &out, output);
}
"""


PRODUCT = """
int layer$number(void)
{
    const cmsis_nn_context context = {scratch, sizeof scratch};
    const cmsis_nn_fc_params params = {
        .input_offset = 128, .output_offset = -128, .activation = {-128, 127}};
    const cmsis_nn_per_tensor_quant_params scale = {1 << 30, -7};
    const cmsis_nn_dims in = {1, 1, 1, $inputs}, filter = {$inputs, 1, 1, $outputs};
    const cmsis_nn_dims out = {1, 1, 1, $outputs}, biases = {1, 1, 1, $outputs};
    return arm_fully_connected_s8(&context, &params, &scale, &in, input, &filter, weights,
                                  &biases, bias, &out, output);
}
"""


def source_of(layers: Sequence[Layer]) -> str:
    """The C text: after `prepare`, `layerN` runs a layer and returns 0."""
    taps = [layer.kernel[0] * layer.kernel[1] for layer in layers]
    sizes = {
        "input": max(each.plane[0] * each.plane[1] * each.inputs for each in layers),
        "output": max(
            each.result[0] * each.result[1] * each.outputs for each in layers
        ),
        "weights": max(
            tap * each.inputs * each.outputs
            for tap, each in zip(taps, layers, strict=True)
        ),
        "channels": max(each.outputs for each in layers),
        "scratch": max(
            tap * each.inputs for tap, each in zip(taps, layers, strict=True)
        )
        * 4
        + 1024,
    }
    calls = [call_of(number, layer) for number, layer in enumerate(layers)]
    return "\n".join([Template(HEAD).substitute(sizes), *calls])


def call_of(number: int, layer: Layer) -> str:
    """The function of a layer."""
    if layer.plane == (1, 1):
        sizes = {"inputs": layer.inputs, "outputs": layer.outputs}
        return Template(PRODUCT).substitute(sizes, number=number)
    depthwise = layer.is_depthwise
    kind = "depthwise_conv" if depthwise else "convolve"
    return Template(CALL).substitute(
        number=number,
        function=f"arm_{kind}_wrapper_s8",
        params_type=f"cmsis_nn_{'dw_' if depthwise else ''}conv_params",
        multiplier=".ch_mult = 1," if depthwise else "",
        stride_h=layer.strides[0],
        stride_w=layer.strides[1],
        pad_h=layer.pads[0],
        pad_w=layer.pads[1],
        height=layer.plane[0],
        width=layer.plane[1],
        inputs=layer.inputs,
        outputs=layer.outputs,
        filter_n=1 if depthwise else layer.outputs,
        filter_c=layer.outputs if depthwise else layer.inputs,
        kernel_h=layer.kernel[0],
        kernel_w=layer.kernel[1],
        rows=layer.result[0],
        columns=layer.result[1],
    )


def fetched(folder: Path) -> Path:
    """The repository at the pinned commit, which git fetches once."""
    if not folder.exists():
        git = ["git", "-C", str(folder)]
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
        subprocess.run(
            [*git, "fetch", "-q", "--depth=1", REPOSITORY, COMMIT], check=True
        )
        subprocess.run([*git, "checkout", "-q", "FETCH_HEAD"], check=True)
    return folder


def library(repository: Path, gcc: Sequence[str], folder: Path) -> Path:
    """CMSIS-NN's functions of integers as one archive, compiled as fast as its compiler can."""
    files = [
        path
        for name in FOLDERS
        for path in sorted((repository / "Source" / name).glob("*.c"))
        if not any(part in path.name for part in FLOATS)
    ]
    flags = ["-O3", "-ffunction-sections", "-fdata-sections", "-w", "-c"]
    include = ["-I", str(repository / "Include")]
    names = list(map(str, files))
    subprocess.run([*gcc, *flags, *include, *names], check=True, cwd=folder)
    archive = folder / "libcmsis_nn.a"
    objects = [path.stem + ".o" for path in files]
    subprocess.run(
        ["arm-none-eabi-ar", "rcs", archive.name, *objects], check=True, cwd=folder
    )
    return archive
