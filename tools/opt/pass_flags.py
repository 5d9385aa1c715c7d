"""Every pass is a flag: folds `--pass='k=v'`, `-p` and `--pass-pipeline` into one `-p`.

The fold is textual and happens before argparse sees the command line: argparse knows
neither an order among different options nor flags whose value needs `=`, and making an
argparse option for each of two hundred passes would cost start-up time.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import TypeVar

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import (
    ArgSpec,
    ArgSpecConvertible,
    ParameterListType,
    parse_pipeline,
)

from glow.diagnostics import did_you_mean
from glow.dialects.errors import UsageError
from glow.universe import RENAMED_PASSES

ConvertibleT = TypeVar("ConvertibleT", bound=ArgSpecConvertible)

ANCHORS = ("builtin.module", "func.func", "any")
"""Anchors of nested pipelines. All our passes run on the module, so they are dropped."""

_OPTION = re.compile(r'([^\s=]+)(?:=("(?:[^"\\]|\\.)*"|\'[^\']*\'|[^\s"]*))?')
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_-]+|[-+]?[0-9]+(\.[0-9]*([eE][-+]?[0-9]+)?)?")
_PIPELINE_PIECE = re.compile(
    r'"(?:[^"\\]|\\.)*"|\{[^{}]*\}|\[[^\]]*\]|[()]|[^"{}()\[]+|[{}"\[]'
)


def fold_pipeline(arguments: Sequence[str], passes: Collection[str]) -> list[str]:
    """`arguments` with all that names a pass gathered, in order, in one `--passes=`."""
    rest: list[str] = []
    pipeline: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--":
            rest += [argument, *remaining]
        elif (piece := _pipeline_piece(argument, remaining, passes)) is not None:
            pipeline.append(piece)
        else:
            rest.append(argument)
    folded = ",".join(piece for piece in pipeline if piece)
    return [f"--passes={folded}", *rest] if folded else rest


def _pipeline_piece(
    argument: str, remaining: Iterator[str], passes: Collection[str]
) -> str | None:
    """The pipeline text that one argument stands for; None if it names no pass."""
    flag, equals, value = argument.partition("=")
    if not flag.startswith("-"):
        return None
    if (name := flag.lstrip("-")) in passes:
        options = normalize_options(value)
        return f"{name}{{{options}}}" if options else name
    if flag in ("-p", "--passes", "--pass-pipeline", "-pass-pipeline"):
        text = value if equals else next(remaining, None)
        if text is None:
            raise UsageError(f"{flag} needs a pipeline, such as {flag}='a,b{{x=1}}'")
        return unwrap_pipeline(text)
    return None


def normalize_options(text: str) -> str:
    """The options `k=v k2=a,b flag` with values quoted where xDSL's parser needs it."""
    return " ".join(_normalize_option(match) for match in _OPTION.finditer(text))


def _normalize_option(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    if value is None:  # Of a list, each is a word of its own; see `POSITIONAL`.
        return name.replace(",", " ")
    if value.startswith('"'):
        return f"{name}={value}"
    return f"{name}={','.join(map(_quoted, value.strip(chr(39)).split(',')))}"


def _quoted(value: str) -> str:
    return value if _PLAIN_VALUE.fullmatch(value) else f'"{value}"'


def unwrap_pipeline(text: str) -> str:
    """The pass list inside `builtin.module(a,func.func(b{x=1}))`: `a,b{x=1}`."""
    pieces = [
        _normalize_piece(piece) for piece in _PIPELINE_PIECE.findall(text.strip())
    ]
    return "".join(_without_anchors(pieces, text)).strip()


def _normalize_piece(piece: str) -> str:
    """A piece of a pipeline with its options, if it is `{...}`, normalized."""
    is_options = piece.startswith("{") and piece.endswith("}")
    return "{" + normalize_options(piece[1:-1]) + "}" if is_options else piece


def _without_anchors(pieces: Sequence[str], text: str) -> Iterator[str]:
    depth = 0
    for piece, following in zip_longest(pieces, pieces[1:]):
        if piece == "(":
            depth += 1
        elif piece == ")":
            depth -= 1
        elif following == "(":
            yield _without_anchor(piece)
        else:
            yield piece
        if depth < 0:
            break
    if depth != 0:
        raise UsageError(f"unbalanced parentheses in the pass pipeline '{text}'")


def _without_anchor(piece: str) -> str:
    """`piece` without the anchor at its end."""
    before, comma, anchor = piece.rpartition(",")
    if anchor.strip() not in ANCHORS:
        raise UsageError(
            f"pass pipelines nest in {', '.join(ANCHORS)}, not in '{anchor.strip()}'"
        )
    return before + comma


def parse_passes(
    pipeline: str,
    passes: Mapping[str, Callable[[], type[ModulePass]]],
    groups: Mapping[str, Callable[[], Sequence[ModulePass]]],
    defaults: Mapping[str, str] | None = None,
) -> tuple[ModulePass, ...]:
    """The passes that the text `a,b{x=1}` names, with groups expanded.

    Passes that have options of the names in `defaults` get those, unless the text does.
    """
    return tuple(
        one
        for spec in map(_with_new_name, parse_pipeline(pipeline))
        for one in (
            _group(spec, groups[spec.name](), defaults or {})
            if spec.name in groups
            else [make_pass(spec, passes, defaults or {})]
        )
    )


def _with_new_name(spec: ArgSpec) -> ArgSpec:
    """A specification by the name that its pass has now."""
    if spec.name not in RENAMED_PASSES:
        return spec
    new = RENAMED_PASSES[spec.name]
    warnings.warn(f"--{spec.name} is now --{new}", FutureWarning, stacklevel=2)
    return ArgSpec(new, spec.parameters)


def _group(
    spec: ArgSpec, members: Sequence[ModulePass], defaults: Mapping[str, str]
) -> list[ModulePass]:
    """The passes of a group, the options on the first."""
    specs = [one.spec() for one in members]
    specs[0].parameters.update(spec.parameters)
    known = {one.name: partial(type, one) for one in members}
    return [make_pass(one, known, defaults) for one in specs]


def make_pass(
    spec: ArgSpec,
    passes: Mapping[str, Callable[[], type[ModulePass]]],
    defaults: Mapping[str, str] | None = None,
) -> ModulePass:
    """The pass of one specification; unknown names and options are one line."""
    if spec.name not in passes:
        raise UsageError(f"unknown pass '{spec.name}'{did_you_mean(spec.name, passes)}")
    kind = passes[spec.name]()
    names = {field.name for field in dataclasses.fields(kind)}
    given = {n: (v,) for n, v in (defaults or {}).items() if n in names}
    spec = ArgSpec(spec.name, {**given, **_named(kind, spec.parameters)})
    return from_spec(kind, spec, "pass")


POSITIONAL = "positional"
"""What a pass calls the option that words without a name are the values of:
`--assign-backends=npu,cpu` is `--assign-backends='backends=npu,cpu'`."""


def _named(
    kind: type[ModulePass], parameters: Mapping[str, ParameterListType]
) -> dict[str, ParameterListType]:
    """Parameters with those without a value under the name of the positional option."""
    option: str | None = getattr(kind, POSITIONAL, None)
    names = {field.name for field in dataclasses.fields(kind)}
    words = [n for n, values in parameters.items() if not values and n not in names]
    if option is None or not words:
        return {**parameters}
    rest = {n: values for n, values in parameters.items() if n not in words}
    return {**rest, option: tuple(words)}


KINDS: dict[str, tuple[type, str]] = {
    "bool": (bool, "true or false"),
    "float": (float, "a number"),
    "int": (int, "a whole number"),
}
"""What an option must be, by the type of its field."""


def option_value(
    field: dataclasses.Field[object], given: ParameterListType, owner: str
) -> ParameterListType:
    """The value as the field's type; UsageError that says what it must be."""
    name = str(field.type).removesuffix(" | None")
    if name not in KINDS:
        return given
    kind, wanted = KINDS[name]
    if name == "bool" and not given:  # an option without a value switches something on
        return (True,)
    if name == "float" and len(given) == 1 and type(given[0]) is int:
        return (float(given[0]),)
    if len(given) == 1 and type(given[0]) is kind:
        return given
    found = ",".join(map(str, given)) or "nothing"
    raise UsageError(f"option '{field.name}' of {owner} must be {wanted}, not {found}")


def from_spec(kind: type[ConvertibleT], spec: ArgSpec, what: str) -> ConvertibleT:
    """A pass or a target (`what`) with the options of `spec`."""
    owner = f"{what} '{spec.name}'"
    options = ArgSpec(kind.name, spec.parameters).normalize_parameter_names()
    fields = [field for field in dataclasses.fields(kind) if field.init]
    known = [field.name for field in fields]
    for option in options.parameters:
        if option not in known:
            raise UsageError(
                f"unknown option '{option}' of {owner}{did_you_mean(option, known)} "
                f"(it takes {', '.join(known) or 'no options'})"
            )
    for field in fields:
        if field.name in options.parameters:
            given = options.parameters[field.name]
            options.parameters[field.name] = option_value(field, given, owner)
    try:
        return kind.from_spec(options)
    except ValueError as error:
        raise UsageError(f"{owner}: {error}") from error
