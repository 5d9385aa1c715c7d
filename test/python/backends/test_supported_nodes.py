"""Which nodes backends run, and where those go that one does not."""

import pytest
from places import ROOT
from xdsl.ir import Operation

from glow.backends import backend as backends
from glow.backends.backend import get_backend
from glow.backends.cpu import CpuBackend
from glow.backends.pipeline import LOWERED
from glow.compiler import load, lower_to
from glow.dialects import glow
from glow.dialects.errors import GlowError
from glow.dialects.node import NodeOp
from glow.frontends.mlir import parse_text
from glow.host.partition_plan import plan_model
from glow.options import CompileOptions
from glow.universe import new_context

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"


class PickyBackend(CpuBackend):
    """Has no pools."""

    name = "picky"

    def refuses(self, op: Operation) -> str | None:
        if isinstance(op, glow.AvgPool2dOp):
            return "pools are missing"
        return super().refuses(op)


@pytest.fixture(autouse=True)
def picky(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(backends._loaded, "picky", PickyBackend())


def devices_of(devices: str) -> list[str]:
    plan = plan_model(DIGITS, devices, "heterogeneous", CompileOptions())
    return [part.device for part in plan.parts]


def test_a_node_goes_where_it_runs() -> None:
    assert devices_of("picky,cpu") == ["picky:0", "cpu:0", "picky:0"]
    assert devices_of("cpu,picky") == ["cpu:0"]


def test_a_node_that_runs_nowhere_is_named() -> None:
    with pytest.raises(GlowError) as caught:
        devices_of("picky")
    assert "does not run glow.avg_pool2d: pools are missing" in str(caught.value)
    assert caught.value.node == "layer.7.classifier.pool/GlobalAveragePool"


def test_our_backends_run_what_is_lowered_for_them() -> None:
    module = load(DIGITS)
    nodes = [op for op in module.walk() if isinstance(op, NodeOp)]
    for name in ("cpu", "interpreter"):
        assert not [op for op in nodes if get_backend(name).refuses(op)]
    lowered = lower_to(module, LOWERED)
    of_the_cpu = [op for op in lowered.walk() if op.name.startswith("cpu.")]
    assert of_the_cpu
    for op in of_the_cpu:
        assert get_backend("cpu").refuses(op) is None
        assert "none of the nodes" in get_backend("interpreter").refuses(op)


def test_a_node_without_a_kernel_is_not_supported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = glow.neg %x : tensor<4xf32>
      func.return %y : tensor<4xf32>
    }
    """
    module = parse_text(new_context(), text.encode(), "neg")
    (op,) = (op for op in module.walk() if isinstance(op, glow.NegOp))
    cpu = get_backend("cpu")
    assert cpu.refuses(op) is None
    monkeypatch.setattr(CpuBackend, "is_legal", lambda self, op: False)
    assert cpu.refuses(op) == "there is no kernel for it"
