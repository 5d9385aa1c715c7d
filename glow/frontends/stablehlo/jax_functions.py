"""Traces functions of JAX, which is loaded by nobody else."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import ParseError

from glow.dialects.errors import GlowError, one_line
from glow.dialects.function_attributes import INPUT_NAMES
from glow.frontends.mlir import parse_text
from glow.verification import verify_module


def jax_module(
    context: Context, function: Callable[..., Any], *examples: Any
) -> ModuleOp:
    """The StableHLO that JAX makes of a function; see `glow.from_jax`."""
    try:
        jax: Any = import_module("jax")
    except ImportError as error:
        raise GlowError("JAX is not installed", hint="pip install jax") from error
    lowered = jax.jit(function, keep_unused=True).lower(*examples)
    try:
        module = parse_text(context, str(lowered.as_text()), "jax")
    except ParseError as error:
        place = str(error.span.get_location())
        raise GlowError(one_line(error.msg), location=place) from error
    verify_module(module)
    paths = jax.tree_util.tree_flatten_with_path(examples)[0]
    names = [_name(path) for path, _ in paths]
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    if len(names) == len(main.function_type.inputs):
        main.attributes[INPUT_NAMES] = ArrayAttr(map(StringAttr, names))
    return module


def _name(path: tuple[Any, ...]) -> str:
    """`x0.weights` of the key `weights` of the first argument."""
    first, *rest = path
    parts = [str(getattr(key, "key", getattr(key, "idx", key))) for key in rest]
    return ".".join([f"x{first.idx}", *parts])
