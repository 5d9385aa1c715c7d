"""Our dialects in IRDL: upstream's mlir-opt verifies our generic text by them."""

import subprocess

import pytest
from support.programs.upstream import ABSENT, find_mlir_opt

from glow.exporters.irdl import irdl_text
from glow.tools.glow_opt import run_glow_opt
from glow.tools.opt.listings import OWN_DIALECTS
from glow.universe import new_context

pytestmark = pytest.mark.skipif(find_mlir_opt() is None, reason=ABSENT)


def upstream(*arguments):
    return subprocess.run(
        [find_mlir_opt(), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("irdl")
    context = new_context()
    for name in OWN_DIALECTS:
        text = irdl_text(context.get_dialect(name))
        (folder / f"{name}.irdl").write_text(text)
    return folder


@pytest.mark.parametrize("name", OWN_DIALECTS)
def test_upstream_reads_the_dialects(folder, name):
    done = upstream(folder / f"{name}.irdl")
    assert done.returncode == 0, done.stderr[:1000]
    context = new_context()
    names = [op.name for op in context.get_dialect(name).operations]
    plain = [one for one in names if one.count(".") == 1]
    assert done.stdout.count("irdl.operation @") == len(plain)


NETWORK = """
func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x8x8x8xf32> {
  %w = glow.constant dense<0.5> : tensor<8x3x3x3xf32>
  %0 = glow.conv2d %x, %w pads [1, 1, 1, 1] activation "relu" : tensor<1x8x8x8xf32>
  %1 = glow.softmax %0 axis 1 : tensor<1x8x8x8xf32>
  func.return %1 : tensor<1x8x8x8xf32>
}
"""


def test_upstream_verifies_a_graph(folder):
    source, text = folder / "graph.mlir", folder / "generic.mlir"
    source.write_text(NETWORK)
    options = ["--mlir-print-op-generic", "--print-no-properties"]
    run_glow_opt([str(source), *options, "-o", str(text)])
    known = f"--irdl-file={folder / 'glow.irdl'}"
    done = upstream(known, "--cse", "--canonicalize", text)
    assert done.returncode == 0, done.stderr[:1000]
    assert '"glow.conv2d"' in done.stdout
    wrong = folder / "wrong.mlir"
    wrong.write_text(text.read_text().replace("group = 1 : i64, ", ""))
    done = upstream(known, wrong)
    assert done.returncode
    assert 'attribute "group" is expected' in done.stderr.replace("'", '"')
    wrong.write_text(text.read_text().replace("glow.softmax", "glow.hardmax"))
    done = upstream(known, wrong)
    assert "glow.hardmax" in done.stderr
