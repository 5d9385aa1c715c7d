"""Optimizers as users name them; what they compute is `glow.dialects.glow.training.optimizers`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, cast

from glow.dialects import glow
from glow.dialects.attributes import AttributeValue
from glow.dialects.errors import GlowError
from glow.dialects.glow.training.optimizers import OptimizerOp
from glow.passes.graph.optimizers import Updates

Rate = float | Callable[[int], float]
"""A rate, or a function of the step's number, which begins with 1."""


@dataclass(frozen=True)
class Optimizer:
    """How parameters change by their gradients."""

    NODE: ClassVar[type[OptimizerOp]]
    rate: Rate = 1e-3

    def __post_init__(self) -> None:
        """Raise GlowError for numbers that make no sense."""
        for field in fields(self):
            value: object = getattr(self, field.name)
            if callable(value) and field.name == "rate":
                continue
            is_tuple = isinstance(value, tuple)
            for number in cast("tuple[object, ...]", value) if is_tuple else (value,):
                if not isinstance(number, int | float) or not number >= 0:
                    raise GlowError(
                        f"{self.name}: {field.name} must be a number, 0 or more, "
                        f"not {number!r}"
                    )

    @property
    def name(self) -> str:
        """The optimizer's name, as the command line has it."""
        return type(self).__name__.lower()

    def attributes(self) -> Mapping[str, AttributeValue]:
        """The attributes of the node; flags that are off are left out."""
        found: dict[str, AttributeValue] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "rate" or value is False:
                continue
            if field.name == "betas":
                found["beta1"], found["beta2"] = value
            else:
                found[field.name] = value if value is True else float(value)
        return found

    def updates(
        self,
        clip_value: float | None = None,
        clip_norm: float | None = None,
        accumulate: int = 1,
    ) -> Updates:
        """The node, and what happens to gradients before it; raises GlowError."""
        return Updates(self.NODE, self.attributes(), clip_value, clip_norm, accumulate)


def as_optimizer(optimizer: object) -> Optimizer:
    """The optimizer; raises GlowError for anything else, as its name."""
    if not isinstance(optimizer, Optimizer):
        raise GlowError(
            f"{optimizer!r} is no optimizer", hint="give one such as glow.Adam(1e-3)"
        )
    return optimizer


@dataclass(frozen=True)
class SGD(Optimizer):
    """Gradient descent (torch.optim.SGD)."""

    NODE = glow.SgdOp
    rate: Rate = 1e-2
    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    l1: float = 0.0
    """Times the sign of a parameter, added to its gradient."""
    nesterov: bool = False
    decoupled: bool = False
    """Whether decay shrinks the parameter itself (Loshchilov and Hutter 2019)."""


@dataclass(frozen=True)
class Adam(Optimizer):
    """Adaptive moments (torch.optim.Adam)."""

    NODE = glow.AdamOp
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    amsgrad: bool = False


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam whose decay shrinks the parameter itself (torch.optim.AdamW)."""

    weight_decay: float = 1e-2
    decoupled: bool = True


@dataclass(frozen=True)
class RMSProp(Optimizer):
    """Gradients over the root of their mean square (torch.optim.RMSprop)."""

    NODE = glow.RmspropOp
    rate: Rate = 1e-2
    alpha: float = 0.99
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    momentum: float = 0.0
    centered: bool = False


@dataclass(frozen=True)
class Adagrad(Optimizer):
    """Gradients over the root of the sum of their squares (torch.optim.Adagrad)."""

    NODE = glow.AdagradOp
    rate: Rate = 1e-2
    rate_decay: float = 0.0
    epsilon: float = 1e-10
    weight_decay: float = 0.0


@dataclass(frozen=True)
class LAMB(Optimizer):
    """Adam whose step of each parameter has the parameter's length (You et al. 2020)."""

    NODE = glow.LambOp
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-6
    weight_decay: float = 0.0


OPTIMIZERS: Mapping[str, type[Optimizer]] = {
    kind.__name__.lower(): kind for kind in (SGD, Adam, AdamW, RMSProp, Adagrad, LAMB)
}
"""By the names of the command line."""
