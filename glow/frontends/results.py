"""The names of a program's outputs, as the tool that wrote it tells them."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp

from glow.dialects.function_attributes import OUTPUT_NAMES


def name_results(function: FuncOp) -> None:
    """Take the names of the outputs from what JAX tells of them."""
    attributes = function.res_attrs
    function.res_attrs = None
    function.arg_attrs = None
    if attributes is None or OUTPUT_NAMES in function.attributes:
        return
    names = [_result_name(one, number) for number, one in enumerate(attributes)]
    if len(set(names)) == len(names):
        function.attributes[OUTPUT_NAMES] = ArrayAttr(map(StringAttr, names))


def _result_name(attributes: DictionaryAttr, number: int) -> str:
    """`result['logits']` is `logits`; what has no name is numbered."""
    info = attributes.data.get("jax.result_info")
    text = info.data if isinstance(info, StringAttr) else ""
    name = text.removeprefix("result").strip(".[]'\"")
    return f"output{number}" if not name or name.isdigit() else name
