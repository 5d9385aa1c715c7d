"""`glow.TrainStep`: what it computes, its state, its files, and what it refuses."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from support.training.trained_networks import cnn, mlp, samples

import glow
from glow.dialects.errors import GlowError

BATCH = 8


def make_step(model=None, **options):
    options = {
        "optimizer": glow.Adam(1e-2),
        "batch_size": BATCH,
        "threads": 1,
    } | options
    return glow.TrainStep(model or mlp(), **options)


@pytest.fixture(scope="module")
def trained():
    """A step of which ten are done, their losses, and what the data were."""
    step = make_step(cnn())
    x, labels = samples(BATCH, (1, 4, 4))
    return step, [step(x, labels) for _ in range(10)], (x, labels)


def expected_sgd(model, x, labels, rate):
    """The loss of a batch and the parameters after a step of gradient descent, in float64."""
    w0, b0, w1, b1 = (
        onnx.numpy_helper.to_array(t).astype(np.float64)
        for t in model.graph.initializer
    )
    inner = x @ w0.T + b0
    hidden = np.maximum(inner, 0)
    logits = hidden @ w1.T + b1
    shares = np.exp(logits - logits.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    rows = np.arange(len(x))
    loss = -np.log(shares[rows, labels]).mean()
    shares[rows, labels] -= 1
    shares /= len(x)
    back = (shares @ w1) * (inner > 0)
    gradients = [back.T @ x, back.sum(0), shares.T @ hidden, shares.sum(0)]
    values = zip((w0, b0, w1, b1), gradients, strict=True)
    return loss, [value - rate * gradient for value, gradient in values]


def test_a_step_is_what_its_formulas_say():
    model, (x, labels) = mlp(), samples(BATCH)
    step = make_step(model, optimizer=glow.SGD(0.5))
    loss, parameters = expected_sgd(model, x, labels, 0.25)
    assert step(x, labels, rate=0.25) == pytest.approx(loss, rel=1e-6)
    names = [tensor.name for tensor in model.graph.initializer]
    for name, value in zip(names, parameters, strict=True):
        np.testing.assert_allclose(step.state()[name], value, rtol=1e-5, atol=1e-6)
    assert step.steps == 1


def test_state_has_parameters_statistics_moments_and_the_number(trained):
    step, losses, _ = trained
    assert losses[-1] < losses[0]
    state = step.state()
    assert step.steps == 10 == state["step"]
    assert not np.allclose(state["bn.running_mean"], 0)
    assert {"conv.weight", "fc.bias.exp_avg", "conv.weight.exp_avg_sq"} <= set(state)
    assert "bn.running_mean.exp_avg" not in state
    with pytest.raises(TypeError):
        state["conv.weight"] = 0


def test_views_are_live(trained):
    step, _, (x, labels) = trained
    view = step.state()["fc.bias"]
    before = view.copy()
    step(x, labels)
    assert not np.array_equal(view, before)
    view[:] = 0
    assert not step.state()["fc.bias"].any()


def test_a_resumed_training_has_the_same_bits(trained, tmp_path):
    step, _, (x, labels) = trained
    path = tmp_path / "run.safetensors"
    step.save(path)
    expected = [step(x, labels) for _ in range(5)]
    other = make_step(cnn(), threads=2)
    other.load(path)
    assert [other(x, labels) for _ in range(5)] == expected
    for name, value in step.state().items():
        assert np.array_equal(value, other.state()[name]), name


def test_bits_do_not_depend_on_threads():
    """`test/fuzz/training_threads.py` does a hundred steps of larger networks."""
    x, labels = samples(64, (256,))
    model = mlp(inputs=256, hidden=256)
    steps = [make_step(model, threads=count, batch_size=64) for count in (1, 2)]
    losses = [[step(x, labels) for _ in range(5)] for step in steps]
    assert losses[0] == losses[1]
    for name, value in steps[0].state().items():
        assert np.array_equal(value, steps[1].state()[name]), name


def test_a_batch_of_another_size_shares_the_state():
    x, labels = samples(12)
    step = make_step()
    step(x[:BATCH], labels[:BATCH])
    before = step.state()["fc0.weight"].copy()
    step(x[BATCH:], labels[BATCH:])
    assert step.steps == 2
    assert not np.array_equal(step.state()["fc0.weight"], before)


def test_inference_and_export_have_the_trained_weights(trained, tmp_path):
    step, _, (x, labels) = trained
    path = tmp_path / "trained.onnx"
    model = step.inference()
    step(x, labels)
    step.export(path)
    exported = onnx.load(path)
    given = cnn().graph
    assert exported.graph.node == given.node
    names = [tensor.name for tensor in exported.graph.initializer]
    assert names == [tensor.name for tensor in given.initializer]
    expected = np.concatenate([glow.compile(path)(row[None]) for row in x])
    np.testing.assert_allclose(model(x), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(step.evaluate(x), model(x))


def test_text_is_trained_and_exported(tmp_path):
    text = tmp_path / "net.mlir"
    text.write_text(
        """
func.func @main(%x: tensor<8x4xf32>) -> tensor<8x3xf32> {
  %w = glow.constant dense<0.5> : tensor<4x3xf32>
  %y = glow.matmul %x, %w : tensor<8x3xf32>
  func.return %y : tensor<8x3xf32>
}
"""
    )
    step = make_step(text, optimizer=glow.SGD(0.5))
    x, labels = samples(BATCH)
    assert step(x, labels) > step(x, labels)
    step.export(tmp_path / "net.onnx")
    result = glow.compile(tmp_path / "net.onnx")(x)
    np.testing.assert_allclose(result, x @ step.state()["w"], rtol=1e-5, atol=1e-6)


def test_frozen_parameters_stay():
    step = make_step(freeze=["fc0.*"], initialize="xavier", seed=3)
    before = {name: value.copy() for name, value in step.state().items()}
    step(*samples(BATCH))
    changed = [n for n, v in step.state().items() if not np.array_equal(v, before[n])]
    assert "fc1.weight" in changed
    assert not {"fc0.weight", "fc0.bias"} & set(changed)
    assert not before["fc1.bias"].any()
    kept = onnx.numpy_helper.to_array(mlp().graph.initializer[0])
    assert not np.allclose(before["fc0.weight"], kept)


def test_gradients_are_accumulated_and_clipped():
    """Two halves of a batch are one step of the whole batch."""
    x, labels = samples(BATCH)
    whole = make_step(optimizer=glow.SGD(0.5), clip_norm=0.1)
    halves = make_step(
        optimizer=glow.SGD(0.5), clip_norm=0.1, accumulate=2, batch_size=BATCH // 2
    )
    before = {name: value.copy() for name, value in halves.state().items()}
    whole(x, labels)
    halves(x[:4], labels[:4])
    assert (halves.steps, halves.batches) == (0, 1)
    halves(x[4:], labels[4:])
    assert (halves.steps, halves.batches) == (1, 2)
    distance = 0
    for name, value in whole.state().items():
        found = halves.state()[name]
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-6, err_msg=name)
        if name != "step":
            distance += ((found - before[name]) ** 2).sum()
    assert np.sqrt(distance) == pytest.approx(0.5 * 0.1, rel=1e-3)


TWO_HEADS = """
func.func @main(%x: tensor<8x4xf32>) -> (tensor<8x3xf32>, tensor<8x2xf32>)
    attributes {glow.output_names = ["first", "second"]} {
  %w = glow.variable @w initial dense<0.5> : tensor<4x3xf32>
  %v = glow.variable @v initial dense<0.5> : tensor<4x2xf32>
  %y = glow.matmul %x, %w : tensor<8x3xf32>
  %z = glow.matmul %x, %v : tensor<8x2xf32>
  func.return %y, %z : tensor<8x3xf32>, tensor<8x2xf32>
}
"""


def test_of_several_outputs_one_is_chosen(tmp_path):
    text = tmp_path / "heads.mlir"
    text.write_text(TWO_HEADS)
    with pytest.raises(GlowError, match="has 2 outputs: first, second; name the one"):
        make_step(text)
    step = make_step(text, output="first", optimizer=glow.SGD(0.1))
    x, labels = samples(BATCH)
    step(x, labels)
    assert (step.state()["v"] == 0.5).all()
    assert not (step.state()["w"] == 0.5).all()
    assert [each.shape for each in step.evaluate(x)] == [(8, 3), (8, 2)]


def test_a_loss_that_reaches_no_variable_names_it(tmp_path):
    text = tmp_path / "step.mlir"
    text.write_text(
        TWO_HEADS.replace(
            "%y = glow.matmul %x, %w : tensor<8x3xf32>",
            """%i = glow.convert %w : tensor<4x3xi32>
  %s = glow.convert %i : tensor<4x3xf32>
  %y = glow.matmul %x, %s : tensor<8x3xf32>""",
        )
    )
    with pytest.raises(GlowError, match="the loss does not depend on '@w'"):
        make_step(text, output="first")
    with pytest.raises(GlowError, match=r"the loss must be one number, not tensor<8x2"):
        make_step(text, output="second", loss=None)


def test_rates_may_be_functions_of_the_number():
    numbers = []

    def rate(number):
        numbers.append(number)
        return 0.0

    step = make_step(optimizer=glow.SGD(rate))
    before = step.state()["fc0.weight"].copy()
    step(*samples(BATCH))
    step(*samples(BATCH))
    assert numbers == [1, 2]
    assert np.array_equal(step.state()["fc0.weight"], before)


def test_the_first_node_that_is_not_finite_is_named():
    x, labels = samples(BATCH)
    step = make_step(check_finite=True, optimizer=glow.SGD(0.1))
    step(x, labels)
    step.state()["fc1.weight"][:] = 1e38
    before = {name: value.copy() for name, value in step.state().items()}
    with pytest.raises(
        GlowError, match=r"^step 2: the loss is nan, and input 'x' hold"
    ):
        step(np.full_like(x, np.nan), labels)
    assert step.steps == 1
    with pytest.raises(GlowError, match=r"step 2: .*glow\.gemm\) is the first"):
        step(10 * x, labels)
    for name, value in step.state().items():
        assert np.array_equal(value, before[name]), name


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            [0, 1, 2, 3, 0, 1, 2, 0],
            "label 3 is out of range: the network has 3 classes",
        ),
        ([0, -1, 2, 0, 0, 1, 2, 0], "label -1 is out of range"),
        ([0, 1], r"'labels' must have shape \[8\], not \[2\]"),
        ([0.5] * 8, "'labels' must have dtype int64, not float64"),
    ],
)
def test_wrong_labels(trained_mlp, labels, message):
    with pytest.raises(GlowError, match=message):
        trained_mlp(samples(BATCH)[0], np.array(labels))


@pytest.fixture(scope="module")
def trained_mlp():
    return make_step()


def test_ignored_labels_are_no_error(trained_mlp):
    x, labels = samples(BATCH)
    labels[3] = -100
    assert np.isfinite(trained_mlp(x, labels.astype(np.int32)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "foo"}, "unknown loss 'foo'; one of cross_entropy"),
        ({"output": "foo"}, "no output 'foo'; there are logits"),
        ({"optimizer": "adam"}, "'adam' is no optimizer; give one such as glow.Adam"),
        ({"freeze": ["foo*"]}, r"no parameter is called 'foo\*'"),
        ({"freeze": ["fc*"]}, "the network has no parameters to train"),
        ({"initialize": "foo"}, "unknown initialization 'foo'"),
        ({"batch_size": 0}, "batch_size must be a whole number"),
        ({"foo": 1}, "a training has no option 'foo'"),
        ({"quantize": True}, "a training step is not quantized"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(GlowError, match=message):
        make_step(**options)


def test_wrong_models(tmp_path):
    path = tmp_path / "x.onnx"
    path.write_bytes(b"no model")
    for model, message in [
        (path, "is not an ONNX model"),
        (tmp_path / "missing.onnx", "No such file"),
        (mlp(4), "not a batch of 8"),
    ]:
        with pytest.raises(GlowError, match=message):
            make_step(model)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("foo", {}, "unknown loss 'foo'"),
        ("mse", {"delta": 1.0}, "'mse' has no option 'delta'; it has reduction"),
        ("l1", {"reduction": "none"}, "the loss must be one number"),
    ],
)
def test_wrong_losses(name, options, message):
    with pytest.raises(GlowError, match=message):
        glow.Loss(name, **options)


def test_wrong_optimizers():
    for make in (lambda: glow.Adam(-1), lambda: glow.SGD(0.1, momentum=float("nan"))):
        with pytest.raises(GlowError, match="must be a number, 0 or more"):
            make()
