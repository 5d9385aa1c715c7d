"""What targets and shapes allow of a configuration, by the class of the specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from glow.backends.cpu.kernels.attention.spec import AttentionSpec
from glow.backends.cpu.kernels.channelwise.planes import BlockedPlanes
from glow.backends.cpu.kernels.convolution.conv2d_config import (
    conv_tiling,
    reads_ahead,
    wrong_conv_config,
)
from glow.backends.cpu.kernels.convolution.conv2d_spec import Conv2dSpec
from glow.backends.cpu.kernels.convolution.direct_conv import (
    DirectConvSpec,
    wrong_plain_config,
)
from glow.backends.cpu.kernels.convolution.int8_conv2d_spec import Int8Conv2dSpec
from glow.backends.cpu.kernels.convolution.matrix_conv_plan import (
    wrong_int8_conv_config,
)
from glow.backends.cpu.kernels.convolution.sparse_conv2d_spec import SparseConv2dSpec
from glow.backends.cpu.kernels.int8_winograd.spec import (
    Int8WinogradSpec,
    wrong_int8_winograd_config,
)
from glow.backends.cpu.kernels.matmul.batch_matmul_spec import BatchMatmulSpec
from glow.backends.cpu.kernels.matmul.block_quantized_spec import BlockQuantizedSpec
from glow.backends.cpu.kernels.matmul.int8_batch_matmul import Int8BatchMatmulSpec
from glow.backends.cpu.kernels.matmul.matmul_spec import MatmulSpec
from glow.backends.cpu.kernels.recurrence.weights import StepShape
from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.backends.cpu.kernels.winograd.config import wrong_winograd_config
from glow.backends.cpu.kernels.winograd.spec import WinogradSpec
from glow.backends.cpu.kernels.winograd.tiling import choose_winograd_tiling
from glow.lowering.target.target import Target

LIMITS: Mapping[type, Callable[[Any, Target], str | None]] = {
    Conv2dSpec: wrong_conv_config,
    SparseConv2dSpec: wrong_conv_config,
    Int8Conv2dSpec: wrong_int8_conv_config,
    DirectConvSpec: wrong_plain_config,
    BlockedPlanes: lambda spec, _: spec.wrong_config(),
    WinogradSpec: wrong_winograd_config,
    Int8WinogradSpec: wrong_int8_winograd_config,
    MatmulSpec: MatmulSpec.wrong_config,
    BatchMatmulSpec: BatchMatmulSpec.wrong_config,
    Int8BatchMatmulSpec: Int8BatchMatmulSpec.wrong_config,
    BlockQuantizedSpec: BlockQuantizedSpec.wrong_config,
    AttentionSpec: AttentionSpec.wrong_config,
    StrassenSpec: StrassenSpec.wrong_config,
    StepShape: StepShape.wrong_config,
}


def _conv_fetches(spec: Conv2dSpec, target: Target) -> bool:
    return reads_ahead(spec, conv_tiling(spec, target).config)


def _winograd_fetches(spec: WinogradSpec, target: Target) -> bool:
    return not choose_winograd_tiling(spec, target).has_resident_weights


FETCHES: Mapping[type, Callable[[Any, Target], bool]] = {
    Conv2dSpec: _conv_fetches,
    Int8Conv2dSpec: _conv_fetches,
    WinogradSpec: _winograd_fetches,
    MatmulSpec: MatmulSpec.fetches_weights,
    StrassenSpec: StrassenSpec.fetches_weights,
}
"""Of kernels that may fetch their weights ahead, whether they do."""


def fetches_weights(spec: object, target: Target) -> bool:
    """Whether a configured kernel fetches its weights before it reads them."""
    fetches = FETCHES.get(type(spec))
    return fetches is not None and fetches(spec, target)


def wrong(spec: Any, target: Target) -> str | None:
    """What of a specification's configuration is not allowed, if anything."""
    return LIMITS[type(spec)](spec, target)
