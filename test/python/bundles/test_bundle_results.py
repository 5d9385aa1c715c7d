"""Bundles of this machine compute what the JIT computes, and write nowhere else."""

import ctypes
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from ctypes import CFUNCTYPE, c_uint32, c_void_p

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.runtime.bundle_testing import (
    ALL,
    MODELS,
    NATIVE_TARGETS,
    NETWORKS,
    Guarded,
    Native,
    bundle_of,
    get,
    put,
    written,
)

import glow
from glow.bundles.build import build_bundle
from glow.bundles.bundle import BAD_INDEX, BAD_WEIGHTS, OK, UNALIGNED, BundleSettings
from glow.compiler import load
from glow.options import CompileOptions

CASES = [
    (network, target, quantized)
    for network in NETWORKS
    for target in NATIVE_TARGETS
    for quantized in (False, True)
    if ALL or not quantized
]
if NATIVE_TARGETS and not ALL:
    CASES.append(("anomaly_detector", NATIVE_TARGETS[-1], True))

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
needs_x86 = pytest.mark.skipif(not NATIVE_TARGETS, reason="no x86-64 machine")


def check(found, expected, *, exact):
    """int8 has the bits of the JIT, f32 is within 1e-5 of the largest."""
    if exact:
        np.testing.assert_array_equal(found, expected)
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


@needs_x86
@pytest.mark.parametrize(("network", "target", "quantized"), CASES)
def test_results_are_those_of_the_jit(network, target, quantized):
    """int8 bit for bit, f32 within 1e-5 of the largest; guard bytes stay as they are."""
    bundle = bundle_of(network, target, quantized)
    native, (sample,) = Native(bundle), bundle.samples
    regions = native.regions()
    (function,) = bundle.functions
    for place, array in zip(function.inputs, sample.inputs, strict=True):
        put(place, regions[1].content, array)
    assert native.call(regions) == OK
    for place, expected in zip(function.outputs, sample.outputs, strict=True):
        check(get(place, regions[1].content), expected, exact=quantized)
    assert all(region.is_whole() for region in regions)
    np.testing.assert_array_equal(regions[0].content, bundle.constants)


EMULATED = [
    (network, target, quantized)
    for network in (NETWORKS if ALL else ("anomaly_detector",))
    for target in ("neon", "neon-dotprod")
    for quantized in (False, True)
    if ALL or (target == "neon-dotprod") == quantized
]


@pytest.mark.parametrize(("network", "target", "quantized"), EMULATED)
def test_results_on_aarch64(network, target, quantized, tmp_path):
    """As above; the emulator has guard bytes around the regions."""
    pytest.importorskip("unicorn", reason="Unicorn is not installed")
    bundle = bundle_of(network, target, quantized)
    (sample,) = bundle.samples
    loaded = glow.load(written(bundle, tmp_path / "out"), emulate=True)
    check(loaded(*sample.inputs), sample.outputs[0], exact=quantized)
    assert loaded.code.last.instructions > 0
    stack = bundle.stack_bytes
    assert stack is None or loaded.code.last.stack_bytes <= stack


@needs_x86
def test_calls_do_not_disturb_each_other():
    """Threads share code and weights; each has its own regions."""
    bundle = bundle_of("mlp")
    native = Native(bundle)
    (function,) = bundle.functions
    random = np.random.default_rng(1)
    images = random.standard_normal((4, *function.inputs[0].shape), np.float32)

    def run(image):
        regions = native.regions()
        put(function.inputs[0], regions[1].content, image)
        for _ in range(20):
            assert native.call(regions) == OK
        return get(function.outputs[0], regions[1].content)

    alone = list(map(run, images))
    with ThreadPoolExecutor(len(images)) as pool:
        together = list(pool.map(run, images))
    np.testing.assert_array_equal(alone, together)
    assert len({result.tobytes() for result in alone}) == len(images)


@needs_x86
def test_slices_make_the_whole_work_together():
    """Each thread has its part; the caller's barrier holds them together."""
    bundle = bundle_of("keyword_spotting", threads=True)
    native, count = Native(bundle), 3
    (function,), (sample,) = bundle.functions, bundle.samples
    regions = native.regions()
    put(function.inputs[0], regions[1].content, sample.inputs[0])
    barrier = threading.Barrier(count)
    waits = []

    def wait(context):
        waits.append(context)
        barrier.wait(30)

    kind = CFUNCTYPE(None, c_void_p)
    arguments = [*[c_void_p] * 3, c_uint32, c_uint32, kind, c_void_p]
    call, callback = native.function("keyword_spotting_slice", *arguments), kind(wait)
    places = [region.address for region in regions]
    with ThreadPoolExecutor(count) as pool:
        codes = pool.map(lambda n: call(*places, n, count, callback, 77), range(count))
        assert list(codes) == [OK] * count
    assert waits
    assert set(waits) == {77}
    found = get(function.outputs[0], regions[1].content)
    expected = sample.outputs[0]
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()
    # The whole entry needs no barrier.
    regions[1].content[function.outputs[0].offset :] = 0
    assert native.call(regions) == OK
    np.testing.assert_array_equal(get(function.outputs[0], regions[1].content), found)


@needs_x86
@pytest.mark.parametrize("region", range(3))
def test_unaligned_regions_are_refused(region):
    bundle = bundle_of("mlp")
    native = Native(bundle)
    regions = native.regions()
    whole = regions[region]
    moved = Guarded.of(whole.size, bundle.alignment, whole.content, off=4)
    regions[region] = moved
    before = [each.space.copy() for each in regions]
    assert native.call(regions) == UNALIGNED
    for each, old in zip(regions, before, strict=True):
        np.testing.assert_array_equal(each.space, old)


@needs_x86
def test_weights_are_told_from_others():
    """A part of the weights, a byte more, a changed bit and those of another network."""
    bundle, other = bundle_of("mlp"), bundle_of("keyword_spotting")
    native = Native(bundle)
    check = native.function("mlp_check", c_void_p, c_void_p)
    changed = bundle.constants.copy()
    changed[len(changed) // 2] ^= 1
    wrong = [
        bundle.constants[:-1],
        np.append(bundle.constants, np.uint8(0)),
        changed,
        other.constants,
        np.zeros(0, np.uint8),
    ]
    assert check(bundle.constants.ctypes.data, bundle.constants.nbytes) == OK
    for content in wrong:
        assert check(content.ctypes.data, content.nbytes) == BAD_WEIGHTS


def gather_model() -> onnx.ModelProto:
    """Rows of a table, by indices of the caller."""
    table = helper.make_tensor("table", TensorProto.FLOAT, [4, 2], range(8))
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "rows"], ["found"])],
        "gather",
        [helper.make_tensor_value_info("rows", TensorProto.INT64, [3])],
        [helper.make_tensor_value_info("found", TensorProto.FLOAT, [3, 2])],
        [table],
    )
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


@needs_x86
@pytest.mark.parametrize("threads", [False, True])
def test_an_index_outside_of_its_axis_is_an_error(threads):
    options = CompileOptions()
    module = load(gather_model(), options)
    settings = BundleSettings("rows", threads=threads)
    bundle = build_bundle({"rows": module}, options, settings)
    native = Native(bundle)
    regions = native.regions()
    (function,) = bundle.functions
    for rows, code in [([0, 3, 1], OK), ([0, 4, 1], BAD_INDEX), ([2, 2, 0], OK)]:
        put(function.inputs[0], regions[1].content, np.array(rows))
        assert native.call(regions) == code
        assert all(region.is_whole() for region in regions)
        if code == OK:
            found = get(function.outputs[0], regions[1].content)
            np.testing.assert_array_equal(found[:, 0], 2.0 * np.array(rows))


@needs_x86
def test_callbacks_see_each_kernel_before_and_after():
    bundle = bundle_of("mlp", debug_callbacks=True)
    (function,), (sample,) = bundle.functions, bundle.samples
    assert len(function.calls) >= 3
    told = []
    arguments = [c_uint32, c_void_p, c_uint32, c_uint32, c_void_p, c_void_p]
    kind = CFUNCTYPE(None, *arguments)

    def callback(stage):
        def tell(call, kernel, buffers, written, addresses, sizes):
            name = ctypes.string_at(kernel).decode()
            starts = (ctypes.c_void_p * buffers).from_address(addresses)
            lengths = (ctypes.c_uint32 * buffers).from_address(sizes)
            first = ctypes.string_at(starts[0], lengths[0])
            told.append((stage, call, name, written, list(lengths), first))

        return kind(tell)

    callbacks = {f"mlp_{stage}": callback(stage) for stage in ("before", "after")}
    places = {
        name: ctypes.cast(each, c_void_p).value for name, each in callbacks.items()
    }
    native = Native(bundle, places)
    regions = native.regions()
    put(function.inputs[0], regions[1].content, sample.inputs[0])
    assert native.call(regions) == OK
    expected = [(stage, n) for n in range(len(function.calls)) for stage in callbacks]
    assert [(f"mlp_{stage}", n) for stage, n, *_ in told] == expected
    for _, number, name, writes, sizes, _ in told:
        call = function.calls[number]
        assert name == f"mlp_{call.kernel}"
        assert (writes, sizes) == (call.writes, list(call.sizes))
    result = get(function.outputs[0], regions[1].content)
    assert told[-1][-1] == result.tobytes()
    assert told[-1][-1] != told[-2][-1]


@needs_x86
def test_several_networks_share_kernels_weights_and_the_arena():
    """Two networks of the same layers and weights take no more than one of them."""
    options = CompileOptions()
    one = bundle_of("mlp")
    names = ("first", "second", "other")
    models = ("mlp", "mlp", "anomaly_detector")
    modules = {
        name: load(MODELS[model](), options)
        for name, model in zip(names, models, strict=True)
    }
    bundle = build_bundle(modules, options, BundleSettings("net"))
    other = bundle_of("anomaly_detector")
    assert bundle.constants.nbytes == one.constants.nbytes + other.constants.nbytes
    largest = max(one.activations_bytes, other.activations_bytes)
    assert bundle.activations_bytes == largest
    assert set(bundle.kernel_bytes.values()) <= {
        *one.kernel_bytes.values(),
        *other.kernel_bytes.values(),
    }
    assert len(bundle.kernel_bytes) == len(one.kernel_bytes) + len(other.kernel_bytes)
    native = Native(bundle)
    for number, (function, sample) in enumerate(
        zip(bundle.functions, bundle.samples, strict=True)
    ):
        regions = native.regions()
        put(function.inputs[0], regions[1].content, sample.inputs[0])
        assert native.call(regions, number) == OK
        found = get(function.outputs[0], regions[1].content)
        expected = sample.outputs[0]
        assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()
    assert [bundle.entry(each) for each in bundle.functions] == [
        "net_first",
        "net_second",
        "net_other",
    ]
