"""Bundles for WebAssembly: run by wasmtime, by Node, and by a browser where there is one."""

import functools
import http.server
import json
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, save

import glow
from benchmarks.networks import embedded
from glow.bundles.wasm.object_file import WasmSymbols
from glow.dialects.errors import GlowError
from glow.tools.glow import run_glow

wasmtime = pytest.importorskip("wasmtime")
pytest.importorskip("ziglang")

NODE = shutil.which("node")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)

FLOAT, INT8 = "float", "int8"
FLOAT32 = TensorProto.FLOAT
TARGETS = ("wasm", "wasm-simd", "wasm-relaxed-simd")


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profile") / "digits.yaml"
    embedded.profile_of(embedded.digits()).save(path)
    return path


@functools.cache
def bundle(root: Path, profile: Path, target: str, kind: str) -> Path:
    """A folder with the digits network."""
    folder = root / f"{target}.{kind}"
    command = ["compile", str(embedded.DIGITS), "--emit=bundle", f"--target={target}"]
    quantize = [f"--quantize={profile}"] if kind == INT8 else []
    run_glow([*command, *quantize, "--name=lenet", "-o", str(folder)])
    return folder


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory, profile: Path):
    return functools.partial(bundle, tmp_path_factory.mktemp("bundles"), profile)


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return np.random.default_rng(7).standard_normal((1, 1, 8, 8)).astype(np.float32)


@pytest.mark.parametrize("target", TARGETS)
def test_floats_differ_by_rounding_only(build, image, target) -> None:
    expected = glow.compile(embedded.digits())(image)
    given = glow.load(build(target, FLOAT), emulate=True)(image)
    assert np.abs(given - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("target", TARGETS)
def test_int8_is_equal_bit_for_bit(build, profile, image, target) -> None:
    network = glow.compile(embedded.digits(), quantize=glow.Profile.load(profile))
    bundle = glow.load(build(target, INT8), emulate=True)
    extreme = image.copy()
    extreme.flat[:8] = [np.inf, -np.inf, np.nan, 3e38, -3e38, 3e5, -3e5, -0.0]
    for each in (image, extreme):
        np.testing.assert_array_equal(bundle(each), network(each))


def convolutions(layers: Sequence[tuple[tuple[int, int], list[int]]]) -> ModelProto:
    """Convolutions of 3 x 3 taps, of so many channels and pads, one behind the other."""
    random = np.random.default_rng(3)
    (channels, _), _ = layers[0]
    nodes, weights = [], []
    for k, ((inputs, outputs), pads) in enumerate(layers):
        taps = random.random((outputs, inputs, 3, 3), np.float32) - 0.5
        taps[-1] = 1  # As stored numbers these sums are the largest that bytes allow.
        weights.append(numpy_helper.from_array(taps, f"w{k}"))
        nodes.append(
            helper.make_node("Conv", [f"x{k}", f"w{k}"], [f"x{k + 1}"], pads=pads)
        )
    graph = helper.make_graph(
        nodes,
        "convolutions",
        [helper.make_tensor_value_info("x0", FLOAT32, (1, channels, 7, 11))],
        [helper.make_tensor_value_info(f"x{len(layers)}", FLOAT32, None)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


WHOLE, ODD = [1, 1, 1, 1], [0, 1, 1, 0]


@pytest.mark.parametrize("size", [False, True])
@pytest.mark.parametrize(
    "layers",
    [
        [((21, 18), ODD), ((18, 9), WHOLE)],  # tiles of four
        [((130, 24), WHOLE)],  # sums that only tiles of two have room for
    ],
)
def test_transformed_bytes_are_exact(tmp_path, layers, size) -> None:
    """Winograd convolutions of bytes give the bits of direct sums; for size there are none."""
    model, path = convolutions(layers), tmp_path / "model.onnx"
    save(model, path)
    profile, out = embedded.profile_of(model), tmp_path / "out"
    profile.save(tmp_path / "profile.yaml")
    command = ["compile", str(path), "--emit=bundle", "--target=wasm-simd"]
    optimize = ["--optimize=size"] if size else []
    quantize = f"--quantize={tmp_path / 'profile.yaml'}"
    run_glow([*command, *optimize, quantize, "--name=network", "-o", str(out)])
    kernels = json.loads((out / "network.json").read_text())["kernel_bytes"]
    assert any("int8_winograd" in kernel for kernel in kernels) != size
    network, bundle = (
        glow.compile(model, quantize=profile),
        glow.load(out, emulate=True),
    )
    shape = network.inputs[0].shape
    largest = np.full(shape, 1e9, np.float32)
    inputs = [np.random.default_rng(5).standard_normal(shape).astype(np.float32)]
    for each in (*inputs, largest, -largest):
        np.testing.assert_array_equal(bundle(each), network(each))


def test_modules_import_nothing_and_have_no_calls_of_libm(build) -> None:
    module = wasmtime.Module.from_file(
        wasmtime.Engine(), build("wasm-simd", FLOAT) / "lenet.wasm"
    )
    assert not module.imports
    names = {export.name for export in module.exports}
    assert names == {"memory", "__heap_base", "lenet", "lenet_check"}


@pytest.mark.skipif(NODE is None, reason="node is missing")
@pytest.mark.parametrize("kind", [FLOAT, INT8])
def test_node_runs_the_sample(build, kind) -> None:
    script = build("wasm-simd", kind) / "lenet.sample.mjs"
    done = subprocess.run([NODE, script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "OK\n", "")


@pytest.mark.skipif(NODE is None, reason="node is missing")
def test_node_refuses_wrong_inputs_and_weights(build, tmp_path) -> None:
    folder = shutil.copytree(build("wasm", FLOAT), tmp_path / "copy")
    weights = folder / "lenet.weights.bin"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x55")
    script = folder / "test.mjs"
    script.write_text(
        """
        import { load } from './lenet.mjs';
        import { load as loadOther } from 'FOLDER/lenet.mjs';
        const say = (error) => console.log(error.message);
        await load().catch(say);
        const network = await loadOther();
        const image = new Float32Array(64);
        for (const inputs of [{}, { image: new Float64Array(64) }, { image, more: 1 }])
          try { network.run(inputs); } catch (error) { say(error); }
        console.log(network.run({ image }).logits.constructor.name);
        """.replace("FOLDER", str(build("wasm", FLOAT)))
    )
    done = subprocess.run([NODE, script], capture_output=True, text=True, timeout=60)
    wrong = "lenet: input 'image' must be a Float32Array of 64 (float32[1,1,8,8])"
    assert done.stdout.splitlines() == [
        "lenet: the weights are not those of the code",
        wrong,
        wrong,
        "lenet: no input 'more'",
        "Float32Array",
    ]


WATCHING_PAGE = b"""<!doctype html><iframe src="index.html"></iframe><script>
setInterval(() => {
  const result = frames[0].document.getElementById('result')?.textContent;
  if (result && result !== '...') fetch('/result?' + encodeURIComponent(result));
}, 20);
</script>"""


class WatchingHandler(http.server.SimpleHTTPRequestHandler):
    """Serves a bundle, and a page around it that tells what the bundle's page shows."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == "/result":
            self.server.results.put(query)
        if path not in ("/result", "/watch"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(WATCHING_PAGE)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.skipif(BROWSER is None, reason="no browser")
def test_a_browser_shows_ok(build, tmp_path) -> None:
    handler = functools.partial(WatchingHandler, directory=build("wasm-simd", FLOAT))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.results = queue.Queue()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu"]
        command += [f"--user-data-dir={tmp_path}", "--no-first-run"]
        address = f"http://127.0.0.1:{server.server_port}/watch"
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        browser = subprocess.Popen(
            [*command, address], **silent, start_new_session=True
        )
        try:
            assert server.results.get(timeout=90) == "OK"
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()
            server.shutdown()


def test_linked_weights_are_in_the_module(tmp_path, image, build) -> None:
    command = ["compile", str(embedded.DIGITS), "--emit=bundle", "--target=wasm-simd"]
    run_glow([*command, "--weights=linked", "--name=lenet", "-o", str(tmp_path / "o")])
    assert not (tmp_path / "o" / "lenet.weights.bin").exists()
    given = glow.load(tmp_path / "o", emulate=True)(image)
    expected = glow.load(build("wasm-simd", FLOAT), emulate=True)(image)
    np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("option", ["--threads", "--shared", "--pic"])
def test_options_without_use_are_refused(tmp_path, option) -> None:
    command = ["compile", str(embedded.DIGITS), "--emit=bundle", "--target=wasm"]
    with pytest.raises(GlowError, match=f"^{option} is not for WebAssembly: "):
        run_glow([*command, option, "-o", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


def test_modules_of_other_machines_do_not_run_here(build) -> None:
    with pytest.raises(GlowError, match="the bundle is for wasm "):
        glow.load(build("wasm", FLOAT))


def test_damaged_modules_are_refused(build, tmp_path) -> None:
    folder = shutil.copytree(build("wasm", FLOAT), tmp_path / "copy")
    (folder / "lenet.wasm").write_bytes(b"\0asm\1\0\0\0\7")
    with pytest.raises(GlowError, match=r"lenet\.wasm is no module"):
        glow.load(folder, emulate=True)


def test_symbols_of_an_object_tell_what_is_missing() -> None:
    from glow.lowering.target.target import Target
    from glow.runtime.native_code import compile_object

    text = """
    declare i32 @elsewhere(i32)
    @table = global [2 x i32] [i32 1, i32 2]
    define i32 @here(i32 %x) {
      %slot = getelementptr i32, ptr @table, i32 %x
      %value = load i32, ptr %slot
      %y = call i32 @elsewhere(i32 %value)
      ret i32 %y
    }"""
    symbols = WasmSymbols(compile_object(text, Target.from_string("wasm")))
    assert [n for n in symbols.undefined if not n.startswith("__")] == ["elsewhere"]
    assert symbols.function_bytes().keys() == {"here"}
    assert 5 < symbols.function_bytes()["here"] < 60
