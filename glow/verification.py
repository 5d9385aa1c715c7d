"""Verifies modules: one line that says which operation is wrong and where it came from."""

from __future__ import annotations

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


def _locate(module: ModuleOp, error: Exception, when: str) -> GlowError:
    culprit = _first_invalid(module)
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


def _first_invalid(module: ModuleOp) -> tuple[Operation, str] | None:
    """The innermost operation that does not verify by itself, and why."""
    for operation in module.walk(reverse=False):
        try:
            operation.verify(verify_nested_ops=False)
        except Exception as error:
            if not _is_complaint(error):
                raise
            return operation, one_line(str(error))
    return None
