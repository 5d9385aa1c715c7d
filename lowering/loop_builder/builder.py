"""Builds kernels of the loops level: upstream scf, vector, memref and arith operations.

Operations are made by `Operation.create` with memoised types and attributes, which is three
times cheaper than their constructors. Index arithmetic works on Python ints and on SSA values
alike and folds what is known, so that one body builder serves static and dynamic positions:
a tile at column 0 and a tile at column %x are the same Python code. Register tiles are n-D
vectors (`vector<14x2x16xf32>`); broadcasts and blocked stores are the `dimensions` of
`transfer_read` and `transfer_write` (None: broadcast).
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute, Block, Region, SSAValue

from glow.lowering.loop_builder import ir_types as types
from glow.lowering.loop_builder.index_builder import Condition, Index, Predicate
from glow.lowering.loop_builder.memory_builder import MemoryBuilder

__all__ = ["Body", "CarryBody", "Condition", "Index", "LoopBuilder", "Predicate"]

Body: TypeAlias = Callable[[Index], None]
"""A loop body: takes the induction variable."""

CarryBody: TypeAlias = Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]]
"""A loop body that takes and returns the carried values too."""

KernelBody: TypeAlias = Callable[[Sequence[SSAValue], Index, Index], None]
"""A kernel body: takes the buffers and the work items [low, high) of the outermost space."""


class LoopBuilder(MemoryBuilder):
    """Builds one kernel function at a time; `target` says what the machine can do."""

    def loop(self, low: Index, high: Index, step: int, body: Body) -> None:
        """Runs the body at low, low + step, ... below high; a single trip is inlined."""

        def carrying(position: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            body(position)
            return ()

        self.carry(low, high, step, (), carrying)

    def carry(
        self,
        low: Index,
        high: Index,
        step: int,
        carried: Sequence[SSAValue],
        body: CarryBody,
        together: int = 1,
    ) -> Sequence[SSAValue]:
        """The carried values after a loop whose body maps them to their next ones.

        So many steps follow each other in it `together`, and behind it those that are left; bounds
        are numbers then.
        """
        if together > 1:
            assert isinstance(low, int)
            assert isinstance(high, int)
            stride = step * together
            end = low + max(0, high - low) // stride * stride
            several = self._repeated(body, range(0, stride, step))
            carried = self.carry(low, end, stride, carried, several)
            for position in range(end, high, step):
                carried = body(position, carried)
            return carried
        if isinstance(low, int) and isinstance(high, int) and low + step >= high:
            return body(low, carried) if low < high else carried
        carried_types = [value.type for value in carried]
        block = Block(arg_types=[types.INDEX, *carried_types])
        outer, self._block = self._block, block
        self.create(scf.YieldOp, body(block.args[0], block.args[1:]))
        self._block = outer
        bounds = (self.index(low), self.index(high), self.index(step))
        loop = self.create(
            scf.ForOp, (*bounds, *carried), carried_types, {}, [Region(block)]
        )
        return loop.results

    def _repeated(self, body: CarryBody, offsets: range) -> CarryBody:
        """The body at a position and so far behind it, one after the other."""

        def bodies(first: Index, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for offset in offsets:
                values = body(self.add(first, offset), values)
            return values

        return bodies

    def tiles(self, low: int, high: int, size: int, body: Body) -> None:
        """Runs the body at the origins of tiles covering [low, high); the last one overlaps.

        Needs size <= high - low, or nothing to cover.
        """
        extent = high - low
        if extent % size == 0:
            self.loop(low, high, size, body)
            return
        self.loop(
            0,
            -(-extent // size),
            1,
            lambda k: body(self.minimum(self.add(self.mul(k, size), low), high - size)),
        )

    def share(self, count: int, part: Index, parts: int) -> tuple[Index, Index]:
        """The range that is one of `parts` equal shares of [0, count), up to one."""
        if count % parts == 0:
            size = count // parts
            first = self.mul(part, size)
            return first, self.add(first, size)
        ends = (self.mul(number, count) for number in (part, self.add(part, 1)))
        first, last = (self.floordiv(end, parts) for end in ends)
        return first, last

    def tile_range(
        self, low: int, high: int, size: int, part: Index, parts: int, body: Body
    ) -> None:
        """Runs the body on one of `parts` equal shares of the tiles covering [low, high)."""
        count = -(-(high - low) // size)
        first, last = self.share(count, part, parts)

        def tile(k: Index) -> None:
            origin = self.add(self.mul(k, size), low)
            exact = (high - low) % size == 0
            body(origin if exact else self.minimum(origin, high - size))

        if count == parts:
            tile(first)
        else:
            self.loop(first, last, 1, tile)

    def space(
        self,
        low: Index,
        high: Index,
        extents: Sequence[int],
        body: Callable[[list[Index]], None],
    ) -> None:
        """Runs the body on the coordinates of flat positions [low, high) of a space."""
        self.loop(low, high, 1, lambda k: body(self.unflatten(k, extents)))

    def if_(
        self,
        condition: Condition,
        then: Callable[[], None],
        otherwise: Callable[[], None] | None = None,
    ) -> None:
        """Runs one of two bodies; a condition known now leaves no branch."""
        if isinstance(condition, bool):
            chosen = then if condition else otherwise
            if chosen is not None:
                chosen()
            return
        regions = [self._branch(then), self._branch(otherwise)]
        self.create(scf.IfOp, (condition,), (), {}, regions)

    def _branch(self, body: Callable[[], None] | None) -> Region:
        if body is None:
            return Region()
        outer, self._block = self._block, Block()
        body()
        self.create(scf.YieldOp, ())
        block, self._block = self._block, outer
        return Region(block)

    def function(
        self, name: str, buffers: Sequence[Attribute], body: KernelBody
    ) -> func.FuncOp:
        """A private function of those buffer types, then %lo and %hi: index.

        Constants, stack buffers and numbers that the body asks for move to its top.
        """
        arguments = [*buffers, types.INDEX, types.INDEX]
        self._entry, self._constants, self._numbers = Block(), {}, {}
        self._function = self._block = block = Block(arg_types=arguments)
        *memrefs, low, high = block.args
        low.name_hint, high.name_hint = "lo", "hi"
        body(memrefs, low, high)
        self.create(func.ReturnOp, ())
        hoisted = list(self._entry.ops)
        for operation in hoisted:
            operation.detach()
        first = block.first_op
        assert first is not None
        block.insert_ops_before(hoisted, first)
        signature = FunctionType.from_lists(arguments, [])
        return func.FuncOp(name, signature, Region(block), visibility="private")
