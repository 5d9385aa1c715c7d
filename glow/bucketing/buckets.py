"""What a model with open sizes may be padded to, and what is cut off then.

A bucket is a size that a program is compiled for and smaller ones are padded to. Whether that is
possible the graphs tell, imported for a bucket and for the smallest size that it takes: they must
be the same nodes on other sizes, with constants of which the smaller has the first elements, and
`verify-padding` must find that nothing that is kept depends on padding.

    length 17 and 32      x [2, 17, 8] ~ x [2, 32, 8]      axis 1 is padded
                          positions [17, 8] ~ [32, 8]      the first 17 are the same
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from glow.dialects import glow
from glow.dialects.attributes import ints_attr
from glow.dialects.errors import GlowError
from glow.dialects.function_attributes import PADDED_AXES
from glow.dialects.node import is_static_tensor, node_name, shape_of
from glow.dialects.weight_table import place_in_file
from glow.dialects.weights import stored_value
from glow.open_sizes import (
    UNNAMED,
    Buckets,
    Cut,
    InputShapes,
    OpenModelError,
    OpenSignature,
    Padding,
    check_no_buckets,
    filled_shapes,
    padded_shapes,
)
from glow.options import CompileOptions
from glow.passes.graph.padding.padded_value import PaddedValue
from glow.passes.graph.padding.verify_padding import follow_padding, set_axes
from glow.signature import main_function

TRIED_SIZES = (2, 16, 64, 224)
"""For open sizes without buckets, of which the first that the model takes stands for all."""

SIZED = ("sizes", "value")
"""Properties that hold sizes or contents, which are compared by themselves."""

Cuts = tuple[tuple[int, int], ...]
"""Numbers of outputs, and axes of them."""

Import = Callable[[InputShapes], ModuleOp]
"""The graph of a model for shapes of its inputs."""


def with_padding(
    signature: OpenSignature,
    options: CompileOptions,
    load: Callable[[CompileOptions], ModuleOp],
) -> OpenSignature:
    """The signature with how calls are padded, where the options have buckets.

    `load` imports the model's graph. Raises GlowError where padding changes results.
    """
    if options.buckets is None:
        return signature

    def imported(shapes: InputShapes) -> ModuleOp:
        return load(replace(options, input_shapes=shapes))

    return replace(
        signature, padding=find_padding(signature, options.buckets, imported)
    )


def at_buckets(
    options: CompileOptions, load: Callable[[CompileOptions], ModuleOp]
) -> CompileOptions:
    """The options of the one program that inputs of the options' shapes are padded for."""
    try:
        load(replace(options, input_shapes=None))
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
    signature: OpenSignature, buckets: Buckets, imported: Import
) -> Padding:
    """How calls are padded; raises GlowError for a network whose results that changes."""
    _check_names(signature, buckets)
    sizes = _other_sizes(signature, buckets, imported)
    cuts: dict[tuple[int, int], str] = {}
    for name, some in buckets.items():
        found = {_cuts(signature, sizes, pair, name, imported) for pair in _pairs(some)}
        if len(found) > 1:
            raise GlowError(f"results depend on '{name}' in another way for each size")
        cuts |= {place: name for place in found.pop()}
    listed = (_of_output(cuts, number) for number in range(len(signature.outputs)))
    return Padding({name: tuple(some) for name, some in buckets.items()}, tuple(listed))


def _of_output(cuts: Mapping[tuple[int, int], str], number: int) -> Cut:
    """What is cut off an output."""
    return tuple(
        (axis, name) for (n, axis), name in sorted(cuts.items()) if n == number
    )


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


def _other_sizes(
    signature: OpenSignature, buckets: Buckets, imported: Import
) -> dict[str, int]:
    """A number for each open size: the largest bucket, or one that the model takes."""
    names = [size for info in signature.inputs for size in info.open_sizes]
    fixed = {name: some[-1] for name, some in buckets.items()}
    rest = [name for name in dict.fromkeys(names) if name not in fixed]
    errors: list[GlowError] = []
    for size in TRIED_SIZES if rest else (0,):
        sizes = fixed | dict.fromkeys(rest, size)
        try:
            imported(_shapes(signature, sizes))
        except GlowError as error:
            errors.append(error)
        else:
            return sizes
    raise errors[0]


def _shapes(
    signature: OpenSignature, sizes: Mapping[str, int]
) -> dict[str, Sequence[int] | int]:
    shapes: dict[str, Sequence[int] | int] = {}
    for info in signature.inputs:
        assert info.shape is not None
        shapes[info.name] = [s if isinstance(s, int) else sizes[s] for s in info.shape]
    filled = filled_shapes(signature.inputs, shapes)
    names = [info.name for info in signature.inputs]
    return dict(zip(names, filled, strict=True))


def _cuts(
    signature: OpenSignature,
    sizes: Mapping[str, int],
    pair: tuple[int, int],
    name: str,
    imported: Import,
) -> Cuts:
    """The outputs and axes that hold a size, which one of a pair pads to the other."""

    def of(size: int) -> ModuleOp:
        return imported(_shapes(signature, {**sizes, name: size}))

    long = of(pair[1])
    try:
        short = of(pair[0])
    except GlowError:  # A size that is too small for the network.
        pair = pair[1] - 1, pair[1]
        short = of(pair[0])
    return _named(name, lambda: check_pair(short, long, pair))


def _named(name: str, check: Callable[[], Cuts]) -> Cuts:
    """The cuts that a check finds; its errors tell the name of the size."""
    try:
        return check()
    except GlowError as error:
        error.location = None
        hint = error.hint or "without buckets each size has a program of its own"
        message = f"'{name}' has no buckets: {error.message}"
        raise GlowError(message, node=error.node, hint=hint) from None


def check_pair(short: ModuleOp, long: ModuleOp, pair: tuple[int, int]) -> Cuts:
    """The outputs and axes that are cut after padding; GlowError where results change.

    The modules are those of one model for a size and a larger one.
    """
    functions = main_function(short), main_function(long)
    _mark(*functions)
    found = follow_padding(functions[1])
    for first, second in zip(*(_values(one) for one in functions), strict=True):
        if is_static_tensor(second):
            _check_shape(first, second, found.get(second, PaddedValue()), pair)
    last = functions[1].body.block.last_op
    outputs = enumerate(last.operands if last else ())
    cuts = ((number, axis) for number, value in outputs for axis in found[value].axes)
    return tuple(sorted(cuts))


def _values(function: FuncOp) -> list[SSAValue]:
    """The values of a function outside of regions, arguments first."""
    results = [result for op in function.body.block.ops for result in op.results]
    return [*function.body.block.args, *results]


def _mark(short: FuncOp, long: FuncOp) -> None:
    """Write into the larger graph which arguments and constants depend on the size.

    Raises GlowError where the graphs are not the same nodes.
    """
    pairs = zip(short.body.block.args, long.body.block.args, strict=True)
    set_axes(long, [_longer(*pair) for pair in pairs], "arg_attrs")
    ops = [list(function.walk()) for function in (short, long)]
    if len(ops[0]) != len(ops[1]):
        raise GlowError("the network has other nodes for other sizes")
    for first, second in zip(*ops, strict=True):
        _check_node(first, second)
        if isinstance(second, glow.ConstantOp | glow.SplatOp | glow.BroadcastOp):
            axes = _longer(first.results[0], second.results[0])
            if isinstance(second, glow.BroadcastOp):
                axes = _repeated(second, axes)
            if axes:
                second.attributes[PADDED_AXES] = ints_attr(*axes)


def _longer(short: SSAValue, long: SSAValue) -> tuple[int, ...]:
    """The axes on which two values differ."""
    sizes = zip(shape_of(short), shape_of(long), strict=True)
    return tuple(axis for axis, (one, other) in enumerate(sizes) if one != other)


def _repeated(op: glow.BroadcastOp, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes along which a value is repeated, of some."""
    source = (1,) * 64 + shape_of(op.input)
    rank = len(shape_of(op.result))
    return tuple(axis for axis in axes if source[axis - rank] == 1)


def _check_node(short: Operation, long: Operation) -> None:
    """Raise GlowError for nodes that differ in more than sizes."""
    names = {*short.properties, *long.properties}
    if isinstance(long, FuncOp):
        return
    same = short.name == long.name and len(short.results) == len(long.results)
    is_constant = isinstance(short, glow.ConstantOp) and isinstance(
        long, glow.ConstantOp
    )
    same = same and all(
        short.properties.get(name) == long.properties.get(name)
        for name in names
        if not (name in SIZED and (is_constant or isinstance(long, glow.SliceOp)))
    )
    ranks = zip(short.results, long.results, strict=False)
    same = same and all(_rank(one) == _rank(other) for one, other in ranks)
    if (
        same
        and isinstance(short, glow.ConstantOp)
        and isinstance(long, glow.ConstantOp)
    ):
        same = _is_first_part(short, long)
    if not same:
        raise GlowError(
            f"{long.name} has other contents for other sizes", node=node_name(long)
        )


def _rank(value: SSAValue) -> int:
    return len(shape_of(value)) if is_static_tensor(value) else -1


def _is_first_part(short: glow.ConstantOp, long: glow.ConstantOp) -> bool:
    """Whether a constant has the first elements of another."""
    first, second = stored_value(short.result), stored_value(long.result)
    if first is None or second is None:
        return False
    if any(one > other for one, other in zip(first.shape, second.shape, strict=True)):
        return False
    if first.shape == second.shape and short.weight_name == long.weight_name:
        place = place_in_file(first)
        if place is not None and place == place_in_file(second):
            return True  # Unread, as the weights of a large model should be.
    part = second[tuple(map(slice, first.shape))]
    return part.tobytes() == first.tobytes()


def _check_shape(
    short: SSAValue, long: SSAValue, padded: PaddedValue, pair: tuple[int, int]
) -> None:
    """Raise GlowError for a value whose shape depends on the size otherwise than it is padded."""
    expected = list(shape_of(long))
    for axis, form in padded.axes.items():
        expected[axis] = form.shorter(pair[0])
    if tuple(expected) != shape_of(short):
        owner = long.owner if isinstance(long.owner, Operation) else None
        raise GlowError(
            f"a shape is {list(shape_of(long))} for {pair[1]} and {list(shape_of(short))} "
            f"for {pair[0]}, which padding does not explain",
            node=node_name(owner) if owner else None,
        )
