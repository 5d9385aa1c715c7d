"""Which columns rows of a window visit together."""

import pytest

from glow.lowering.loop_builder.window import Run, Window, plane_runs, tiles_of_runs


def window(width: int, step: int, kernel: int = 3, stride: int = 1) -> Window:
    pad = step * (kernel // 2)
    strides, steps = (stride, stride), (step, step)
    return Window((9, width), (kernel, kernel), strides, steps, (pad, pad, pad, pad))


@pytest.mark.parametrize(
    ("one", "runs"),
    [
        (window(24, 12), [(0, 12, (1, 3)), (12, 24, (0, 2))]),
        (window(24, 18), [(0, 6, (1, 3)), (6, 18, (1, 2)), (18, 24, (0, 2))]),
        (window(24, 36), [(0, 24, (1, 2))]),
        (window(24, 4), [(0, 4, (1, 3)), (4, 20, (0, 3)), (20, 24, (0, 2))]),
        (window(48, 8, stride=2), [(0, 4, (1, 3)), (4, 20, (0, 3)), (20, 24, (0, 2))]),
        # Few columns at a border, or many runs, are lines of their own.
        (window(24, 3), [(3, 21, (0, 3))]),
        (window(24, 1), [(1, 23, (0, 3))]),
        (window(40, 4, kernel=7), [(12, 28, (0, 7))]),
        (window(1, 1), []),
    ],
)
def test_runs_of_rows(one: Window, runs: list[tuple[int, int, tuple[int, int]]]):
    assert list(one.row_runs) == [Run(*run) for run in runs]
    rows, columns = one.output
    visited = sum(count * length for count, length in plane_runs(one))
    assert visited == rows * columns
    assert one.line_columns() == columns - sum(end - first for first, end, _ in runs)


def test_tiles_of_runs():
    """The longest run has the tiles that were chosen for it; the others equal parts."""
    size = tiles_of_runs(window(24, 18), 8)
    assert [size(run) for run in (12, 6)] == [8, 6]
    assert tiles_of_runs(window(24, 18), 5)(6) == 3
