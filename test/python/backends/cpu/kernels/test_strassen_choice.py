"""Where Strassen's product is taken: by shapes, and by the caches of the target."""

from __future__ import annotations

import pytest

from glow.backends.cpu.kernels.strassen.spec import StrassenSpec
from glow.lowering.target.target import PRESETS, Target


def test_choice() -> None:
    """Few rows, also in a block, small sides and odd depths are left to the direct product."""
    target = PRESETS["avx512"]
    for shape in ((128, 768, 768), (129, 768, 768)):
        assert StrassenSpec(*shape).is_profitable(target)
    for shape in ((1, 768, 768), (128, 64, 64), (128, 768, 767), (64, 256, 1024)):
        assert not StrassenSpec(*shape).is_profitable(target)
    assert not StrassenSpec(128, 776, 768).supported(PRESETS["avx512"])


def test_sums_that_leave_the_cache_decide() -> None:
    """Those of 1500 rows of 2048 do not stay in 512 KiB: each panel would read them again."""
    zen3 = Target.from_string("znver3")
    spec = StrassenSpec(1500, 512, 2048)
    assert spec.is_profitable(zen3.with_core(l2_bytes=64 * 2**20))
    assert not spec.is_profitable(zen3)


def test_rows_from_the_last_cache() -> None:
    """Where multiply-adds hide how long they take, they do not count; those from memory do."""
    for target, pays in (("znver5", True), ("x86-64-v4", False)):
        for rows in (196, 197):
            spec = StrassenSpec(rows, 768, 768)
            assert spec.is_profitable(Target.from_string(target)) == pays
    zen5, many = Target.from_string("znver5"), StrassenSpec(576, 1024, 4096)
    assert not many.is_profitable(zen5.with_core(l3_bytes=24 * 2**20))


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "pays"),
    [
        (576, 384, 1536, True),
        (1500, 384, 1536, False),
        (1500, 768, 768, True),
        (4096, 512, 2048, False),
    ],
)
def test_sums_in_memory(rows: int, columns: int, depth: int, *, pays: bool) -> None:
    """Where a matrix and its sums leave the last cache, they take longer than an eighth of the
    product; weights that blocks of rows read again stay there.
    """
    spec, target = StrassenSpec(rows, columns, depth), Target.from_string("znver5")
    assert spec.is_profitable(target) == pays


def test_choice_of_two_levels() -> None:
    """Few rows, small sides and many blocks of rows are left to one level."""
    target = PRESETS["avx512"]
    for shape in ((128, 768, 768), (256, 768, 768), (128, 768, 3072)):
        assert StrassenSpec(*shape, levels=2).is_profitable(target)
    for shape in (
        (64, 768, 768),
        (128, 384, 384),
        (128, 512, 2048),
        (1024, 1024, 1024),
        (130, 768, 768),
    ):
        assert not StrassenSpec(*shape, levels=2).is_profitable(target)
