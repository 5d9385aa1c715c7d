"""Selections of boxes of which only the first are read have that limit."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import parser

import glow
from glow.dialects.glow import SelectBoxesOp
from glow.frontends.onnx.loader import load_model
from glow.frontends.onnx.programs.steps import import_step
from glow.frontends.onnx.rows_read import rows_read

SELECTED = """
    most = Constant<value_int = 50>()
    overlap = Constant<value_float = 0.3>()
    selected = NonMaxSuppression(boxes, scores, most, overlap)
"""

PLACES = """
    column = Constant<value_int = 2>()
    places1 = Gather<axis = 1>(selected, column)
    places = Identity(places1)
"""

COLUMN = """
    two = Constant<value_ints = [2]>()
    three = Constant<value_ints = [3]>()
    one = Constant<value_ints = [1]>()
    places1 = Slice(selected, two, three, one)
    places = Squeeze(places1, one)
"""


def first(ends, starts=(0,), axes=(0,), more=""):
    """The slice of the places."""
    return f"""
        starts = Constant<value_ints = {list(starts)}>()
        ends = Constant<value_ints = {list(ends)}>()
        axes = Constant<value_ints = {list(axes)}>()
        {more}
        y = Slice(places, starts, ends, axes{", steps" if more else ""})
    """


def model_of(body, classes=1, outputs="int64[N] y"):
    head = '<ir_version: 9, opset_import: ["" : 18]>'
    inputs = f"float[1, 60, 4] boxes, float[1, {classes}, 60] scores"
    return parser.parse_model(f"{head} test ({inputs}) => ({outputs}) {{ {body} }}")


def limits(model):
    return rows_read(load_model(model).proto.graph)


def check(model, classes=1):
    """Compare with ONNX Runtime."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    compiled = glow.compile(model, threads=1)
    random = np.random.default_rng(0)
    for _ in range(3):
        boxes = random.random((1, 60, 4)).astype(np.float32)
        scores = random.random((1, classes, 60)).astype(np.float32)
        found = compiled(boxes, scores)
        expected = session.run(None, {"boxes": boxes, "scores": scores})
        for one, other in zip(np.atleast_1d([found]), expected, strict=False):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("places", [PLACES, COLUMN])
def test_the_first_places(places: str) -> None:
    model = model_of(SELECTED + places + first([7]))
    assert limits(model) == {"selected": 7}
    check(model)


def test_the_limit_is_that_of_the_selection() -> None:
    model = model_of(SELECTED + PLACES + first([7]))
    module = import_step(model, (), input_shapes={}, input_values={}).module
    assert module is not None
    (found,) = (op for op in module.walk() if isinstance(op, SelectBoxesOp))
    assert found.limit.value.data == 7


def test_boxes_of_several_classes_come_class_by_class() -> None:
    check(model_of(SELECTED + PLACES + first([40]), classes=3), classes=3)


def test_the_smaller_of_two_limits() -> None:
    both = """
        ends0 = Constant<value_ints = [9]>()
        zero = Constant<value_ints = [0]>()
        places2 = Slice(places, zero, ends0, zero)
    """
    body = first([20]).replace("(places,", "(places2,")
    assert limits(model_of(SELECTED + PLACES + both + body)) == {"selected": 9}


def test_a_selection_in_a_branch() -> None:
    branch = f"""
        count = Size(boxes)
        none = Constant<value_int = 0>()
        empty = Equal(count, none)
        places = If(empty)<
            then_branch = t () => (int64[K] kept0) {{
                kept0 = Constant<value = int64[0] {{}}>()
            }},
            else_branch = e () => (int64[L] kept) {{
                {SELECTED}
                {PLACES.replace("places = Ident", "kept = Ident")}
            }}
        >
    """
    model = model_of(branch + first([5]))
    assert limits(model) == {"selected": 5}
    check(model)


@pytest.mark.parametrize(
    "body",
    [
        first([9], starts=[1]),
        first([-1]),
        first([9], axes=[-1]),
        first([9], more="steps = Constant<value_ints = [2]>()"),
        first([9]).replace("(places,", "(places2,") + "places2 = Neg(places)",
        first([9]) + "z = Neg(places)",
    ],
)
def test_what_has_no_limit(body: str) -> None:
    order = body.split("places2 = ")
    body = "places2 = " + order[1] + order[0] if len(order) > 1 else body
    assert not limits(model_of(SELECTED + PLACES + body))


def test_an_output_of_the_model_is_read_whole() -> None:
    body = SELECTED + PLACES + first([9])
    model = model_of(body, outputs="int64[N] y, int64[M, 3] selected")
    assert not limits(model)


def test_rows_that_a_gather_moves() -> None:
    places = "row = Constant<value_ints = [2, 0, 1]>() places = Gather(selected, row)"
    model = model_of(SELECTED + places + first([2]), outputs="int64[N, 3] y")
    assert not limits(model)


def test_names_of_functions_are_their_own() -> None:
    """The same names in a function, whose selection is read whole."""
    model = parser.parse_model(f"""
        <ir_version: 9, opset_import: ["" : 18, "here" : 1]>
        test (float[1, 60, 4] boxes, float[1, 1, 60] scores) => (int64[N] y, int64[M] z)
        {{
            {SELECTED} {PLACES} {first([7])}
            z = here.whole(boxes, scores)
        }}
        <domain: "here", opset_import: ["" : 18]>
        whole (boxes, scores) => (places)
        {{ {SELECTED} {PLACES} }}
    """)
    assert limits(model) == {"selected": 7}
    y, z = glow.compile(model, threads=1)(
        np.arange(240, dtype=np.float32).reshape(1, 60, 4) ** 2,
        np.arange(60, dtype=np.float32).reshape(1, 1, 60),
    )
    assert len(y) == 7
    assert len(z) == 50
