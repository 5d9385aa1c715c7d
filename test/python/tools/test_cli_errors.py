"""Bad input to the tools: one clear line, exit code 1, nothing written."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from glow.diagnostics import run_reporting
from glow.tools import progress
from glow.tools.glow import run_glow
from glow.tools.glow_opt import run_glow_opt


@dataclass(frozen=True)
class Outcome:
    """What a run of a tool left behind."""

    code: int
    stdout: str
    stderr: str


Tool = Callable[..., Outcome]


@pytest.fixture
def glow_opt(capsys: pytest.CaptureFixture[str]) -> Tool:
    """Runs `glow-opt` with the given arguments."""
    return tool(capsys, "glow-opt", run_glow_opt)


@pytest.fixture
def glow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    """Runs `glow` with the given arguments, and without progress on slow machines."""
    monkeypatch.setattr(progress, "PATIENCE", 3600.0)
    return tool(capsys, "glow", run_glow)


def tool(
    capsys: pytest.CaptureFixture[str],
    name: str,
    main: Callable[[list[str]], int | None],
) -> Tool:
    """Runs a program in this process."""

    def run(*arguments: object) -> Outcome:
        code = run_reporting(name, lambda: main([*map(str, arguments)]), debug=False)
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def relu(tmp_path: Path) -> Path:
    """A model with one node: `y = Relu(x)` on float32[2, 3]."""
    return save_model(tmp_path / "relu.onnx", "Relu", [2, 3])


def save_model(path: Path, operator: str, output_shape: list[int]) -> Path:
    """Write a model of one node from `x`, float32[2, 3], to `y`."""
    node = helper.make_node(operator, ["x"], ["y"], name="the_node")
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, output_shape)],
    )
    opset = helper.make_opsetid("", 20)
    onnx.save(helper.make_model(graph, opset_imports=[opset]), str(path))
    return path


def assert_one_line(outcome: Outcome, *parts: str, code: int = 1) -> None:
    """The run failed with one line on stderr that holds all `parts`."""
    assert outcome.code == code
    assert outcome.stdout == ""
    lines = outcome.stderr.splitlines()
    assert len(lines) == 1, outcome.stderr
    assert "internal error" not in lines[0]
    for part in ("error: ", *parts):
        assert part in lines[0]


def assert_usage(outcome: Outcome, *parts: str) -> None:
    """The command line makes no sense."""
    assert_one_line(outcome, *parts, code=2)


def files_in(folder: Path) -> set[str]:
    """The names of all files below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


# Input files


def test_truncated_onnx(glow_opt: Tool, glow: Tool, relu: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(relu.read_bytes()[:-20])
    before = files_in(tmp_path)
    assert_one_line(glow_opt(cut, "-o", tmp_path / "out.mlir"), "cut.onnx")
    assert_one_line(glow("run", cut, "--output", tmp_path / "out"), "cut.onnx")
    assert_one_line(glow("compile", cut, "-o", tmp_path / "out.o"), "cut.onnx")
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("tool", ["glow-opt", "glow"])
def test_unknown_operator(
    tool: str, glow_opt: Tool, glow: Tool, tmp_path: Path
) -> None:
    model = save_model(tmp_path / "model.onnx", "NoSuchOperator", [2, 3])
    outcome = glow_opt(model) if tool == "glow-opt" else glow("run", model)
    assert_one_line(outcome, "NoSuchOperator", "the_node")


def test_contradicting_onnx_shape(glow_opt: Tool, tmp_path: Path) -> None:
    model = save_model(tmp_path / "model.onnx", "Relu", [4, 5])
    outcome = glow_opt(model)
    assert outcome.code == 0
    assert outcome.stderr.startswith("warning: output 'y' is declared as 4x5")
    assert outcome.stderr.count("\n") == 1


def test_contradicting_mlir_shape(glow_opt: Tool, tmp_path: Path) -> None:
    program = tmp_path / "in.mlir"
    program.write_text(
        "func.func @main(%x: tensor<2x3xf32>) -> tensor<4x5xf32> {\n"
        "  %y = glow.relu %x : tensor<4x5xf32>\n"
        "  func.return %y : tensor<4x5xf32>\n"
        "}\n"
    )
    assert_one_line(glow_opt(program), f"{program}:2:3: error: ", "glow.relu")


PROGRAM = """\
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {note = "a note"} {
  %y = glow.relu %x : tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


@pytest.mark.parametrize("level", ["graph", "instr"])
def test_quantized_interface(
    level: str, glow_opt: Tool, glow: Tool, tmp_path: Path
) -> None:
    program = tmp_path / "in.mlir"
    program.write_text(
        "!q = !quant.uniform<i8:f32, 0.5>\n"
        "func.func @main(%x: tensor<2x!q>) -> tensor<2x!q> {\n"
        "  func.return %x : tensor<2x!q>\n"
        "}\n"
    )
    if level == "instr":
        passes = ("--glow-to-instr", "--plan-memory")
        assert glow_opt(program, *passes, "-o", program).code == 0
    for command in (["run"], ["compile", "-o", tmp_path / "out.o"]):
        outcome = glow(*command, program)
        assert_one_line(outcome, f"{program}:", "@main takes or returns", "quant.qcast")


def test_log_of_what_is_no_instruction(glow_opt: Tool, tmp_path: Path) -> None:
    program = tmp_path / "in.mlir"
    program.write_text(
        "func.func @main(%x: memref<4xf32>, %n: index) {\n  func.return\n}\n"
    )
    outcome = glow_opt("--record-kernels", program)
    assert_one_line(outcome, "arguments must be memrefs, not index")


@pytest.mark.parametrize("end", range(1, len(PROGRAM) - 2, 7))
def test_truncated_mlir(end: int, glow_opt: Tool, tmp_path: Path) -> None:
    program = tmp_path / "in.mlir"
    program.write_text(PROGRAM[:end])
    assert_one_line(glow_opt(program, "-o", tmp_path / "out.mlir"), f"{program}:")
    assert files_in(tmp_path) == {"in.mlir"}


def test_truncated_inside_string(glow_opt: Tool, glow: Tool, tmp_path: Path) -> None:
    program = tmp_path / "in.mlir"
    program.write_text(PROGRAM[: PROGRAM.index('note"')] + 100 * "x")
    place = f"{program}:1:{PROGRAM.index('a note')}"
    assert_one_line(glow_opt(program), place, "string literal is not closed")
    assert_one_line(glow("run", program), place, "string literal is not closed")


def test_missing_weight_file(glow_opt: Tool, glow: Tool, tmp_path: Path) -> None:
    program = tmp_path / "in.mlir"
    program.write_text(
        'builtin.module attributes {glow.weights = #glow.weights<"w.safetensors">} {\n'
        "}\n"
    )
    assert_one_line(glow_opt(program), "w.safetensors", "does not exist")
    assert_one_line(glow("run", program), "w.safetensors", "does not exist")


@pytest.mark.parametrize("name", ["absent.onnx", "absent.mlir"])
def test_missing_input(name: str, glow_opt: Tool, glow: Tool, tmp_path: Path) -> None:
    assert_one_line(glow_opt(tmp_path / name), name)
    assert_one_line(glow("run", tmp_path / name), name)
    assert_one_line(glow("compile", tmp_path / name, "--emit=graph"), name)


def test_unknown_kind_of_file(glow_opt: Tool, glow: Tool, tmp_path: Path) -> None:
    assert_one_line(glow_opt(tmp_path / "model.pb"), "model.pb", "unknown kind")
    assert_one_line(glow("run", tmp_path / "model.pb"), "model.pb", "unknown kind")


# Passes and options


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--canonicalise"], ["'--canonicalise'", "did you mean '--canonicalize'?"]),
        (["-p", "canonicalise"], ["'canonicalise'", "did you mean 'canonicalize'?"]),
        (["--cse=size=3"], ["unknown option 'size' of pass 'cse'"]),
        (["--pass-pipeline"], ["--pass-pipeline needs a pipeline"]),
        (["-t", "nothing"], ["invalid choice: 'nothing'"]),
        (["--mlir-elide-elementsattrs-if-larger=x"], ["invalid int value"]),
        (
            ["--quantize=per-channel=maybe"],
            [
                "option 'per_channel' of pass 'quantize' must be true or false, not maybe"
            ],
        ),
        (
            ["--assign-layout=weight-growth=much"],
            ["option 'weight_growth'", "must be a number, not much"],
        ),
        (["--plan-memory=limit=1.5"], ["must be a whole number, not 1.5"]),
        (["--plan-memory=limit=1,2"], ["must be a whole number, not 1,2"]),
    ],
)
def test_unknown_pass_or_option(
    arguments: list[str], parts: list[str], glow_opt: Tool, relu: Path
) -> None:
    assert_usage(glow_opt(relu, *arguments), *parts)


def test_option_that_a_pass_refuses(glow_opt: Tool, relu: Path) -> None:
    outcome = glow_opt(relu, "--assign-layout=weight-growth=-1")
    assert_one_line(outcome, "assign-layout: weight_growth must not be negative: -1.0")


def test_unknown_option_of_glow(glow: Tool, relu: Path) -> None:
    assert_usage(glow("run", relu, "--thread-count", "2"), "--thread-count")
    assert_usage(glow("run", relu, "--threads", "0"), "less than 1")
    assert_usage(
        glow("run", relu, "--threads", "two"), "expected a whole number, not 'two'"
    )
    assert_usage(glow("run", relu, "--seed", "-1"), "-1 is less than 0")
    assert_usage(glow("explode"), "explode")
    assert_usage(glow("compile", relu, "--emit=magic"), "magic")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "the profile has no name"),
        ("profile=", "'profile=' is not KEY=VALUE"),
        ("schema='symmetric", "No closing quotation"),
        ("schema=symmetric profile", "'profile' is not KEY=VALUE"),
        ("schema=round", "unknown schema 'round'; one of asymmetric"),
        ("shema=symmetric", "did you mean 'schema'?"),
        ("per_channel=maybe", "is true or false, not 'maybe'"),
    ],
)
def test_quantization_that_makes_no_sense(
    text: str, part: str, glow: Tool, relu: Path
) -> None:
    for command in ("run", "report"):
        assert_usage(glow(command, relu, "--quantize", text), "--quantize", part)


def test_choices_that_are_not_there(glow_opt: Tool, glow: Tool, relu: Path) -> None:
    assert_usage(glow_opt(relu, "--quantize=schema=round"), "unknown schema 'round'")
    assert_usage(glow_opt(relu, "-p", "quantize{"), "cannot parse 'quantize{'")
    assert_usage(glow("run", relu, "--target-cpu", "z80"), "unknown target 'z80'")
    assert_usage(glow("run", relu, "--target-features", "fma"), "'fma' has no sign")
    assert_usage(glow_opt(relu, "--target-cpu", "z80"), "unknown target 'z80'")
    report = ("quantize-report", relu, "--profile", relu, "--options")
    assert_usage(glow(*report, "schema=round"), "unknown schema 'round'")


def test_input_given_twice(glow: Tool, relu: Path) -> None:
    given = ("--input", "x=one.npy", "--input", "x=two.npy")
    assert_usage(glow("run", relu, *given), "--input x is given twice")


# Output folders. The tests may run as root, whom permissions do not stop: a regular file
# where a folder should be stops everybody.


def test_unwritable_output(glow_opt: Tool, glow: Tool, relu: Path) -> None:
    inside = relu / "folder"
    before = files_in(relu.parent)
    assert_one_line(glow_opt(relu, "-o", inside / "out.mlir"), "cannot write into")
    assert_one_line(glow("run", relu, "--output", inside), "cannot write into")
    assert_one_line(glow("compile", relu, "-o", inside / "out.o"), "cannot write into")
    assert files_in(relu.parent) == before


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="Linux names no files")
def test_output_where_no_file_can_be(glow_opt: Tool, glow: Tool, relu: Path) -> None:
    place = "/proc/out.mlir"
    assert_one_line(glow_opt(relu, "-o", place), f"cannot write {place}: ")
    compiled = glow("compile", relu, "--emit=graph", "-o", place)
    assert_one_line(compiled, f"cannot write {place}: ")


def test_output_is_a_folder(glow_opt: Tool, relu: Path) -> None:
    assert_one_line(glow_opt(relu, "-o", relu.parent), "it is a folder")


def test_folder_for_a_trace(glow: Tool, relu: Path) -> None:
    outcome = glow("run", relu, "--profile", "--trace", relu.parent)
    assert_one_line(outcome, "it is a folder")


def test_object_needs_a_file(glow: Tool, relu: Path) -> None:
    assert_usage(glow("compile", relu), "-o FILE")


# Inputs at run time


def run_with(glow: Tool, model: Path, name: str, array: np.ndarray) -> Outcome:
    """`glow run` on one array."""
    file = model.parent / "value.npy"
    np.save(file, array)
    return glow("run", model, "--input", f"{name}={file}")


def test_wrong_input_shape(glow: Tool, relu: Path) -> None:
    outcome = run_with(glow, relu, "x", np.zeros((3, 2), np.float32))
    assert_one_line(outcome, "'x'", "3", "2")


def test_input_tells_open_sizes(glow: Tool, tmp_path: Path) -> None:
    model = onnx.load(str(save_model(tmp_path / "relu.onnx", "Relu", [2, 3])))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "rows"
    onnx.save(model, str(tmp_path / "open.onnx"))
    for name in ("", "x="):
        np.save(tmp_path / "value.npy", np.ones((7, 3), np.float32))
        given = f"{name}{tmp_path / 'value.npy'}"
        outcome = glow("run", tmp_path / "open.onnx", "--input", given)
        assert outcome.code == 0
        assert "output 'y': 7x3 float32" in outcome.stdout


def test_wrong_input_dtype(glow: Tool, relu: Path) -> None:
    outcome = run_with(glow, relu, "x", np.zeros((2, 3), np.float64))
    assert_one_line(outcome, "'x'", "float64", "float32")


def test_wrong_input_name(glow: Tool, relu: Path) -> None:
    outcome = run_with(glow, relu, "z", np.zeros((2, 3), np.float32))
    assert_one_line(outcome, "no input 'z'", "inputs: x")


def test_input_is_no_array(glow: Tool, relu: Path) -> None:
    assert_one_line(glow("run", relu, "--input", f"x={relu}"), "is not an .npy file")
    absent = relu.parent / "absent.npy"
    assert_one_line(glow("run", relu, "--input", f"x={absent}"), "absent.npy")


def test_pickled_input_is_refused(glow: Tool, relu: Path) -> None:
    outcome = run_with(glow, relu, "x", np.array([{}], dtype=object))
    assert_one_line(outcome, "is not an .npy file")


def test_a_pipe_is_no_model(glow: Tool, tmp_path: Path) -> None:
    """Waiting for who writes into it would last for ever."""
    pipe = tmp_path / "pipe.onnx"
    os.mkfifo(pipe)
    assert_one_line(glow("run", pipe), "pipe.onnx: is not a file")
    assert_one_line(glow("run", make_folder(tmp_path / "m.onnx")), "is a folder")


def make_folder(path: Path) -> Path:
    """The path, of a new folder."""
    path.mkdir()
    return path


def test_lines_do_not_steer_the_terminal(glow: Tool, tmp_path: Path) -> None:
    """Names in a file are somebody else's."""
    text = tmp_path / "text.mlir"
    text.write_bytes(b"\0\1")
    assert_one_line(glow("run", text), r"Unexpected character: \x00")
    model = onnx.load(str(save_model(tmp_path / "relu.onnx", "Nope\x1b[2J", [2, 3])))
    onnx.save(model, str(tmp_path / "relu.onnx"))
    assert_one_line(glow("run", tmp_path / "relu.onnx"), r"'Nope\x1b[2J'")
