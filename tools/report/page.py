"""The page of `glow report`: one network, from its nodes to bytes and microseconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from glow.backends.inspection import Cost, KernelEntry
from glow.dialects import instr
from glow.dialects.node import NodeOp, node_name
from glow.lowering.target.program_target import program_target
from glow.passes.instr.lifetimes import lifetimes
from glow.passes.instr.packing.interval_packing import height, live_bound
from glow.passes.instr.plan_memory import recomputed
from glow.passes.rewriting.trace import Fusion, Trace
from glow.signature import main_function
from glow.tools.report import html
from glow.tools.report.graph import Node, graph_of, map_nodes
from glow.tools.report.graph_svg import SCRIPT, draw_graph
from glow.tools.report.memory_svg import draw_memory

Costs = Mapping[Operation, Cost]


@dataclass(frozen=True)
class Subject:
    """All that a page tells of."""

    title: str
    names: tuple[str, ...]
    """The network's own names of its nodes, as imported."""
    module: ModuleOp
    """At the instruction level, planned."""
    costs: Costs
    kernels: Mapping[Operation, Sequence[KernelEntry]]
    trace: Trace


def report_page(subject: Subject) -> str:
    """The whole page."""
    function = main_function(subject.module)
    sections = (
        _summary(subject, function),
        _graph(subject),
        _memory(function),
        _kernels(subject.costs),
        _choices(subject),
        _fusions(subject),
    )
    return html.page(subject.title, sections, SCRIPT)


def _summary(subject: Subject, function: func.FuncOp) -> str:
    costs = subject.costs.values()
    seconds = [cost.seconds for cost in costs if cost.seconds is not None]
    rows = [
        ("nodes of the network", f"{len(subject.names):,}"),
        ("instructions", f"{len(subject.costs):,}"),
        ("kernel calls", f"{sum(cost.calls for cost in costs):,}"),
        ("operations (FLOP)", f"{sum(cost.operations for cost in costs):,}"),
        ("bytes that kernels name", f"{sum(cost.bytes for cost in costs):,}"),
        ("arena", f"{_arena(function):,} bytes"),
    ]
    if seconds:
        rows.append(("time in kernels", f"{sum(seconds) * 1e3:,.3f} ms"))
    if (target := program_target(subject.module)) is not None:
        rows.append(("target", target.name))
        rows.append(("kernels chosen for", f"core family {target.core}"))
    return html.section("Summary", html.table(("", ""), rows), name="summary")


def _arena(function: func.FuncOp) -> int:
    buffers = lifetimes(function)
    return height(buffers, [_offset(buffer.alloc) for buffer in buffers])


def _offset(alloc: instr.AllocOp) -> int:
    assert alloc.offset is not None
    return alloc.offset.value.data


def _graph(subject: Subject) -> str:
    graph = graph_of(subject.module)
    parts = _parts_of(subject.trace.fusions)

    def add_cost(op: Operation, node: Node) -> None:
        if isinstance(op, instr.InstructionOp) and op in subject.costs:
            node.details |= _cost_details(subject.costs[op])
        if node.name in parts:
            node.details["fused into it"] = ", ".join(parts[node.name])

    map_nodes(graph, add_cost)
    help_text = html.paragraph(
        "Wheel: zoom. Drag: move. Click: details. Double click: all of it. Edges carry "
        "the type of what flows."
    )
    search = '<input id="search" placeholder="find a node">'
    panel = '<pre id="chosen" class="note">Click on a node.</pre>'
    return html.section(
        "Graph", help_text, search, draw_graph(graph, "chosen", "search"), panel,
        name="graph",
    )  # fmt: skip


def _parts_of(fusions: Iterable[Fusion]) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    for fusion in fusions:
        if fusion.reason is None:
            parts.setdefault(fusion.whole, []).append(fusion.part)
    return parts


def _cost_details(cost: Cost) -> dict[str, str]:
    details = {
        "operations": f"{cost.operations:,}",
        "bytes": f"{cost.bytes:,}",
        "operations a byte": f"{cost.intensity:.2f}",
    }
    if cost.seconds is not None:
        details["time"] = f"{cost.seconds * 1e6:.1f} us"
        if cost.seconds:
            details["GFLOP/s"] = f"{cost.operations / cost.seconds / 1e9:.1f}"
    return details


def _memory(function: func.FuncOp) -> str:
    buffers = lifetimes(function)
    size, bound = _arena(function), live_bound(buffers)
    text = (
        f"{len(buffers)} buffers in an arena of {size:,} bytes; at most {bound:,} bytes "
        f"are alive at once, ratio {size / bound if bound else 1:.4f}."
    )
    if again := recomputed(function):
        text += f" Computed again to keep to the limit: {', '.join(again)}."
    return html.section(
        "Memory plan", html.paragraph(text), draw_memory(function), name="memory"
    )


def _kernels(costs: Costs) -> str:
    timed = any(cost.seconds is not None for cost in costs.values())
    head = ["instruction", "node", "calls", "FLOP", "bytes", "FLOP/byte"]
    head += ["us", "GFLOP/s"] if timed else []
    rows: list[list[object]] = []
    for op, cost in costs.items():
        row: list[object] = [
            op.name.removeprefix("instr."),
            node_name(op) or "",
            cost.calls,
            f"{cost.operations:,}",
            f"{cost.bytes:,}",
            f"{cost.intensity:.2f}",
        ]
        if timed:
            seconds = cost.seconds or 0.0
            speed = cost.operations / seconds / 1e9 if seconds else 0.0
            row += [f"{seconds * 1e6:.1f}", f"{speed:.1f}"]
        rows.append(row)
    table = html.scrolling(html.table(head, rows, text_columns=2))
    return html.section("Instructions", table, name="instructions")


FIELDS = (
    "algorithm",
    "tile",
    "order",
    "work_items",
    "weight_bytes",
    "error",
    "fallback",
)


def _choices(subject: Subject) -> str:
    """Which algorithm and tile each kernel got."""
    head = ("node", "kernel", "algorithm", "register tile", "order", "work items",
            "weights, bytes", "expected error", "falls back to")  # fmt: skip
    rows: list[list[object]] = []
    for op, entries in subject.kernels.items():
        for entry in entries:
            fields = entry.fields()
            values = [fields.get(name, "") for name in FIELDS]
            rows.append([node_name(op) or "", entry.label, *values])
    table = html.scrolling(html.table(head, rows, text_columns=5))
    return html.section("Kernels", table, name="kernels")


def _fusions(subject: Subject) -> str:
    fusions = subject.trace.fusions
    done = [(f.part, f.whole) for f in fusions if f.reason is None]
    merged = {part for part, _ in done}
    refused = [
        (f.part, f.whole, f.reason)
        for f in fusions
        if f.reason is not None and f.part not in merged
    ]
    there = {node_name(op) for op in subject.costs}
    gone = [
        (name,) for name in subject.names if name not in there and name not in merged
    ]
    return html.section(
        "Fusions",
        html.paragraph(f"{len(done)} nodes became part of others:"),
        html.scrolling(html.table(("node", "became part of"), done, 2)),
        html.paragraph(f"{len(refused)} could not, for a reason:"),
        html.scrolling(html.table(("node", "not part of", "because"), refused, 3)),
        html.paragraph(
            f"{len(gone)} other nodes have no instruction: they were folded into weights "
            "or others, are views of memory, or nobody needs them:"
        ),
        html.scrolling(html.table(("node",), gone)),
        name="fusions",
    )


def names_of(module: ModuleOp) -> tuple[str, ...]:
    """The network's own names of its nodes."""
    names = (node_name(op) for op in module.walk() if isinstance(op, NodeOp))
    return tuple(dict.fromkeys(filter(None, names)))
