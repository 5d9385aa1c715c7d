"""Peers that do not read ONNX as it is: IREE, TVM, TensorFlow and PyTorch, for `server.py`.

IREE and TVM import and compile the ONNX file. PyTorch compiles, and TensorFlow runs, the
network as `torch_graph.py` and `tensorflow_graph.py` translate it, the latter with the
channels last, as its convolutions want it. Each is in its usual, fastest setting; none gets
the weights as inputs, so that all may fold and pack them.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

# The compilers' Python interfaces carry no types, and no environment holds all of them.
# pyright: basic, reportMissingImports=false

Array = np.ndarray
Inputs = dict[str, Array]


def load_iree(model: str, feed: Inputs, threads: int):
    import iree.compiler.tools as tools
    import iree.runtime as runtime
    from iree.runtime import version

    if threads > 1:
        runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        imported = Path(folder, "model.mlir")
        command = [Path(sys.executable).with_name("iree-import-onnx"), model]
        # One operator set for all networks: IREE lacks some operators' older versions.
        command += ["-o", imported, "--opset-version", "17"]
        subprocess.run(command, check=True)
        code = tools.compile_file(
            str(imported),
            target_backends=["llvm-cpu"],
            extra_args=[
                "--iree-llvmcpu-target-cpu=host",
                "--iree-opt-level=O3",
                # The default refuses networks with softmax over wide rows.
                "--iree-llvmcpu-stack-allocation-limit=131072",
            ],
        )
    device = runtime.get_device("local-sync" if threads == 1 else "local-task")
    context = runtime.SystemContext(config=runtime.Config(device=device))
    module = runtime.VmModule.copy_buffer(context.instance, code)
    context.add_vm_module(module)
    names = [name for name in module.function_names if not name.startswith("__")]
    [name] = [name for name in names if not name.endswith("$async")]
    function = getattr(context.modules, module.name)[name]
    seconds = time.perf_counter() - start
    inputs = [runtime.asdevicearray(device, value) for value in feed.values()]
    return lambda: _arrays(function(*inputs)), version.VERSION, seconds


def load_tvm(model: str, feed: Inputs, threads: int):
    """Schedules come from `tune_tvm.py` if the variable `TVM_DATABASE` names its folder."""
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    start = time.perf_counter()
    module = from_onnx(onnx.load(model), keep_params_in_input=False)
    target = tvm_target(threads)
    if database := os.environ.get("TVM_DATABASE"):
        module = relax.transform.DecomposeOpsForInference()(module)
        with target:
            module = relax.get_pipeline("zero")(module)
            module = relax.transform.MetaScheduleApplyDatabase(database)(module)
    with target:
        machine = relax.VirtualMachine(tvm.compile(module, target=target), tvm.cpu())
    main = machine["main"]
    seconds = time.perf_counter() - start
    inputs = [tvm.runtime.tensor(value) for value in feed.values()]
    return lambda: _arrays(main(*inputs)), tvm.__version__, seconds


def tvm_target(threads: int):
    """Returns this machine's processor with `threads` cores."""
    import tvm

    processor = str(tvm.get_global_func("target.llvm_get_system_cpu")())
    return tvm.target.Target({"kind": "llvm", "mcpu": processor, "num-cores": threads})


def load_tensorflow(model: str, feed: Inputs, threads: int):
    import onnx
    import tensorflow
    from tensorflow_graph import translate

    tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    start = time.perf_counter()
    function = tensorflow.function(translate(onnx.load(model)))
    inputs = [tensorflow.constant(value) for value in feed.values()]
    function(*inputs)
    seconds = time.perf_counter() - start
    return lambda: _arrays(function(*inputs)), tensorflow.__version__, seconds


def load_torch(model: str, feed: Inputs, threads: int):
    import onnx
    import torch
    import torch._inductor.config as inductor
    from torch_graph import TorchGraph

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    inductor.freezing = True
    start = time.perf_counter()
    module = torch.compile(TorchGraph(onnx.load(model)).eval())
    inputs = [torch.from_numpy(value) for value in feed.values()]
    with torch.no_grad():
        module(*inputs)
    seconds = time.perf_counter() - start

    def run() -> list[Array]:
        with torch.no_grad():
            return _arrays(module(*inputs))

    return run, torch.__version__, seconds


def _arrays(outputs: object) -> list[Array]:
    """Returns what a function gave, one value or several, as arrays."""
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    if not isinstance(outputs, (list, tuple)):
        try:
            outputs = [outputs] if hasattr(outputs, "shape") else list(outputs)
        except TypeError:
            outputs = [outputs]
    return [_array(output) for output in outputs]


def _array(output) -> Array:
    if hasattr(output, "to_host"):
        return output.to_host()
    return output.numpy() if hasattr(output, "numpy") else np.asarray(output)


LOADERS = {
    "iree": load_iree,
    "tvm": load_tvm,
    "tensorflow": load_tensorflow,
    "torch": load_torch,
}
