"""Turns any failure into one line: `file:line:col: error: message`, and an exit code.

The tools run their work inside `run_reporting`; nothing else in the package prints
errors. The code is 1, and 2 for a command line that makes no sense. A traceback appears
with `--debug` only. xDSL is imported to describe an error,
not before: a network that is compiled already runs without it.
"""

from __future__ import annotations

import difflib
import errno
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from glow.dialects.errors import GlowError, UsageError, one_line

EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writing, of which none can come from reading."""
_NO_OUTPUT = "cannot write to standard output"


@dataclass(frozen=True)
class Diagnosis:
    """What a failure says to the user: a one-line message and where it belongs."""

    message: str
    location: str | None = None
    """`file:line:col`, as far as it is known."""

    @property
    def line(self) -> int | None:
        """The line of the location, counted from 1."""
        parts = (self.location or "").rsplit(":", 2)
        return int(parts[1]) if len(parts) == 3 and parts[1].isdigit() else None

    def text(self, tool: str) -> str:
        """The line that goes to stderr; `tool` stands in for an unknown location."""
        return f"{self.location or tool}: error: {self.message}"


def diagnose(error: BaseException) -> Diagnosis:
    """The diagnosis of any exception."""
    if isinstance(error, KeyboardInterrupt):  # Whoever interrupts waits for no import.
        return Diagnosis("interrupted")
    from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError

    match error:
        case ParseError():
            return Diagnosis(one_line(error.msg), str(error.span.get_location()))
        case ArgSpecParseError():
            return Diagnosis(_pipeline_message(str(error)))
        case GlowError():
            return Diagnosis(error.one_line(), error.location)
        case DiagnosticException():
            return Diagnosis(one_line(str(error)))
        case OSError() if error.strerror:
            return Diagnosis(_os_message(error))
        case MemoryError():
            return Diagnosis("not enough memory")
        case RecursionError():
            return Diagnosis("the program nests too deeply")
        case _:
            return Diagnosis(_other_message(error))


def _os_message(error: OSError) -> str:
    reason = (error.strerror or "").lower()
    if error.filename:
        return f"{error.filename}: {reason}"
    # Whoever writes a file names it, and only what is printed is left.
    return f"{_NO_OUTPUT}: {reason}" if error.errno in NO_ROOM else reason


def _pipeline_message(text: str) -> str:
    """What xDSL's parser of passes and targets says, without its drawing."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"cannot parse '{lines[-3]}': {lines[-1]}" if len(lines) > 3 else text


def _other_message(error: BaseException) -> str:
    message = one_line(str(error))
    if type(error).__module__.startswith(("onnx", "google.protobuf")):
        return message
    kind = type(error).__name__
    return f"internal error: {kind}: {message} (--debug prints the traceback)"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the candidate nearest to `name`, or nothing."""
    near = difflib.get_close_matches(name, candidates, 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def first_line(error: BaseException, tool: str) -> str:
    """What all tools print of an error, and most of them print no more."""
    return diagnose(error).text(tool)


def run_reporting(
    tool: str,
    work: Callable[[], int | None],
    *,
    debug: bool,
    describe: Callable[[BaseException, str], str] = first_line,
) -> int:
    """The exit code of `work`, whose failure becomes one line on stderr.

    `describe` says more than the line.
    """
    _replace_closed_streams()
    try:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return work() or 0
        finally:
            _flush_output()
    except BrokenPipeError:
        # The reader of our output (`| head`) has seen enough.
        sys.stdout = None  # keeps the interpreter from flushing into the closed pipe
        return EXIT_FAILURE
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # xDSL's errors of arguments are no Exception.
        if debug:
            traceback.print_exc()
        print(describe(error, tool), file=sys.stderr)
        return exit_code(error)


def exit_code(error: BaseException) -> int:
    """What a program that ends with an error tells its caller."""
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    from xdsl.utils.exceptions import ArgSpecParseError

    is_usage = isinstance(error, UsageError | ArgSpecParseError)
    return EXIT_USAGE if is_usage else EXIT_FAILURE


def remark(text: str) -> None:
    """Tell a line about the program that a pass was asked for."""
    print(text, file=sys.stderr)


def _show_warning(message: Warning | str, *_: object) -> None:
    """Tell a warning in one line, without the place in the compiler that it comes from."""
    print(f"warning: {one_line(str(message))}", file=sys.stderr)


def _replace_closed_streams() -> None:
    """Let what is written to a closed stdout fail as on a full disk, and stderr be lost."""
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")


def _flush_output() -> None:
    """Raise GlowError where what was printed cannot be written."""
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        sys.stdout = None  # What is left in its buffer would fail again at the end.
        reason = (error.strerror or str(error)).lower()
        raise GlowError(f"{_NO_OUTPUT}: {reason}") from error
