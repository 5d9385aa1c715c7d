"""`--verify-roundtrip`: the input, printed and read again, must be the same program."""

from __future__ import annotations

from difflib import unified_diff
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError

from glow.dialects.errors import GlowError, one_line
from glow.dialects.printer import TextPrinter
from glow.frontends.mlir import parse_text


def check_roundtrip(context: Context, module: ModuleOp) -> None:
    """Raise GlowError where the custom or the generic form reads back differently."""
    for form, generic in (("custom", False), ("generic", True)):
        printed = text_of(module, generic=generic)
        try:
            again = parse_text(context, printed, "<printed>")
        except (ParseError, GlowError) as error:
            message = error.msg if isinstance(error, ParseError) else error.message
            raise GlowError(
                f"the {form} form of the program cannot be read: {one_line(message)}"
            ) from error
        if (reread := text_of(again, generic=generic)) != printed:
            raise GlowError(
                f"the {form} form of the program reads back as another one: "
                f"{first_difference(printed, reread)}"
            )


def text_of(module: ModuleOp, *, generic: bool) -> str:
    """A program with its locations, in one of the two forms."""
    stream = StringIO()
    TextPrinter(
        stream=stream, print_generic_format=generic, print_debuginfo=True
    ).print_op(module)
    return stream.getvalue()


def first_difference(before: str, after: str) -> str:
    """The first line that differs, as it was and as it is."""
    lines = unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    changed = [line for line in lines if line[:1] in "-+" and line[:3] not in _HEADS]
    was = next((line[1:].strip() for line in changed if line[0] == "-"), "nothing")
    now = next((line[1:].strip() for line in changed if line[0] == "+"), "nothing")
    return f"`{was}` became `{now}`"


_HEADS = ("---", "+++")
