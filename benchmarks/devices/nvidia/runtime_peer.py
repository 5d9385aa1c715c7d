"""ONNX Runtime's CUDA provider as a peer, where `onnxruntime-gpu` is installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"

Array = np.ndarray[Any, np.dtype[Any]]


def the_runtime() -> Any:
    """The library; raises ImportError where there is none."""
    return import_module("onnxruntime")


def why_no_provider() -> str | None:
    """Why the CUDA provider is not there, None where it is."""
    try:
        runtime = the_runtime()
    except ImportError:
        return "onnxruntime-gpu is not installed"
    if CUDA not in runtime.get_available_providers():
        return "onnxruntime has no CUDA provider here (pip install onnxruntime-gpu)"
    return None


def reference(path: str, inputs: Mapping[str, Array]) -> list[Array]:
    """What the CPU provider computes."""
    session = the_runtime().InferenceSession(path, providers=[CPU])
    return session.run(None, dict(inputs))


class RuntimeNetwork:
    """A network of f32 by the CUDA provider, which multiplies with one TF32 unless it is told."""

    def __init__(
        self,
        path: str,
        inputs: Mapping[str, Array],
        results: Sequence[Array],
        tf32: bool = True,
        is_graph: bool = False,
    ) -> None:
        """`results` are such as it gives. Raises RuntimeError where the provider does not start."""
        runtime = the_runtime()
        with suppress(
            Exception
        ):  # The libraries that PyTorch brings; older ones lack it.
            runtime.preload_dlls()
        options = {
            "use_tf32": str(int(tf32)),
            "enable_cuda_graph": str(int(is_graph)),
            "cudnn_conv_algo_search": "EXHAUSTIVE",
        }
        quiet: Any = runtime.SessionOptions()
        quiet.log_severity_level = 3
        self.session: Any = runtime.InferenceSession(
            path, quiet, providers=[(CUDA, options)]
        )
        if self.session.get_providers()[0] != CUDA:
            raise RuntimeError("onnxruntime's CUDA provider does not start here")
        self.inputs = dict(inputs)
        self.binding: Any = self.session.io_binding()
        for name, array in self.inputs.items():
            value = runtime.OrtValue.ortvalue_from_numpy(array, "cuda", 0)
            self.binding.bind_ortvalue_input(name, value)
        for output, like in zip(self.session.get_outputs(), results, strict=True):
            value = runtime.OrtValue.ortvalue_from_numpy(like, "cuda", 0)
            self.binding.bind_ortvalue_output(output.name, value)

    def call(self) -> list[Array]:
        """Arrays of the host for arrays of the host."""
        return self.session.run(None, self.inputs)

    @property
    def bound(self) -> Callable[[], None]:
        """A call whose inputs and outputs stay on the GPU."""

        def call() -> None:
            self.session.run_with_iobinding(self.binding)

        return call

    def results(self) -> list[Array]:
        """What a bound call has computed."""
        return self.binding.copy_outputs_to_cpu()
