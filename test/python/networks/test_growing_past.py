"""Language models whose past grows: it is padded at its front, so that few programs serve it."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from support.runtime.opencl_testing import needs_device

import glow
from glow import compiler
from glow.bucketing.padded_arrays import cut, padded, write_padded
from glow.dialects.errors import GlowError
from glow.padded_sizes import Margins, PaddedSize
from glow.runtime.array_pool import ArrayPool

STEP = """<ir_version: 9, opset_import: ["" : 18]>
step (float[1, new, 4] x, float[1, past, 4] keys, int64[1, total] mask)
  => (float[1, new, 4] y, float[1, total, 4] present)
  <int64[1] axis = {1}, float one = {1}, float big = {1e9}>
{
  present = Concat<axis = 1>(keys, x)
  turned = Transpose<perm = [0, 2, 1]>(present)
  scores = MatMul(x, turned)
  kept = Cast<to = 1>(mask)
  rows = Unsqueeze(kept, axis)
  less = Sub(rows, one)
  low = Mul(less, big)
  masked = Add(scores, low)
  shares = Softmax<axis = -1>(masked)
  y = MatMul(shares, present)
}"""
"""Attention of new words to a past and to themselves."""

ROWS = """<ir_version: 9, opset_import: ["" : 18]>
rows (float[N, 3] x) => (float[N, 3] y) { y = Neg(x) }"""

BUCKETS = {"past": [4, 9]}


def step_model():
    return parser.parse_model(STEP).SerializeToString()


def test_a_growing_past_takes_few_programs():
    model = compiler.compile(step_model(), buckets=BUCKETS, threads=1)
    free = compiler.compile(step_model(), backend="interpreter")
    padding = model.signature.padding
    assert padding.sizes == {"past": PaddedSize((4, 9), True, ("total",))}
    assert padding.cuts == ((), ((1, "past"),))
    random = np.random.default_rng(0)
    past = np.zeros((1, 0, 4), np.float32)
    for length in range(10):
        x = random.standard_normal((1, 1, 4)).astype(np.float32)
        mask = np.ones((1, length + 1), np.int64)
        mask[0, : length // 3] = 0
        found, wanted = model(x, past, mask), free(x, past, mask)
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
        past = found[1]
    assert len(model.programs()) == 2
    assert all(program.filling for program in model.programs())
    with pytest.raises(GlowError) as caught:
        model(x, past[:, :3], np.ones((1, 3), np.int64))
    assert "inputs are padded: past = 3 to 4" in caught.value.one_line()
    with pytest.raises(GlowError, match="past = 10 is beyond the largest bucket, 9"):
        model(x, past, np.ones((1, 11), np.int64))


def test_many_programs_are_told_of():
    model = compiler.compile(step_model(), backend="interpreter")
    x = np.zeros((1, 1, 4), np.float32)

    def call(length):
        past = np.zeros((1, length, 4), np.float32)
        model(x, past, np.ones((1, length + 1), np.int64))

    for length in range(7):
        call(length)
    with pytest.warns(
        UserWarning, match=r"8 programs .* differ in past, total; buckets="
    ):
        call(7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for length in range(8, 12):
            call(length)


def test_buckets_are_no_reason_to_tell_of_buckets():
    sizes = list(range(2, 14))
    model = compiler.compile(
        parser.parse_model(ROWS).SerializeToString(),
        backend="interpreter",
        buckets={"N": sizes},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in sizes:
            model(np.zeros((size, 3), np.float32))


def test_a_past_and_new_words_may_both_be_padded():
    buckets = {"past": [4, 9], "new": [1, 3]}
    model = compiler.compile(step_model(), backend="interpreter", buckets=buckets)
    free = compiler.compile(step_model(), backend="interpreter")
    assert model.signature.padding.sizes["new"] == PaddedSize((1, 3), False, ("total",))
    random = np.random.default_rng(1)
    for length, new in ((3, 2), (9, 1), (1, 3), (5, 2), (4, 2)):
        x, past = (
            random.standard_normal((1, size, 4)).astype(np.float32)
            for size in (new, length)
        )
        mask = np.ones((1, length + new), np.int64)
        found, wanted = model(x, past, mask), free(x, past, mask)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


def test_a_known_model_keeps_how_it_is_padded(tmp_path):
    path = tmp_path / "step.onnx"
    path.write_bytes(step_model())
    first = glow.compile(path, buckets=BUCKETS)
    assert glow.compile(path, buckets=BUCKETS).signature == first.signature


UNMASKED = STEP.replace("Softmax<axis = -1>(masked)", "Softmax<axis = -1>(scores)")
BEHIND = STEP.replace("(keys, x)", "(x, keys)")


def test_what_is_not_masked_is_refused():
    model = parser.parse_model(UNMASKED).SerializeToString()
    with pytest.raises(GlowError, match=r"at its front: .* not masked of axis 2"):
        compiler.compile(model, buckets=BUCKETS)


def test_a_past_behind_new_words_is_padded_behind():
    model = compiler.compile(
        parser.parse_model(BEHIND).SerializeToString(), buckets=BUCKETS
    )
    assert not model.signature.padding.sizes["past"].at_front


HEADS, GROUPS, SIZE, WORDS = 4, 2, 16, 32
WIDTH = (HEADS + 2 * GROUPS) * SIZE


NODES = [
    helper.make_node("ReduceSum", ["mask", "axis"], ["count"], keepdims=0),
    helper.make_node("Sub", ["count", "one"], ["last"]),
    helper.make_node("Cast", ["last"], ["lengths"], to=TensorProto.INT32),
    helper.make_node("Shape", ["mask"], ["sizes"]),
    helper.make_node("Gather", ["sizes", "one"], ["size"]),
    helper.make_node("Cast", ["size"], ["whole"], to=TensorProto.INT32),
    helper.make_node(
        "GroupQueryAttention",
        ["x", "", "", "keys", "values", "lengths", "whole", "cos", "sin"],
        ["y", "new_keys", "new_values"],
        domain="com.microsoft",
        num_heads=HEADS,
        kv_num_heads=GROUPS,
        do_rotary=1,
    ),
]
"""One attention as onnxruntime-genai writes it: the mask counts how many keys there are."""

INFOS = [
    helper.make_tensor_value_info(name, kind, shape)
    for name, kind, shape in (
        ("x", TensorProto.FLOAT, ["batch", "new", WIDTH]),
        ("mask", TensorProto.INT64, ["batch", "total"]),
        ("keys", TensorProto.FLOAT, ["batch", GROUPS, "past", SIZE]),
        ("values", TensorProto.FLOAT, ["batch", GROUPS, "past", SIZE]),
        ("y", TensorProto.FLOAT, ["batch", "new", HEADS * SIZE]),
        ("new_keys", TensorProto.FLOAT, ["batch", GROUPS, "total", SIZE]),
        ("new_values", TensorProto.FLOAT, ["batch", GROUPS, "total", SIZE]),
    )
]


def grouped_model(window=-1):
    """The decoder; `window` is how many keys a query looks at."""
    random = np.random.default_rng(2)
    constants = {
        "axis": np.array([1]),
        "one": np.array(1),
        "cos": random.random((WORDS, SIZE // 2), np.float32),
        "sin": random.random((WORDS, SIZE // 2), np.float32),
    }
    stored = [numpy_helper.from_array(one, name) for name, one in constants.items()]
    attention = onnx.NodeProto()
    attention.CopyFrom(NODES[-1])
    attention.attribute.append(helper.make_attribute("local_window_size", window))
    nodes = [*NODES[:-1], attention]
    graph = helper.make_graph(nodes, "decoder", INFOS[:4], INFOS[4:], stored)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


@pytest.mark.parametrize("window", [-1, 8])
def test_group_query_attention_counts_what_the_mask_has(window):
    runtime = pytest.importorskip("onnxruntime")
    source = grouped_model(window).SerializeToString()
    fixed = {"batch": 1, "new": 1}
    model = compiler.compile(source, input_shapes=fixed, buckets={"past": [6, 20]})
    peer = runtime.InferenceSession(source)
    random = np.random.default_rng(3)
    for length in (1, 2, 5, 6, 7, 13, 20):
        shapes = {
            "x": (1, 1, WIDTH),
            "keys": (1, GROUPS, length, SIZE),
            "values": (1, GROUPS, length, SIZE),
        }
        inputs = {
            name: random.standard_normal(shape).astype(np.float32)
            for name, shape in shapes.items()
        }
        inputs["mask"] = np.ones((1, length + 1), np.int64)
        wanted = peer.run(None, inputs)
        for one, other in zip(model.run(inputs).values(), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)
    assert len(model.programs()) == 2


def test_a_prompt_has_no_past():
    runtime = pytest.importorskip("onnxruntime")
    source = grouped_model().SerializeToString()
    buckets = {"new": [4, 8], "total": [4, 8]}
    fixed = {"batch": 1, "past": 0}
    model = compiler.compile(source, input_shapes=fixed, buckets=buckets)
    random = np.random.default_rng(6)
    past = np.zeros((1, GROUPS, 0, SIZE), np.float32)
    for length in (1, 3, 4, 5, 8):
        x = random.standard_normal((1, length, WIDTH)).astype(np.float32)
        inputs = {"x": x, "mask": np.ones((1, length), np.int64)}
        inputs |= {"keys": past, "values": past}
        wanted = runtime.InferenceSession(source).run(None, inputs)
        for one, other in zip(model.run(inputs).values(), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)
    assert len(model.programs()) == 2


class Loop:
    """Calls of a decoder at several heads, each beside the same one without buckets."""

    def __init__(self, new=1, size=24):
        source = grouped_model().SerializeToString()
        fixed = {"batch": 1, "new": new}
        self.model = compiler.compile(
            source, input_shapes=fixed, buckets={"past": [size]}, threads=1
        )
        self.free = compiler.compile(source, backend="interpreter", specializations=64)
        self.random = np.random.default_rng(4)
        self.new = new
        self.seen = []

    def first(self):
        return [np.zeros((1, GROUPS, 0, SIZE), np.float32)] * 2

    def step(self, past):
        """The next past; checks the results, and that those of earlier calls are still there."""
        x = self.random.standard_normal((1, self.new, WIDTH)).astype(np.float32)
        mask = np.ones((1, past[0].shape[2] + self.new), np.int64)
        inputs = {"x": x, "mask": mask, "keys": past[0], "values": past[1]}
        found, wanted = self.model.run(inputs), self.free.run(inputs)
        for name, array in found.items():
            np.testing.assert_allclose(array, wanted[name], rtol=0, atol=2e-6)
            self.seen.append((array, array.copy()))
        for one, copy in self.seen:
            np.testing.assert_array_equal(one, copy)
        return [found["new_keys"], found["new_values"]]


@pytest.mark.parametrize("new", [1, 2])
def test_results_of_a_loop_share_memory(new):
    loop = Loop(new)
    past = loop.step(loop.first())  # Which compiles.
    memory = set()
    for _ in range(9):
        past = loop.step(past)
        memory |= {id(array.base) for array in past}
    assert len(memory) == 2
    assert loop.model.programs()[0].filling is not None
    with pytest.raises(ValueError, match="read-only"):
        past[0][...] = 0


def test_a_past_may_have_several_futures():
    """Beams: the same past again, an older one, a copy, and a part of one."""
    loop = Loop()
    past = loop.step(loop.first())
    older = past = loop.step(loop.step(past))
    for _ in range(2):
        loop.step(past)
        past = loop.step(past)
    loop.step(older)
    loop.step([one.copy() for one in past])
    loop.step([one[:, :, :2] for one in past])
    loop.step([one[:, :, 1:] for one in past])
    loop.step(past[::-1])
    loop.step([past[0], past[0]])
    loop.step([past[0], older[1].repeat(2, 2)[:, :, : past[0].shape[2]]])


def test_a_past_reaches_its_bucket_and_goes_on():
    loop = Loop(size=6)
    past = loop.step(loop.first())
    for _ in range(6):
        past = loop.step(past)
    with pytest.raises(GlowError, match="past = 7 is beyond the largest bucket"):
        loop.step(past)
    past = loop.step([one[:, :, -3:] for one in past])
    loop.step(past)


def test_threads_may_have_one_past():
    loop = Loop()
    past = loop.step(loop.step(loop.step(loop.first())))
    x = np.random.default_rng(5).standard_normal((8, 1, 1, WIDTH)).astype(np.float32)
    mask = np.ones((1, past[0].shape[2] + 1), np.int64)

    def call(number):
        inputs = {"x": x[number], "mask": mask, "keys": past[0], "values": past[1]}
        return inputs, loop.model.run(inputs)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(call, range(8)))
    for inputs, results in found:
        for name, wanted in loop.free.run(inputs).items():
            np.testing.assert_allclose(results[name], wanted, rtol=0, atol=2e-6)


def test_a_past_of_another_type_is_refused():
    loop = Loop()
    past = [one.astype(np.float64) for one in loop.step(loop.first())]
    x, mask = np.zeros((1, 1, WIDTH), np.float32), np.ones((1, 2), np.int64)
    with pytest.raises(GlowError, match="input 'keys' must have dtype float32"):
        loop.model.run({"x": x, "mask": mask, "keys": past[0], "values": past[1]})


@needs_device
def test_other_devices_write_their_outputs_themselves():
    source = grouped_model().SerializeToString()
    options = {"input_shapes": {"batch": 1, "new": 1}, "buckets": {"past": [6]}}
    model = compiler.compile(source, backend="opencl", **options)
    free = compiler.compile(source, backend="interpreter")
    random = np.random.default_rng(7)
    keys = values = np.zeros((1, GROUPS, 0, SIZE), np.float32)
    for length in range(6):
        x = random.standard_normal((1, 1, WIDTH)).astype(np.float32)
        mask = np.ones((1, length + 1), np.int64)
        found, wanted = (one(x, mask, keys, values) for one in (model, free))
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-5)
        _, keys, values = found


def test_sizes_that_no_trial_finds_are_asked_for():
    source = grouped_model().SerializeToString()
    with pytest.raises(GlowError) as caught:
        compiler.compile(source, buckets={"past": [6, 20]})
    line = caught.value.one_line()
    assert "give batch, new, total with input_shapes or --shape" in line


def test_memory_of_padded_inputs_is_taken_again():
    pool = ArrayPool(1)
    ones, margins = np.ones((2, 3), np.float32), [(1, Margins(2))]
    wanted = np.pad(ones, ((0, 0), (2, 0)))
    first = padded(ones, margins, pool.take)
    np.testing.assert_array_equal(first, wanted)
    memory = first.ctypes.data
    first[...] = 7
    del first
    again = padded(ones, margins, pool.take)
    assert again.ctypes.data == memory
    np.testing.assert_array_equal(again, wanted)
    assert padded(ones, [(1, Margins())], pool.take) is ones
    np.testing.assert_array_equal(cut(padded(ones, margins), margins), ones)


def test_an_array_is_written_with_zeros_around_it():
    target = np.full((4, 5), 7, np.float32)
    margins = [(0, Margins(1, 1)), (1, Margins(0, 2))]
    write_padded(target, np.ones((2, 3), np.float32), margins)
    np.testing.assert_array_equal(target, np.pad(np.ones((2, 3)), ((1, 1), (0, 2))))
    both = [(1, Margins(1)), (1, Margins(0, 2))]
    assert cut(target, both).shape == (4, 2)
