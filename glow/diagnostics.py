"""Turns any failure into one line: `file:line:col: error: message`, exit code 1.

The tools run their work inside `run_reporting`; nothing else in the package prints
errors. A traceback appears with `--debug` only. xDSL is imported to describe an error,
not before: a network that is compiled already runs without it.
"""

from __future__ import annotations

import difflib
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from glow.dialects.errors import GlowError

EXIT_FAILURE = 1
EXIT_INTERRUPTED = 130


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


def one_line(text: str) -> str:
    """`text` with its line breaks and runs of blanks made single spaces."""
    return " ".join(text.split())


def diagnose(error: BaseException) -> Diagnosis:
    """The diagnosis of any exception."""
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
        case KeyboardInterrupt():
            return Diagnosis("interrupted")
        case MemoryError():
            return Diagnosis("not enough memory")
        case RecursionError():
            return Diagnosis("the program nests too deeply")
        case _:
            return Diagnosis(_other_message(error))


def _os_message(error: OSError) -> str:
    reason = (error.strerror or "").lower()
    return f"{error.filename}: {reason}" if error.filename else reason


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


def run_reporting(tool: str, work: Callable[[], int | None], *, debug: bool) -> int:
    """The exit code of `work`, whose failure becomes one line on stderr."""
    try:
        return work() or 0
    except BrokenPipeError:
        # The reader of our output (`| head`) has seen enough.
        sys.stdout = None  # keeps the interpreter from flushing into the closed pipe
        return EXIT_FAILURE
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # xDSL's errors of arguments are no Exception.
        if debug:
            traceback.print_exc()
        print(diagnose(error).text(tool), file=sys.stderr)
        interrupted = isinstance(error, KeyboardInterrupt)
        return EXIT_INTERRUPTED if interrupted else EXIT_FAILURE
