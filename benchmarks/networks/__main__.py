"""Writes networks as ONNX files.

python -m benchmarks.networks resnet50 -o resnet50.onnx
python -m benchmarks.networks --all models/
"""

import argparse
import sys
from pathlib import Path

from benchmarks.networks import (
    FEW_BITS_NETWORKS,
    NETWORKS,
    QUANTIZED_NETWORKS,
    WIDER_NETWORKS,
)

KNOWN = {**NETWORKS, **WIDER_NETWORKS, **FEW_BITS_NETWORKS, **QUANTIZED_NETWORKS}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.networks",
        description="Write networks as ONNX files.",
    )
    parser.add_argument("name", nargs="?", choices=KNOWN, metavar="NAME")
    parser.add_argument("-o", "--output", type=Path, help="default: NAME.onnx")
    parser.add_argument(
        "--all", type=Path, metavar="DIR", help="write every float network"
    )
    parser.add_argument("--list", action="store_true", help="print the names")
    arguments = parser.parse_args()
    if arguments.list:
        print(*KNOWN, sep="\n")
    elif arguments.all:
        arguments.all.mkdir(parents=True, exist_ok=True)
        for name in NETWORKS:
            write(name, arguments.all / f"{name}.onnx")
    elif arguments.name:
        write(arguments.name, arguments.output or Path(f"{arguments.name}.onnx"))
    else:
        parser.error(f"a NAME, --all or --list is needed; names: {', '.join(KNOWN)}")
    return 0


def write(name: str, path: Path) -> None:
    """Build the network `name` and save it at `path`."""
    print(f"{name} -> {path}", file=sys.stderr)
    path.write_bytes(KNOWN[name]().SerializeToString())


if __name__ == "__main__":
    sys.exit(main())
