"""Programs compiled and run by IREE, on one core."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

FLAGS = (
    "--iree-hal-target-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-opt-level=O1",
)
SCOPE = "model"


def compiled(program, input_type="auto"):
    """The module that IREE makes of the file of a program."""
    from iree import compiler

    return compiler.compile_file(
        str(program), input_type=input_type, extra_args=[*FLAGS]
    )


def run_compiled(binary, arrays, weights=None):
    """What the main function of a module returns; `weights` is a file of parameters."""
    from iree import runtime

    instance = runtime.VmInstance()
    device = runtime.get_device("local-sync")
    modules = [runtime.create_hal_module(instance, device)]
    if weights is not None:
        index = runtime.ParameterIndex()
        index.load(str(weights))
        provider = index.create_provider(scope=SCOPE)
        modules.append(runtime.create_io_parameters_module(instance, provider))
    modules.append(runtime.VmModule.copy_buffer(instance, binary))
    config = runtime.Config(device=device)
    context = runtime.SystemContext(vm_modules=modules, config=config)
    main = context.modules.module["main"]
    results = main(*[np.ascontiguousarray(array) for array in arrays])
    results = results if isinstance(results, (list, tuple)) else [results]
    return [np.asarray(result.to_host()) for result in results]


def run_program(text, arrays, weights=None):
    """What IREE computes for the text of a program."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "program.mlir"
        path.write_text(text, "utf-8")
        return run_compiled(compiled(path), arrays, weights)
