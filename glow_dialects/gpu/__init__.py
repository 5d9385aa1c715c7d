"""What kernels for many threads are written in: upstream's `gpu`, `nvgpu` and some `nvvm`."""

from glow.dialects.gpu.gpu import Gpu as Gpu
from glow.dialects.gpu.nvgpu import NvGpu as NvGpu
from glow.dialects.gpu.nvvm import Nvvm as Nvvm
