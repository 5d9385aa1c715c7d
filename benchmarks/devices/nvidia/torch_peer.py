"""PyTorch as a peer: products by cuBLAS, networks as CUDA graphs of eager or compiled modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from onnx import ModelProto

from benchmarks.devices.nvidia.torch_walk import network, the_torch
from benchmarks.devices.nvidia.turns import Timer

WARM_CALLS = 3

Array = np.ndarray[Any, np.dtype[Any]]


def allow_tf32(is_allowed: bool) -> None:
    """Whether products and convolutions of f32 are computed with one TF32."""
    torch = the_torch()
    torch.backends.cuda.matmul.allow_tf32 = is_allowed
    torch.backends.cudnn.allow_tf32 = is_allowed


def on_device(array: Array) -> Any:
    """A tensor of an array's numbers on the GPU; bf16 is read by its bits."""
    torch = the_torch()
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).cuda().view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(array)).cuda()


def graph_of(body: Callable[[], object]) -> Any:
    """The CUDA graph of what a body begins, after some calls that choose algorithms."""
    torch = the_torch()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_CALLS):
            body()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    torch.cuda.synchronize()
    return graph


def timed_by_events(body: Callable[[], object], launches: int = 1) -> Timer:
    """The device's seconds of one of so many launches that a body begins."""
    torch = the_torch()

    def timer(runs: int) -> list[float]:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(runs + 1)]
        events[0].record()
        for event in events[1:]:
            body()
            event.record()
        torch.cuda.synchronize()
        return [a.elapsed_time(b) / 1e3 / launches for a, b in pairwise(events)]

    return timer


def product_timer(
    x: Array, weights: Array, launches: int, copies: int, tf32: bool = False
) -> tuple[Timer, Callable[[], Array]]:
    """The time of `x weights^T` by cuBLAS, and its result as f32 or int32.

    Weights [n, k] lie as a linear layer has them. Each launch reads another copy of them.
    """
    torch = the_torch()
    allow_tf32(tf32)
    a, first = on_device(x), on_device(weights)
    each = [first, *(first.clone() for _ in range(copies - 1))]
    if x.dtype == np.int8:
        if x.shape[0] <= 16:
            raise ValueError("torch._int_mm takes more than 16 rows")
        out = torch._int_mm(a, first.t())

        def multiply(b: Any) -> None:
            torch._int_mm(a, b.t(), out=out)

    else:
        out = torch.mm(a, first.t())

        def multiply(b: Any) -> None:
            torch.mm(a, b.t(), out=out)

    def body() -> None:
        for number in range(launches):
            multiply(each[number % copies])

    graph = graph_of(body)

    def result() -> Array:
        found = out if out.dtype == torch.int32 else out.float()
        return found.cpu().numpy()

    return timed_by_events(graph.replay, launches), result


class TorchNetwork:
    """A network on the GPU as one CUDA graph, eager or by `torch.compile`."""

    def __init__(
        self,
        model: ModelProto,
        inputs: Sequence[Array],
        precision: str,
        tf32: bool,
        compiled: bool = False,
    ) -> None:
        torch = the_torch()
        allow_tf32(tf32)
        torch.backends.cudnn.benchmark = True
        self.element = torch.bfloat16 if precision == "bf16" else torch.float32
        self.hosts = [torch.from_numpy(np.ascontiguousarray(x)) for x in inputs]
        self.places = [self._placed(host) for host in self.hosts]
        module = network(model).cuda().to(self.element).eval()
        if any(place.dim() == 4 for place in self.places):
            module = module.to(memory_format=torch.channels_last)
        call = torch.compile(module) if compiled else module
        self.outputs: Sequence[Any] = ()

        def body() -> None:
            with torch.inference_mode():
                self.outputs = call(*self.places)

        self.graph = graph_of(body)
        self.device_timer = timed_by_events(self.graph.replay)

    def _placed(self, host: Any) -> Any:
        """An input on the GPU; images have their channels last, which cuDNN likes best."""
        torch = the_torch()
        tensor = host.cuda()
        if host.is_floating_point():
            tensor = tensor.to(self.element)
        if tensor.dim() == 4:
            tensor = tensor.contiguous(memory_format=torch.channels_last)
        return tensor

    def call(self) -> list[Array]:
        """Arrays of the host for arrays of the host."""
        for place, host in zip(self.places, self.hosts, strict=True):
            place.copy_(host)
        self.graph.replay()
        return [output.float().cpu().numpy() for output in self.outputs]
