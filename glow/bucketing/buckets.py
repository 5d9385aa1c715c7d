"""What a model with open sizes may be padded to, and what is cut off then.

A bucket is a size that a program is compiled for and smaller ones are padded to. Whether that is
possible the graphs tell, imported for a bucket and for the smallest size that it takes: they must
be the same nodes on other sizes, with constants of which the smaller has the first elements, and
`verify-padding` must find that nothing that is kept depends on padding.

    length 17 and 32      x [2, 17, 8] ~ x [2, 32, 8]      axis 1 is padded
                          positions [17, 8] ~ [32, 8]      the first 17 are the same

Where nodes would see padding, the program masks it (`mask-padding`).

What cannot be padded behind its end may be padded at its front, where the last elements are the
same: so can the past of a language model, which new keys are joined to.

    past 17 and 32        keys [17, 8] ~ [32, 8]           axis 0 is padded at its front
                          mask [1, 18] ~ [1, 33]           which is as much longer: `along`
                          causal [1, 18] ~ [1, 33]         the last 18 are the same
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from types import MappingProxyType

from xdsl.dialects.builtin import ModuleOp

from glow.bucketing.choices import Refusals, chosen_options
from glow.bucketing.graphs import Graphs, Import, Sizes
from glow.bucketing.masked_graphs import masked_graph
from glow.bucketing.named_sizes import with_names
from glow.bucketing.search import NoBucketsError, Search, SizedAxis
from glow.dialects.errors import GlowError
from glow.open_sizes import (
    UNNAMED,
    Buckets,
    InputShapes,
    OpenModelError,
    OpenSignature,
    check_no_buckets,
    filled_shapes,
    known_sizes,
    padded_shapes,
    shorter_shapes,
)
from glow.options import AUTO, CompileOptions
from glow.padded_sizes import PaddedSize, Padding, Thinned

TRIED_SIZES = (2, 16, 64, 224)
"""For open sizes without buckets, of which the first that the model takes stands for all."""


def with_padding(
    signature: OpenSignature,
    options: CompileOptions,
    load: Callable[[CompileOptions], ModuleOp],
) -> OpenSignature:
    """The signature with how calls are padded, where the options have buckets.

    Sizes that the options have shapes for stay open only if they are padded. `load` imports the
    model's graph. Raises GlowError where padding changes results.
    """
    if options.fixed_buckets is None:
        return signature

    def imported(shapes: InputShapes) -> ModuleOp:
        return load(replace(options, input_shapes=shapes))

    signature, shapes = with_names(signature, options.input_shapes or {})
    known = known_sizes(signature.inputs, shapes)
    may_mask = options.quantize is False
    buckets = options.fixed_buckets
    first = options.known_padding or {}
    padding = find_padding(signature, buckets, imported, known, may_mask, first)
    open_still = padding.names
    fixed = {name: size for name, size in known.items() if name not in open_still}
    inputs = tuple(info.at(fixed) for info in signature.inputs)
    return replace(signature, inputs=inputs, padding=padding)


def at_buckets(
    options: CompileOptions, load: Callable[[CompileOptions], ModuleOp]
) -> CompileOptions:
    """The options of the one program that inputs of the options' shapes are padded for."""
    try:
        load(options.for_signature())
    except OpenModelError as error:
        if options.buckets == AUTO:
            return _at_chosen(options, load, error.signature)
        signature = with_padding(error.signature, options, load)
    else:
        check_no_buckets(options.buckets)
        return options
    inputs, padding = signature.inputs, signature.padding
    assert padding is not None
    _, given = with_names(signature, options.input_shapes or {})
    wanted = padded_shapes(inputs, padding, filled_shapes(inputs, given))
    found = {info.name: shape for info, shape in zip(inputs, wanted, strict=True)}
    shorter = shorter_shapes(inputs, padding, wanted) or None
    return replace(options, input_shapes=found, buckets=None, shorter_shapes=shorter)


def _at_chosen(
    options: CompileOptions,
    load: Callable[[CompileOptions], ModuleOp],
    signature: OpenSignature,
) -> CompileOptions:
    """The options of the program for buckets that the options' shapes choose."""
    refused = Refusals()
    while True:
        chosen = chosen_options(options, signature, refused)
        if not chosen.buckets:
            return chosen
        try:
            return at_buckets(chosen, load)
        except NoBucketsError as error:
            refused.add(error.size, error.bucket)


def find_padding(
    signature: OpenSignature,
    buckets: Buckets,
    imported: Import,
    given: Sizes,
    may_mask: bool = True,
    known: Mapping[str, PaddedSize] = MappingProxyType({}),
) -> Padding:
    """How calls are padded; raises GlowError for a network whose results that changes.

    `given` are sizes of an example, as far as they are known, and `known` is how some are padded
    to other buckets.
    """
    _check_names(signature, buckets)
    graphs = Graphs(signature, imported)
    sizes, summed = _first_sizes(graphs, buckets, given)
    first = [summed] if summed else []
    others = [*first, None, *[one for one in _rest(graphs, buckets) if one != summed]]
    padded: dict[str, PaddedSize] = {}
    axes: list[tuple[str, SizedAxis]] = []
    for name, some in buckets.items():
        search = Search(
            graphs, name, tuple(some), sizes, others, may_mask, known.get(name)
        )
        padded[name], found = search.found()
        axes += [(name, axis) for axis in found]
    padding = _padding(padded, axes, len(signature.outputs))
    if sum(bool(one.masked_from) for one in padded.values()) > 1:
        _check_masked(signature, padding, imported, sizes)
    return padding


def _check_masked(
    signature: OpenSignature, padding: Padding, imported: Import, sizes: Sizes
) -> None:
    """Raise GlowError where masks for several sizes disturb each other."""
    shapes = filled_shapes(signature.inputs, sizes)
    shorter = shorter_shapes(signature.inputs, padding, shapes)
    names = [info.name for info in signature.inputs]
    masked_graph(dict(zip(names, shapes, strict=True)), shorter, imported)


def _padding(
    sizes: Mapping[str, PaddedSize],
    axes: Sequence[tuple[str, SizedAxis]],
    outputs: int,
) -> Padding:
    """How calls are padded, of the axes of results that each size has to do with."""
    cuts: list[list[tuple[int, str]]] = [[] for _ in range(outputs)]
    thinned: list[list[Thinned]] = [[] for _ in range(outputs)]
    for name, (output, axis, size) in axes:
        if size is None:
            cuts[output].append((axis, name))
        else:
            thinned[output].append(size)
    listed = tuple(tuple(sorted(one)) for one in cuts)
    return Padding(sizes, listed, tuple(map(tuple, thinned)) if any(thinned) else ())


def _check_names(signature: OpenSignature, buckets: Buckets) -> None:
    """Raise GlowError for buckets of what is no open size, and for inputs without a shape."""
    names = dict.fromkeys(size for info in signature.inputs for size in info.open_sizes)
    for info in signature.inputs:
        if info.shape is None:
            raise GlowError(f"buckets need the number of axes of input '{info.name}'")
        if info.is_specialized_on:
            raise GlowError(f"the values of input '{info.name}' decide shapes")
    for name in buckets:
        if name not in names or name == UNNAMED:
            known = ", ".join(each for each in names if each != UNNAMED)
            raise GlowError(f"no open size is named '{name}'", hint=known or "none is")


def _first_sizes(
    graphs: Graphs, buckets: Buckets, given: Sizes
) -> tuple[Sizes, str | None]:
    """The first numbers for all open sizes that the model takes, and which is a sum."""
    tried = list(_tried_sizes(graphs, buckets, given))
    for found in tried:
        if graphs.takes(found[0]):
            return found
    try:
        graphs.at(tried[0][0])
    except GlowError as error:
        rest = ", ".join(name for name in graphs.names if name not in buckets)
        hint = f"buckets need example sizes: give {rest} with input_shapes or --shape"
        hint = hint if rest else error.hint
        raise GlowError(error.message, node=error.node, hint=hint) from None
    raise AssertionError


def _tried_sizes(
    graphs: Graphs, buckets: Buckets, given: Sizes
) -> Iterator[tuple[Sizes, str | None]]:
    """Numbers for each open size: the largest bucket, or an example, or some others.

    One of them may be the sum of two others, as that of a past and of new words is; which one.
    """
    fixed = {name: some[-1] for name, some in buckets.items()}
    names = [name for name in graphs.names if name not in fixed]
    for size in TRIED_SIZES if names else (0,):
        sizes = fixed | {name: given.get(name, size) for name in names}
        yield sizes, None
        for name, bucket in product(_rest(graphs, buckets), fixed):
            for added in dict.fromkeys((*_others(sizes, name, bucket), 1)):
                yield sizes | {name: sizes[bucket] + added}, name


def _rest(graphs: Graphs, buckets: Buckets) -> list[str]:
    """The sizes without buckets that have a name."""
    return [name for name in graphs.names if name not in (*buckets, UNNAMED)]


def _others(sizes: Sizes, *names: str) -> list[int]:
    """The sizes that have other names."""
    return [size for name, size in sizes.items() if name not in names]
