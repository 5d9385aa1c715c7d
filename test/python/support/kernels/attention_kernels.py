"""Small kernels of attention, for tests that are not about what kernels compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from support.kernels.kernel_testing import TARGET

from glow.backends.cpu.kernels.attention.kernel import build_attention
from glow.backends.cpu.kernels.attention.spec import AttentionSpec
from glow.backends.cpu.tiling.matrix_memory import Strides
from glow.lowering.loop_builder.kernel import Kernel


def attention(keys: int, key_block: int = 0) -> Callable[[], Kernel]:
    """Two heads, a mask for all of them."""
    of_head, of_keys = Strides((3,), 6, 1), Strides((3,), 1, 6)
    spec = AttentionSpec(
        (2,),
        9,
        keys,
        3,
        3,
        of_head,
        of_keys,
        of_head,
        of_head,
        Strides((0,), keys, 1),
        0.5,
    )
    config = replace(spec.choose_config(TARGET), key_block=key_block)
    return lambda: build_attention(replace(spec, config=config), TARGET)


ATTENTION = {
    "attention": attention(17),
    "attention in blocks of keys": attention(150, 64),
}
