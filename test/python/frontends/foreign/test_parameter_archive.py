"""Weights from an archive of IREE, which its runtime 3.13 has written:

save_archive_file({
"layer.w": np.arange(6, dtype=np.float32).reshape(2, 3) - 2,
"layer.s": SplatValue(np.array(1.5, np.float16), 4),
"layer.n": np.array([-7, 8], np.int64),
}, "iree.irpa")
"""

from pathlib import Path
from struct import pack_into, unpack_from

import numpy as np
import pytest

import glow
from glow.dialects.errors import GlowError

ARCHIVE = (Path(__file__).parent / "archives" / "iree.irpa").read_bytes()
W = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
TEXT = """
util.global private @w = #stream.parameter.named<"model"::"layer.w"> : tensor<2x3xf32>
util.global private @s = #flow.parameter.named<"model"::"layer.s"> : tensor<4xf16>
util.global private @n = #stream.parameter.named<"layer.n"> : tensor<2xi64>
func.func @main() -> (tensor<2x3xf32>, tensor<4xf16>, tensor<2xi64>) {
  %w = util.global.load @w : tensor<2x3xf32>
  %s = util.global.load @s : tensor<4xf16>
  %n = util.global.load @n : tensor<2xi64>
  return %w, %s, %n : tensor<2x3xf32>, tensor<4xf16>, tensor<2xi64>
}
"""
NEXT, FIRST_ENTRY = 16, 96
"""Where the header says where the next one begins, and where its entries begin."""


def compiled(folder, archive=ARCHIVE, text=TEXT, name="net_params.irpa"):
    (folder / "net.mlir").write_text(text)
    (folder / name).write_bytes(archive)
    return glow.compile(folder / "net.mlir", backend="interpreter")


def changed(layout, place, number):
    archive = bytearray(ARCHIVE)
    pack_into(layout, archive, place, number)
    return bytes(archive)


def check(model):
    w, s, n = model()
    np.testing.assert_array_equal(w, W)
    np.testing.assert_array_equal(s, np.full(4, 1.5, np.float16))
    np.testing.assert_array_equal(n, [-7, 8])
    assert (w.dtype, s.dtype, n.dtype) == (np.float32, np.float16, np.int64)


@pytest.mark.parametrize("name", ["net.mlir.irpa", "net.irpa", "net_params.irpa"])
def test_names_of_the_file(name, tmp_path):
    check(compiled(tmp_path, name=name))


def test_linked_archives(tmp_path):
    """What the first has erased, the second brings."""
    first = bytearray(changed("<Q", NEXT, len(ARCHIVE)))
    pack_into("<I", first, FIRST_ENTRY + 8, 0)
    check(compiled(tmp_path, bytes(first) + ARCHIVE))
    with pytest.raises(GlowError, match=r"weight 'layer\.w' is missing"):
        compiled(tmp_path, changed("<I", FIRST_ENTRY + 8, 0))


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"", "is no parameter archive that is read"),
        (b"PK" + ARCHIVE[2:], "it begins with b'PKPA'"),
        (changed("<H", 4, 1), "it has version 1"),
        (changed("<Q", NEXT, len(ARCHIVE) - 8), "is no parameter archive"),
        (changed("<Q", FIRST_ENTRY + 68, 1 << 40), "it ends too soon"),
        (
            changed("<I", FIRST_ENTRY + 8, 3),
            "an entry of kind 3, such as one in another",
        ),
    ],
)
def test_damaged_archives(archive, message, tmp_path):
    with pytest.raises(GlowError, match=message):
        compiled(tmp_path, archive)


def test_archives_that_end_too_soon(tmp_path):
    """Wherever they end: behind the last number they are whole."""
    (begin,) = unpack_from("<Q", ARCHIVE, 72)
    for length in range(0, begin, 37):
        with pytest.raises(GlowError):
            compiled(tmp_path, ARCHIVE[:length])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2x3xf32", "2x4xf32", r"'layer\.w' has 24 bytes .*says tensor<2x4xf32>"),
        ("4xf16", "5xf16", r"'layer\.s' has 8 bytes .*says tensor<5xf16>"),
        ('"layer.n"', '"layer.m"', r"weight 'layer\.m' is missing"),
    ],
)
def test_other_programs(old, new, message, tmp_path):
    with pytest.raises(GlowError, match=message):
        compiled(tmp_path, text=TEXT.replace(old, new))
