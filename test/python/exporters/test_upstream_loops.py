"""Networks as loops that upstream's tools compile and run, by the commands of the documentation."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from support.programs.upstream import ABSENT, find_mlir_opt

from glow.tools.glow import run_glow

DOCUMENT = Path(__file__).parents[3] / "docs" / "interop.md"

NETWORK = """
func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = glow.constant dense<0.5> : tensor<3x4xf32>
  %0 = glow.matmul %x, %w : tensor<2x4xf32>
  %1 = glow.softmax %0 axis 1 : tensor<2x4xf32>
  func.return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}
"""

CHECK = """
  func.func @check() -> f32 {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %three = arith.constant 3 : index
    %x = memref.alloc() : memref<2x3xf32>
    %y = memref.alloc() : memref<2x4xf32>
    %z = memref.alloc() : memref<2x4xf32>
    %number = arith.constant 5.0 : f32
    scf.for %i = %zero to %two step %one {
      scf.for %j = %zero to %three step %one {
        memref.store %number, %x[%i, %j] : memref<2x3xf32>
      }
    }
    func.call @main(%x, %y, %z) : (memref<2x3xf32>, memref<2x4xf32>, memref<2x4xf32>) -> ()
    %a = memref.load %y[%one, %three] : memref<2x4xf32>
    %b = memref.load %z[%one, %three] : memref<2x4xf32>
    %c = arith.addf %a, %b : f32
    func.return %c : f32
  }
"""


def documented_commands():
    """The commands that compile and run loops, as lists of words."""
    section = DOCUMENT.read_text().partition("### Loops")[2].partition("\n### ")[0]
    (block,) = re.findall(r"```sh\n(.*?)```", section, re.S)
    return [shlex.split(line) for line in block.strip().split("\n")]


def neighbour(program, name):
    return program.with_name(program.name.replace("mlir-opt", name))


@pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)
def test_the_documented_commands(tmp_path):
    compile_it, lower_it, run_it = documented_commands()
    (tmp_path / "model.mlir").write_text(NETWORK)
    assert compile_it[:3] == ["glow", "compile", "model.onnx"]
    loops = tmp_path / "loops.mlir"
    emit = compile_it[3]
    run_glow(["compile", str(tmp_path / "model.mlir"), emit, "-o", str(loops)])
    text = loops.read_text()
    assert "glow." not in text
    head, brace, rest = text.partition("({")
    loops.write_text(head + brace + CHECK + rest)
    program = find_mlir_opt()
    runner = neighbour(program, "mlir-runner")
    if not runner.exists():
        pytest.skip("mlir-runner is missing beside mlir-opt")
    places = {"model.mlir": loops, "model.llvm.mlir": tmp_path / "model.llvm.mlir"}
    for tool, words in ((program, lower_it[1:]), (runner, run_it[1:])):
        command = [tool, *(places.get(word, word) for word in words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]
    assert float(done.stdout) == 7.75
