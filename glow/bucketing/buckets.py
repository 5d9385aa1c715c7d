"""What a model with open sizes may be padded to, and what is cut off then.

A bucket is a size that a program is compiled for and smaller ones are padded to. Whether that is
possible the graphs tell, imported for a bucket and for the smallest size that it takes: they must
be the same nodes on other sizes, with constants of which the smaller has the first elements, and
`verify-padding` must find that nothing that is kept depends on padding.

    length 17 and 32      x [2, 17, 8] ~ x [2, 32, 8]      axis 1 is padded
                          positions [17, 8] ~ [32, 8]      the first 17 are the same

What cannot be padded behind its end may be padded at its front, where the last elements are the
same: so can the past of a language model, which new keys are joined to.

    past 17 and 32        keys [17, 8] ~ [32, 8]           axis 0 is padded at its front
                          mask [1, 18] ~ [1, 33]           which is as much longer: `along`
                          causal [1, 18] ~ [1, 33]         the last 18 are the same
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

from glow.bucketing.compare_graphs import Cuts, check_pair
from glow.dialects.errors import GlowError
from glow.dialects.weights import clone_module
from glow.open_sizes import (
    UNNAMED,
    Buckets,
    Cut,
    InputShapes,
    OpenModelError,
    OpenSignature,
    PaddedSize,
    Padding,
    check_no_buckets,
    filled_shapes,
    known_sizes,
    padded_shapes,
)
from glow.options import CompileOptions

TRIED_SIZES = (2, 16, 64, 224)
"""For open sizes without buckets, of which the first that the model takes stands for all."""

Sizes = dict[str, int]
"""Numbers for the open sizes of a model."""

Import = Callable[[InputShapes], ModuleOp]
"""The graph of a model for shapes of its inputs."""


def with_padding(
    signature: OpenSignature,
    options: CompileOptions,
    load: Callable[[CompileOptions], ModuleOp],
) -> OpenSignature:
    """The signature with how calls are padded, where the options have buckets.

    Sizes that the options have shapes for stay open only if they are padded. `load` imports the
    model's graph. Raises GlowError where padding changes results.
    """
    if options.buckets is None:
        return signature

    def imported(shapes: InputShapes) -> ModuleOp:
        return load(replace(options, input_shapes=shapes))

    known = known_sizes(signature.inputs, options.input_shapes or {})
    padding = find_padding(signature, options.buckets, imported, known)
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
        signature = with_padding(error.signature, options, load)
    else:
        check_no_buckets(options.buckets)
        return options
    assert signature.padding is not None
    shapes = filled_shapes(signature.inputs, options.input_shapes or {})
    wanted = padded_shapes(signature.inputs, signature.padding, shapes)
    names = [info.name for info in signature.inputs]
    found = dict(zip(names, wanted, strict=True))
    return replace(options, input_shapes=found, buckets=None)


def find_padding(
    signature: OpenSignature, buckets: Buckets, imported: Import, given: Sizes
) -> Padding:
    """How calls are padded; raises GlowError for a network whose results that changes.

    `given` are sizes of an example, as far as they are known.
    """
    _check_names(signature, buckets)
    graphs = _Graphs(signature, imported)
    sizes, summed = _first_sizes(graphs, buckets, given)
    first = [summed] if summed else []
    others = [*first, None, *[one for one in _rest(graphs, buckets) if one != summed]]
    padded: dict[str, PaddedSize] = {}
    cuts: list[tuple[int, int, str]] = []
    for name, some in buckets.items():
        search = _Search(graphs, name, tuple(some), sizes, others)
        padded[name], found = search.found()
        cuts += [(number, axis, name) for number, axis in found]
    listed = (_of_output(cuts, number) for number in range(len(signature.outputs)))
    return Padding(padded, tuple(listed))


def _of_output(cuts: Sequence[tuple[int, int, str]], number: int) -> Cut:
    """What is cut off an output."""
    return tuple((axis, name) for n, axis, name in sorted(cuts) if n == number)


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


def _pairs(buckets: Sequence[int]) -> list[tuple[int, int]]:
    """For each bucket the smallest size that is padded to it, but 1, which broadcasts."""
    pairs = [(max(2, low + 1), high) for low, high in pairwise((0, *buckets))]
    found = [(low, high) for low, high in pairs if low < high]
    last = max(2, buckets[-1])
    return found or [(last, last + 1)]


KEPT_GRAPHS = 2
"""A size and a larger one, which are compared: each graph may hold weights of its own."""


class _Graphs:
    """The graphs of a model for numbers of its open sizes; the last ones are kept."""

    def __init__(self, signature: OpenSignature, imported: Import) -> None:
        self.signature = signature
        self.imported = imported
        names = [size for info in signature.inputs for size in info.open_sizes]
        self.names = tuple(dict.fromkeys(names))
        self._kept: OrderedDict[tuple[int, ...], ModuleOp] = OrderedDict()
        self._refused: dict[tuple[int, ...], GlowError] = {}

    def at(self, sizes: Sizes) -> ModuleOp:
        """The graph for some sizes; raises GlowError where the model does not take them."""
        key = tuple(sizes[name] for name in self.names)
        if key in self._refused:
            raise self._refused[key]
        if key not in self._kept:
            try:
                self._kept[key] = self._import(sizes)
            except GlowError as error:
                self._refused[key] = error
                raise
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT_GRAPHS:
            self._kept.popitem(last=False)
        return self._kept[key]

    def takes(self, sizes: Sizes) -> bool:
        """Whether the model takes some sizes."""
        try:
            return bool(self.at(sizes))
        except GlowError:
            return False

    def _import(self, sizes: Sizes) -> ModuleOp:
        shapes: dict[str, Sequence[int] | int] = {}
        for info in self.signature.inputs:
            assert info.shape is not None
            known = [s if isinstance(s, int) else sizes[s] for s in info.shape]
            shapes[info.name] = known
        filled = filled_shapes(self.signature.inputs, shapes)
        return self.imported(dict(zip(shapes, filled, strict=True)))


def _canonical(module: ModuleOp) -> ModuleOp:
    """A graph without what comes to nothing."""
    found = clone_module(module)
    CanonicalizePass().apply(Context(), found)
    return found


def _first_sizes(
    graphs: _Graphs, buckets: Buckets, given: Sizes
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
    graphs: _Graphs, buckets: Buckets, given: Sizes
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


def _rest(graphs: _Graphs, buckets: Buckets) -> list[str]:
    """The sizes without buckets that have a name."""
    return [name for name in graphs.names if name not in (*buckets, UNNAMED)]


def _others(sizes: Sizes, *names: str) -> list[int]:
    """The sizes that have other names."""
    return [size for name, size in sizes.items() if name not in names]


@dataclass(frozen=True)
class _Search:
    """The search for how one open size may be padded."""

    graphs: _Graphs
    name: str
    buckets: tuple[int, ...]
    sizes: Sizes
    """Of all others, and the largest bucket."""
    others: Sequence[str | None]
    """Sizes that may be larger by as much, most likely first; None for no other."""

    def found(self) -> tuple[PaddedSize, Cuts]:
        """How it is padded, and which axes of which outputs are cut."""
        refusals: list[GlowError] = []
        for other in self.others:
            behind = PaddedSize(self.buckets, along=(other,) if other else ())
            if not self._is_taken(behind):
                continue
            errors: list[GlowError] = []
            for padded in (behind, replace(behind, at_front=True)):
                try:
                    return padded, self._cuts(padded)
                except GlowError as error:
                    errors.append(error)
            refusals.append(self._refusal(*errors))
        if not refusals:
            self.graphs.at(self._at(PaddedSize(self.buckets), self._smallest))
        raise refusals[0]

    @property
    def _smallest(self) -> int:
        """The smallest size that is padded to a bucket."""
        return _pairs(self.buckets)[0][0]

    def _is_taken(self, padded: PaddedSize) -> bool:
        """Whether the model takes smaller sizes."""
        names = (self.name, *padded.along)
        return any(
            min(sizes[name] for name in names) > 0 and self.graphs.takes(sizes)
            for sizes in self._smaller(padded, _pairs(self.buckets)[-1])
        )

    def _smaller(self, padded: PaddedSize, pair: tuple[int, int]) -> list[Sizes]:
        """Sizes that are padded to the larger one of a pair, the smallest first.

        Some may be too small for the network.
        """
        low, high = pair
        sizes = dict.fromkeys((self._smallest, low, high - 1))
        return [self._at(padded, size) for size in sizes]

    def _cuts(self, padded: PaddedSize) -> Cuts:
        """The outputs and axes that hold the size, if padding changes no result."""
        pairs = reversed(_pairs(self.buckets))  # The graph of the last one is there.
        found = {self._cuts_of(padded, pair) for pair in pairs}
        if len(found) > 1:
            raise GlowError("results depend on it in another way for each size")
        return found.pop()

    def _cuts_of(self, padded: PaddedSize, pair: tuple[int, int]) -> Cuts:
        """The outputs and axes that hold the size, which one of a pair pads to the other."""
        tried = self._smaller(padded, pair)
        short = next((one for one in tried if self.graphs.takes(one)), tried[-1])
        sizes = short[self.name], pair[1]
        one, other = self.graphs.at(short), self.graphs.at(self._at(padded, pair[1]))
        try:
            return check_pair(one, other, sizes, padded.at_front)
        except GlowError:
            # Perhaps of what comes to nothing, as lookups of all elements in order.
            one, other = _canonical(one), _canonical(other)
            return check_pair(one, other, sizes, padded.at_front)

    def _at(self, padded: PaddedSize, size: int) -> Sizes:
        """The sizes when the padded one has another."""
        added = size - self.sizes[self.name]
        names = (self.name, *padded.along)
        return self.sizes | {one: self.sizes[one] + added for one in names}

    def _refusal(self, behind: GlowError, front: GlowError) -> GlowError:
        """The error of a size that can be padded neither behind its end nor at its front."""
        message = f"'{self.name}' has no buckets: {behind.message}"
        if (front.message, front.node) != (behind.message, behind.node):
            place = f" (at node '{behind.node}')" if behind.node else ""
            message += f"{place}; at its front: {front.message}"
        hint = front.hint or "without buckets each size has a program of its own"
        return GlowError(message, node=front.node, hint=hint)
