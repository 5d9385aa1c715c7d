"""What kernels for many threads are written in: upstream's `gpu` and `nvgpu`."""

from glow.dialects.gpu.gpu import Gpu as Gpu
from glow.dialects.gpu.nvgpu import NvGpu as NvGpu
