"""Verifies modules: one line that says which operation is wrong and where it came from."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from glow.dialects.errors import GlowError, one_line
from glow.dialects.locations import node_name, place_of
from glow.dominance import undominated_use


def verify_module(module: ModuleOp, when: str = "") -> None:
    """Verify; on failure raise one line with the operation and where it came from.

    xDSL's own message carries a dump of the whole module. `when` says after what the
    check ran.
    """
    # What has the nodes, for which `--help` need not wait.
    from glow.dialects.glow.state import wrong_state

    if wrong := undominated_use(module):
        raise _at(wrong[0], _undominated(*wrong), when)
    if wrong_variable := wrong_state(module):
        raise _at(*wrong_variable, when)
    try:
        module.verify()
    except Exception as error:
        if not _is_complaint(error):
            raise
        raise _locate(module, error, when) from error


def _is_complaint(error: Exception) -> bool:
    """Whether a verifier raised it; some of xDSL's raise the base of all exceptions."""
    return isinstance(error, VerifyException) or type(error) is Exception


def _undominated(operation: Operation, number: int) -> str:
    hint = operation.operands[number].name_hint
    name = f" (%{hint})" if hint else ""
    return f"operand {number}{name} is used where it is not defined"


def invalid_operations(module: ModuleOp) -> Iterator[tuple[Operation, str]]:
    """The operations that are wrong by themselves, and why, as `verify_module` finds them."""
    from glow.dialects.glow.state import wrong_state

    if wrong := undominated_use(module):
        yield wrong[0], _undominated(*wrong)
    if wrong_variable := wrong_state(module):
        yield wrong_variable
    for operation in module.walk():
        try:
            operation.verify(verify_nested_ops=False)
        except Exception as error:
            if not _is_complaint(error):
                raise
            yield operation, one_line(str(error))


def _locate(module: ModuleOp, error: Exception, when: str) -> GlowError:
    culprit = next(invalid_operations(module), None)
    if culprit is None:
        return GlowError(f"{one_line(str(error))}{_suffix(when)}")
    return _at(*culprit, when)


def _at(operation: Operation, message: str, when: str) -> GlowError:
    return GlowError(
        f"'{operation.name}': {message}{_suffix(when)}",
        node=node_name(operation),
        location=place_of(operation),
    )


def _suffix(when: str) -> str:
    return f" ({when})" if when else ""
