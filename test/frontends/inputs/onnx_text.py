"""Writes the ONNX model that a lit test spells in its `// MODEL:` lines.

// RUN: python %S/inputs/onnx_text.py %s %t.onnx
// MODEL: <ir_version: 8, opset_import: ["": 17]>
// MODEL: test (float[2] x) => (float[2] y) { y = Relu(x) }
"""

import sys
from pathlib import Path

import onnx

PREFIX = "// MODEL:"


def main() -> None:
    """Convert the text in the first argument's file to the second one."""
    source, target = map(Path, sys.argv[1:])
    lines = source.read_text().splitlines()
    text = [line.removeprefix(PREFIX) for line in lines if line.startswith(PREFIX)]
    target.write_bytes(onnx.parser.parse_model("\n".join(text)).SerializeToString())


if __name__ == "__main__":
    main()
