"""Einsum against NumPy's, and the lines for equations that make no sense."""

import numpy as np
import pytest
from support.onnx_models.onnx_testing import error_of, names_of, random
from test_onnx_indexing import model_of

import glow
from glow.frontends.onnx import import_model
from glow.interpreter import run

EQUATIONS = (
    ("ij->ji", (3, 4)), ("ij->", (3, 4)), ("ij", (3, 4)), ("ba", (3, 4)),
    ("ii->i", (4, 4)), ("ii", (4, 4)), ("iij->j", (3, 3, 4)), ("iii->i", (3, 3, 3)),
    ("iijj->ij", (3, 3, 2, 2)), ("...ii->...i", (2, 3, 4, 4)), ("i...->...", (2, 3, 4)),
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)),
    ("ij,kj->ki", (3, 4), (5, 4)), ("i,i->", (5,), (5,)), ("i,j->ij", (3,), (4,)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (6, 4, 5)), ("...,...->...", (3, 1), (1, 4)),
    ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)), ("a,ab,abc->abc", (2,), (2, 3), (2, 3, 4)),
    ("abcd,cd,d->ab", (2, 3, 4, 5), (4, 5), (5,)), (" i j , j k -> i k ", (3, 4), (4, 5)),
    ("Aa,aB->AB", (2, 3), (3, 4)), (",ij->ij", (), (3, 4)), ("->", ()),
    ("ij,jk->ik", (3, 0), (0, 5)), ("ij,jk->ik", (0, 4), (4, 5)),
    ("ij,jk->ik", (3, 1), (4, 5)), ("i,i->i", (1,), (4,)), ("ij,ij->ij", (3, 4), (3, 4)),
)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_equations(dtype):
    """Narrow integers wrap."""
    for number, (equation, *shapes) in enumerate(EQUATIONS):
        arrays = [(random(*shape) * 5).astype(dtype) for shape in shapes]
        model = model_of("Einsum", *arrays, equation=equation)
        expected = np.einsum(equation.replace(" ", ""), *arrays)
        results = [run(import_model(model), arrays)[0]]
        if number % 4 == 0:
            results.append(glow.compile(model)(*arrays))
        for result in results:
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_a_product_of_matrices_is_one_node():
    arrays = random(2, 3, 4), random(2, 4, 5)
    model = model_of("Einsum", *arrays, equation="bij,bjk->bik")
    assert names_of(import_model(model)) == ["matmul"]


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(3, 4)], "2 terms for 1 operands"),
        ("ij->ii", [(3, 4)], "the result's 'i' is in no term, or there twice"),
        ("ij->k", [(3, 4)], "the result's 'k' is in no term"),
        ("i.j->i", [(3, 4)], "'i.j' is no list of letters"),
        ("ij->i->j", [(3, 4)], "it has several arrows"),
        ("i->i", [(3, 4)], "the term 'i' is not one of rank 2"),
        ("...ij->", [(3,)], "the term '...ij' is not one of rank 1"),
        ("ij,jk->ik", [(3, 4), (5, 6)], "'j' is 4 and 5"),
        ("ii->i", [(3, 4)], "'i' is 3 and 4"),
    ],
)
def test_wrong_equations_are_quoted(equation, shapes, message):
    arrays = [random(*shape) for shape in shapes]
    line = error_of(model_of("Einsum", *arrays, equation=equation))
    assert f"equation '{equation}': " in line
    assert message in line
