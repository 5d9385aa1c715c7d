"""The files of a bundle: objects that link anywhere, headers, weights, an example that runs."""

import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from importlib.util import find_spec

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from places import ROOT
from support.runtime.bundle_testing import ALL, NATIVE_TARGETS, bundle_of, written
from xdsl.parser import Parser

import glow
from glow.bundles.build import build_bundle
from glow.bundles.bundle import BundleSettings
from glow.bundles.elf import ObjectSymbols
from glow.bundles.names import default_name, function_names
from glow.bundles.object_code import missing_code
from glow.bundles.writer import bundle_files, write_files
from glow.compiler import load
from glow.dialects.errors import GlowError, UsageError
from glow.lowering.target.target import Target
from glow.options import CompileOptions
from glow.tools.glow import run_glow
from glow.universe import new_context

MLP = ROOT / "examples" / "digits" / "mlp.onnx"

needs_cc = pytest.mark.skipif(
    shutil.which("cc") is None or not NATIVE_TARGETS, reason="no C compiler"
)


def is_ours(name: str) -> bool:
    """Mapping symbols of Arm say what is code."""
    return name.startswith(("mlp", "$"))


@pytest.mark.parametrize(
    ("target", "settings"),
    [
        ("avx2", {}),
        ("neon", {"threads": True, "api": "dynamic", "weights": "linked"}),
        ("cortex-m4", {"optimize": "size"}),
    ],
)
def test_objects_define_names_of_the_bundle_only(target, settings):
    bundle = bundle_of("mlp", target, **settings)
    file = ObjectSymbols(bundle.object_code)
    assert [one.name for one in file.defined if not is_ours(one.name)] == []
    public = {one.name for one in file.defined if one.is_global}
    expected = {"mlp", "mlp_check"}
    if settings.get("threads"):
        expected |= {"mlp_slice", "mlp_config", "mlp_constants"}
    assert public == expected
    others = [name for name in file.undefined if not name.startswith("__")]
    assert set(others) <= {"memcpy", "memset"}
    assert not any("barrier" in one.name for one in file.symbols)
    assert all(size > 0 for size in bundle.kernel_bytes.values())
    assert len(bundle.kernel_bytes) >= 2


def test_linked_weights_have_a_section_of_their_own():
    bundle = bundle_of("mlp", "neon", api="dynamic", threads=True, weights="linked")
    file = ObjectSymbols(bundle.object_code)
    (section,) = [one for one in file.sections if one.name == ".rodata.mlp"]
    assert section.alignment >= bundle.alignment
    assert file.content(section) == bundle.constants.tobytes()
    files = bundle_files(bundle)
    assert not [name for name in files if "weights" in name]


def test_weights_are_bytes_and_text():
    bundle = bundle_of("mlp", "neon")
    files = bundle_files(bundle)
    assert files["mlp.weights.bin"] == bundle.constants.tobytes()
    lines = files["mlp.weights.txt"].decode().splitlines()
    assert all(re.fullmatch(r"(0X[0-9A-F]{2}, ?){1,20}", line) for line in lines)
    numbers = [
        int(word, 16) for word in "".join(lines).replace(" ", "").split(",")[:-1]
    ]
    assert bytes(numbers) == bundle.constants.tobytes()


def test_the_manifest_says_what_the_header_says():
    bundle = bundle_of("mlp", "neon")
    files = bundle_files(bundle)
    manifest = json.loads(files["mlp.json"])
    header = dict(
        re.findall(r"^#define MLP_(\w+) (.*)$", files["mlp.h"].decode(), re.M)
    )
    (entry,) = manifest["entries"]
    assert entry["symbol"] == "mlp"
    for place in (*entry["inputs"], *entry["outputs"]):
        prefix = place["macro"]
        assert header[f"{prefix}_OFFSET"] == f"{place['offset']}u"
        assert header[f"{prefix}_BYTES"] == f"{place['bytes']}u"
        shape = ", ".join(map(str, place["shape"]))
        assert header[f"{prefix}_SHAPE"] == f"{{{shape}}}"
        assert place["offset"] % manifest["alignment"] == 0
    for region in ("constants", "mutables", "activations"):
        size = manifest[f"{region}_bytes"]
        assert header[f"{region.upper()}_BYTES"] == f"{size}u"
    crc = zlib.crc32(bundle.constants)
    assert manifest["checksums"]["constants_crc32"] == crc
    assert int(header["CHECKSUM"].split("u")[0], 16) == crc
    assert manifest["target"]["name"] == "neon"
    assert manifest["kernel_bytes"] == bundle.kernel_bytes


def stored_integers() -> onnx.ModelProto:
    """Stored integers in and out: `0.5 (x - 3)` becomes `0.25 (y + 2)`."""
    numbers = {"s": np.float32(0.5), "z": np.int8(3)}
    numbers |= {"t": np.float32(0.25), "w": np.int8(-2)}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["floats"]),
        helper.make_node("QuantizeLinear", ["floats", "t", "w"], ["y"]),
    ]
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.INT8, [1, 8])] for name in "xy"
    )
    weights = [numpy_helper.from_array(n, name) for name, n in numbers.items()]
    graph = helper.make_graph(nodes, "stored", inputs, outputs, weights)
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def test_headers_say_what_stored_integers_stand_for(tmp_path):
    options = CompileOptions(target="neon")
    module = load(stored_integers(), options)
    bundle = build_bundle({"net": module}, options, BundleSettings("net"))
    files = bundle_files(bundle)
    header = files["net.h"].decode()
    assert "#define NET_X_SCALE 0.5f\n#define NET_X_ZERO_POINT (3)" in header
    assert "#define NET_Y_SCALE 0.25f\n#define NET_Y_ZERO_POINT (-2)" in header
    assert "pub const ZERO_POINT: i32 = -2;" in files["net.rs"].decode()
    (entry,) = json.loads(files["net.json"])["entries"]
    assert (entry["outputs"][0]["scale"], entry["inputs"][0]["zero_point"]) == (0.25, 3)


@needs_cc
@pytest.mark.parametrize(
    "settings",
    [{}, {"api": "dynamic", "weights": "linked", "optimize": "size"}],
    ids=["static", "dynamic"],
)
def test_the_example_runs(settings, tmp_path):
    """With every warning of C99 and C++ an error; and it finds wrong weights and outputs."""
    folder = written(bundle_of("mlp", **settings), tmp_path / "out")
    strict = "-std=gnu99 -Wall -Wextra -Werror"

    def make(*more):
        options = ["-sB", "--no-print-directory", f"CFLAGS={strict}"]
        command = ["make", *options, "run", *more]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True)

    done = make()
    assert (done.stdout, done.stderr) == ("OK\n", "")
    for language in ("c", "c++"):
        standard = {"c": "c99", "c++": "c++11"}[language]
        flags = ["-pedantic", "-Wall", "-Werror", "-fsyntax-only", "-x", language]
        command = ["cc", f"-std={standard}", *flags, folder / "mlp.h"]
        subprocess.run(command, check=True)
    sample = folder / "mlp.sample.h"
    text = sample.read_text()
    at = text.index("0x", text.index("sample_layer_5_linear[]")) + 3 * len("0x00, ")
    sample.write_text(text[:at] + "0xFF" + text[at + 4 :])
    done = make()
    assert done.returncode != 0
    assert "output 1 is wrong" in done.stdout
    if not settings:
        (folder / "mlp.weights.bin").write_bytes(bytes(79040))
        assert make().stdout == "error 1\n"


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no Rust")
def test_the_rust_module_compiles(tmp_path):
    folder = written(bundle_of("mlp", weights="linked"), tmp_path / "out")
    flags = ["--crate-type=lib", "--emit=metadata", "--edition=2021", "-Dwarnings"]
    source = "#![no_std]\n" + "pub mod mlp;\n"
    (folder / "lib.rs").write_text(source)
    subprocess.run(["rustc", *flags, "lib.rs"], cwd=folder, check=True)


BUILDS = {
    "one": ["mlp.onnx", "--target=avx2", "--api=dynamic"],
    "several": [
        "mlp.onnx",
        "other.onnx",
        "--threads",
        "--weights=linked",
        "--name=net",
    ],
    "library": ["mlp.onnx", "--shared", "--optimize=size"],
    "module": ["mlp.onnx", "--target=wasm-simd", "--quantize=mlp.yaml"],
}
if not ALL:
    del BUILDS["module"]
BUILDING = """
import os, sys
from glow.tools.glow import run_glow
os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
for line in sys.stdin:
    run_glow(line.split())
"""


def builds(folder):
    """Command lines that build bundles in a folder, of models there."""
    folder.mkdir(parents=True)
    for name in ("mlp.onnx", "other.onnx"):
        shutil.copy(MLP, folder / name)
    if "module" in BUILDS:
        data = ["--data", str(MLP.with_name("calibration.npz")), "--batches", "1"]
        profile = ["-o", str(folder / "mlp.yaml")]
        yield ["profile", str(folder / "mlp.onnx"), *data, *profile]
    for name, options in BUILDS.items():
        if name == "library" and not NATIVE_TARGETS:
            continue
        if name == "module" and find_spec("ziglang") is None:
            continue
        placed = [
            option.replace("mlp.yaml", str(folder / "mlp.yaml"))
            if option.startswith("-")
            else str(folder / option)
            for option in options
        ]
        yield ["compile", *placed, "--emit=bundle", "-o", str(folder / name)]


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_two_builds_have_the_same_bytes(tmp_path):
    """Whatever the folder, the seed of hashes, the number of cores, and earlier builds."""
    first, second = tmp_path / "first", tmp_path / "deep" / "er"
    for command in builds(first):
        run_glow(command)
    subprocess.run(
        [sys.executable, "-c", BUILDING],
        input="".join(" ".join(command) + "\n" for command in builds(second)),
        env={**os.environ, "PYTHONHASHSEED": "77"},
        check=True,
        capture_output=True,
        text=True,
    )
    one, other = content(first), content(second)
    assert one.keys() == other.keys()
    assert {name for name in one if one[name] != other[name]} == set()


@needs_cc
def test_a_shared_library_is_loaded(tmp_path):
    bundle = bundle_of("mlp", shared=True)
    folder = written(bundle, tmp_path / "out")
    (folder / "mlp.o").unlink()
    (sample,) = bundle.samples
    found = glow.load(folder)(sample.inputs[0])
    np.testing.assert_array_equal(found, sample.outputs[0])


def test_names_are_made_of_file_names():
    names = ["resnet-50.v2", "7zip", "class", "main", "Ünet", "___", "log", "weights"]
    found = [default_name(name) for name in names]
    expected = ["resnet_50_v2", "network_7zip", "network_class", "main_network", "net"]
    assert found == [*expected, "network", "log_network", "weights_network"]
    assert function_names(["a", "a", "b"]) == ["a", "a_2", "b"]
    # `NAME_check` is a function of a bundle of several networks.
    assert function_names(["check", "constants", "slice"]) == [
        "check_network",
        "constants_network",
        "slice",
    ]
    assert function_names(["error", "before"]) == ["error_2", "before_2"]


REFUSED = {
    "no C identifier": ["--name=4you"],
    "a keyword": ["--name=class"],
    "is a name of the C library": ["--name=memcpy"],
    "is a keyword of C, C++ or Rust": ["--name=gen"],
    "'weights' is a name of": ["--name=weights"],
    "unknown target 'cortex-m44'; did you mean 'cortex-m4'": ["--target=cortex-m44"],
    "bytes of ram, and there are 16: the largest buffer": ["--ram=16"],
    "bytes of flash, and there are 16: the largest weight": ["--flash=16"],
    "exclude each other": ["--threads", "--debug-callbacks"],
    "unknown feature 'dotpro' of aarch64": [
        "--target=neon",
        "--target-features=+dotpro",
    ],
    "has no shared libraries": ["--target=cortex-m4", "--shared"],
}


@pytest.mark.parametrize("message", REFUSED)
def test_wrong_requests_write_nothing(message, tmp_path):
    folder = tmp_path / "out"
    command = ["compile", str(MLP), "--emit=bundle", "-o", str(folder)]
    with pytest.raises(GlowError) as error:
        run_glow([*command, *REFUSED[message]])
    assert not isinstance(error.value, UsageError)  # The exit status is 1.
    assert message in str(error.value)
    assert not list(tmp_path.iterdir())


def test_operators_without_code_for_the_target_are_refused():
    text = """
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %angle = glow.sin %x : tensor<4xf64>
  func.return %angle : tensor<4xf64>
}
"""
    options = CompileOptions(target="neon")
    module = Parser(new_context(), text).parse_module()
    message = r"calls sin, which bundles do not have \(at node 'sin'\)"
    with pytest.raises(GlowError, match=message) as error:
        build_bundle({"net": module}, options, BundleSettings("net"))
    assert "neon" in str(error.value)
    assert "f32 only" in str(error.value)


def test_all_functions_without_code_are_told():
    calls = {"sin": "angle", "exp": "power", "pow": None}
    text = str(missing_code(calls, Target.from_string("wasm-simd")))
    assert "wasm-simd calls sin (at node 'angle'), exp (at node 'power'), pow" in text


def test_a_profile_of_another_network_is_refused(tmp_path):
    from benchmarks.networks import embedded

    profile = tmp_path / "other.yaml"
    model = embedded.keyword_spotting()
    embedded.profile_of(model, 1).save(profile)
    folder = tmp_path / "out"
    command = ["compile", str(MLP), "--emit=bundle", "-o", str(folder)]
    with pytest.raises(GlowError, match="profile"):
        run_glow([*command, f"--quantize={profile}"])
    assert not folder.exists()


def test_folders_of_others_are_left_alone(tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    command = ["compile", str(MLP), "--emit=bundle", "-o"]
    with pytest.raises(GlowError, match="it is not a folder"):
        run_glow([*command, str(file)])
    assert file.read_text() == "mine"
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Makefile").write_text("all:")
    with pytest.raises(GlowError, match="its Makefile is not of a bundle 'mlp'"):
        run_glow([*command, str(folder)])
    assert (folder / "Makefile").read_text() == "all:"
    assert len(list(folder.iterdir())) == 1


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    files = bundle_files(bundle_of("mlp", "neon"))
    written_bytes, write = [], type(tmp_path).write_bytes

    def full(path, content):
        written_bytes.append(path)
        if len(written_bytes) == 4:
            raise OSError(28, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(type(tmp_path), "write_bytes", full)
    with pytest.raises(GlowError, match="no space left on device"):
        write_files(files, tmp_path / "deep" / "out")
    assert not list(tmp_path.iterdir())
    assert BundleSettings("x").weights == "file"
