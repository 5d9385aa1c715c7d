"""The table of `docs/onnx.md`: each operator of ONNX, how it is imported, what is refused.

It follows from the operators that the importer knows, the schemas of the installed `onnx`
and the record of its tests, so the page cannot promise what the tests do not show.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from onnx import defs

from glow.frontends.onnx.control_flow import control_flow_handler
from glow.frontends.onnx.functions import BodySchema
from glow.frontends.onnx.importer import handlers_of
from glow.tools.conformance.cases import Case
from glow.tools.conformance.outcomes import main_operator

DOMAINS = ("", "ai.onnx.preview.training")
BEGIN, END = "<!-- operators -->\n", "<!-- end of operators -->\n"
REASON = re.compile(
    r"'[\w.]+'(?: \(domain [\w.]+\))? \(([^()]*(?:\([^()]*\)[^()]*)*)\)"
)
LONGEST_REASON = 90

Record = Mapping[tuple[str, str], str]


def operators() -> Iterator[tuple[str, str, list[int]]]:
    """The domain, name and versions of each operator that is not deprecated."""
    versions: dict[tuple[str, str], list[int]] = defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        versions[schema.domain, schema.name].append(schema.since_version)
    for (domain, name), since in sorted(versions.items(), key=lambda item: item[0]):
        if domain in DOMAINS:
            yield domain, name, sorted(since)


def imported(domain: str, name: str) -> str:
    """How an operator comes in: by a handler, by the body that ONNX gives it, or not."""
    if name in handlers_of(domain) or control_flow_handler(domain, name):
        return "yes"
    schema = cast(BodySchema, defs.get_schema(name, domain=domain))
    by_body = schema.has_function or schema.has_context_dependent_function
    return "its body" if by_body else "no"


def reasons(record: Record, keys: Iterable[str]) -> str:
    """Why tests of an operator do not pass, each reason once."""
    found: Counter[str] = Counter()
    for key in keys:
        texts = {record[entry] for entry in record if entry[1] == key}
        for text in texts:
            kind, _, message = text.partition(": ")
            named = REASON.findall(message) if kind == "refused" else []
            found.update(named or [shortened(message)])
    return "; ".join(reason.replace("|", "\\|") for reason, _ in found.most_common(3))


def shortened(message: str) -> str:
    """The beginning of a message, without the node's name."""
    message = re.sub(r" at node '[^']*'| \(at node '[^']*'\)|'", "", message)
    return message[:LONGEST_REASON].rstrip()


def rows(cases: Iterable[Case], record: Record) -> Iterator[str]:
    """The lines of the table."""
    keys: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        nodes = case.load()[0].graph.node
        keys[main_operator(case, [node.op_type for node in nodes])].append(case.key)
    yield "| operator | versions | imported | tests | not |"
    yield "|---|---|---|--:|---|"
    lacking = {key for _, key in record}
    for domain, name, versions in operators():
        own = keys.get(name, [])
        missing = [key for key in own if key in lacking]
        tests = f"{len(own) - len(missing)} of {len(own)}" if own else ""
        text = ", ".join(map(str, versions))
        title = f"{domain}.{name}" if domain else name
        way = imported(domain, name)
        why = reasons(record, missing) if missing else ""
        yield f"| {title} | {text} | {way} | {tests} | {why} |"


def updated(page: str, cases: Iterable[Case], record: Record) -> str:
    """The page with its table made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = "".join(f"{line}\n" for line in rows(cases, record))
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def write_page(path: Path, cases: Iterable[Case], record: Record) -> None:
    """Write the table of a page anew."""
    path.write_text(updated(path.read_text(), cases, record))
