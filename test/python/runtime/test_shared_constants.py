"""Programs of one model for several sizes have equal weights in memory once."""

import gc
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.runtime.model_cache_testing import own_folder

import glow
from glow.backends.cpu.tiling.matmul_tile import choose_shared_tile, choose_tile
from glow.compilation import wait_for_stores
from glow.lowering.target.target import Target
from glow.runtime import constants
from glow.runtime.buffers import aligned_empty
from glow.runtime.constants import bytes_of, shared_segment

RNG = np.random.default_rng(3)
WEIGHTS = RNG.standard_normal((160, 160)).astype(np.float32)


def network():
    """Two layers on any number of rows."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 160])
        for name in "xy"
    )
    w = numpy_helper.from_array(WEIGHTS, "w")
    v = numpy_helper.from_array(WEIGHTS.T.copy(), "v")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "v"], ["y"]),
    ]
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y], [w, v]))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The file of the network."""
    path = tmp_path_factory.mktemp("model") / "rows.onnx"
    path.write_bytes(network().SerializeToString())
    return path


def rows(count):
    """An input."""
    return RNG.standard_normal((count, 160)).astype(np.float32)


def own_bytes(model):
    """The bytes that each program of a model has for itself."""
    return [program.function.constants_bytes for program in model.programs()]


@pytest.mark.parametrize("cached", [False, True])
def test_programs_share(path, tmp_path, monkeypatch, cached):
    monkeypatch.setenv("GLOW_CACHE_DIR", str(tmp_path))
    if cached:
        first = glow.compile(path, threads=1)
        [first(rows(count)) for count in (8, 16, 32)]
        wait_for_stores()
        del first
        gc.collect()
    model = glow.compile(path, threads=1)
    inputs = {count: rows(count) for count in (8, 16, 32)}
    found = {count: model(x) for count, x in inputs.items()}
    sizes = sorted(own_bytes(model))
    assert sizes[-1] >= 2 * WEIGHTS.nbytes
    assert max(sizes[:-1]) < WEIGHTS.nbytes
    for count, x in inputs.items():
        alone = glow.compile(path, threads=1, input_shapes={"N": count})
        np.testing.assert_array_equal(found[count], alone(x))
        np.testing.assert_array_equal(found[count], model(x))


def test_a_borrower_outlives_its_lender(path):
    model = glow.compile(path, threads=1, specializations=1)
    x, y = rows(8), rows(16)
    model(x)
    expected = model(y)
    gc.collect()
    assert len(model.programs()) == 1
    np.testing.assert_array_equal(model(y), expected)


def test_borrowers_are_stored_whole(path):
    model = glow.compile(path, threads=1)
    x, y = rows(8), rows(16)
    expected = model(x), model(y)
    copy = pickle.loads(pickle.dumps(model))
    del model
    gc.collect()
    np.testing.assert_array_equal(copy(y), expected[1])
    np.testing.assert_array_equal(copy(x), expected[0])


def test_segments_of_many_threads():
    content = RNG.integers(0, 255, 1 << 18, np.uint8)

    def share(_):
        array = aligned_empty(content.nbytes)
        array[:] = content
        segment = shared_segment(array, [(0, 1 << 17), (1 << 17, 1 << 17)])
        assert np.array_equal(segment.complete(), content)
        return segment

    with ThreadPoolExecutor(4) as pool:
        segments = list(pool.map(share, range(16)))
    assert sum(segment.own_bytes for segment in segments) == content.nbytes
    for segment in segments:
        assert np.array_equal(segment.complete(), content)


def test_bytes_of_lenders_that_are_gone_count():
    content = RNG.integers(0, 255, 1 << 17, np.uint8)
    first, second = (aligned_empty(content.nbytes) for _ in range(2))
    first[:] = second[:] = content
    lender = shared_segment(first, [(0, 1 << 16), (1 << 16, 1 << 16)])
    borrower = shared_segment(second, [(0, 1 << 16), (1 << 16, 1 << 16)])
    assert bytes_of([lender, borrower]) == content.nbytes
    del lender
    assert bytes_of([borrower]) == content.nbytes


def test_a_segment_never_lends_to_itself():
    array = aligned_empty(1 << 17)
    array[:] = 7
    first = shared_segment(array, [(0, 1 << 17)])
    second = shared_segment(array, [(0, 1 << 17)])
    assert not second.lenders
    assert (first.complete() == 7).all()


def test_warm(path):
    model = glow.compile(path, threads=1)
    model.warm([{"N": 8}, {"x": (16, 160)}])
    assert len(model.programs()) == 2
    x = rows(16)
    expected = np.tanh(x @ WEIGHTS) @ WEIGHTS.T
    np.testing.assert_allclose(model(x), expected, rtol=1e-4, atol=1e-4)
    assert len(model.programs()) == 2
    wrong = [
        ({}, "size N of input 'x' is not given"),
        ({"N": 3, "x": (2, 160)}, "N = 3"),
        ({"z": (1, 2)}, "no input or size is named 'z'"),
    ]
    for shapes, reason in wrong:
        with pytest.raises(glow.GlowError, match=reason):
            model.warm([shapes])
    assert len(model.programs()) == 2


def test_an_array_that_has_borrowed_is_not_read_again():
    content = RNG.integers(0, 255, 1 << 17, np.uint8)
    first, second = (aligned_empty(content.nbytes) for _ in range(2))
    first[:] = second[:] = content
    pieces = [(0, 1 << 16), (1 << 16, 1 << 16)]
    lender = shared_segment(first, pieces)
    borrower = shared_segment(second, pieces)
    again = shared_segment(second, pieces)
    assert again.lenders.keys() == borrower.lenders.keys() == {0, 1}
    del lender, borrower
    gc.collect()
    whole = shared_segment(second[:], pieces)
    assert (again.complete() == content).all()
    assert (whole.complete() == content).all()


def test_memory_that_is_gone_is_forgotten():
    content = RNG.integers(0, 255, 1 << 16, np.uint8)
    first, second = (aligned_empty(content.nbytes) for _ in range(2))
    first[:] = second[:] = content
    lender, borrower = (shared_segment(a, [(0, 1 << 16)]) for a in (first, second))
    address = second.ctypes.data
    assert address in constants._borrowers
    del second, borrower
    gc.collect()
    assert address not in constants._borrowers
    assert (lender.complete() == content).all()


def test_hashes_come_with_the_model(path, tmp_path, monkeypatch):
    own_folder(tmp_path, monkeypatch)
    first = glow.compile(path, threads=1)
    x = rows(8)
    wanted = first(x)
    wait_for_stores()
    monkeypatch.setattr(constants, "_digest", None)
    again = glow.compile(path, threads=1)
    np.testing.assert_array_equal(again(x), wanted)
    assert sum(own_bytes(again)) < WEIGHTS.nbytes


@pytest.mark.parametrize("target", ["avx512", "avx2", "neon", "scalar"])
def test_few_rows_read_the_weights_of_many(target):
    """The classifier of ResNet-50, whose weights come from memory."""
    machine = Target.from_string(target)
    widths = {choose_shared_tile(n, 1008, 2048, machine).blocks for n in (1, 2, 4, 64)}
    assert widths == {choose_tile(64, 1008, 2048, machine).blocks}
    near = [choose_shared_tile(1, 64, 64, machine), choose_tile(1, 64, 64, machine)]
    assert near[0] == near[1]


def test_two_threads_read_the_weights_of_one_row():
    """A tile of all columns would leave them to one."""
    machine = Target.from_string("avx512")
    assert choose_tile(1, 128, 3264, machine).blocks == 4
    assert choose_tile(1, 128, 64, machine).blocks == 8
    assert choose_tile(1, 16, 1 << 20, machine).blocks == 1


def test_what_is_there_is_not_read_again(path, tmp_path, monkeypatch):
    own_folder(tmp_path, monkeypatch)
    first = glow.compile(path, threads=1)
    for count in (8, 16):
        first(rows(count))
    wait_for_stores()
    del first
    gc.collect()
    read, preadv = [], os.preadv

    def counting(descriptor, buffers, offset):
        read.append(sum(map(len, buffers)))
        return preadv(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", counting)
    again = glow.compile(path, threads=1)
    x = {count: rows(count) for count in (8, 16)}
    again(x[8])
    before = sum(read)
    assert before >= 2 * WEIGHTS.nbytes
    again(x[16])
    assert sum(read) - before < WEIGHTS.nbytes
    wanted = np.tanh(x[16] @ WEIGHTS) @ WEIGHTS.T
    np.testing.assert_allclose(again(x[16]), wanted, rtol=1e-4, atol=1e-4)
    copy = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(copy(x[16]), again(x[16]))
