"""What torch-mlir-import-onnx and iree-import-onnx print of the torch dialect.

    %1 = torch.operator "onnx.Relu"(%0) : (!torch.vtensor<[1,4],f32>) -> !torch.vtensor<[1,4],f32>

`torch.aten` operations are others: torch-mlir makes StableHLO, TOSA or linalg of them.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from glow.dialects.torch.operations import ConstantNoneOp as ConstantNoneOp
from glow.dialects.torch.operations import FromBuiltinTensorOp as FromBuiltinTensorOp
from glow.dialects.torch.operations import OperatorOp as OperatorOp
from glow.dialects.torch.operations import TerminatorOp as TerminatorOp
from glow.dialects.torch.types import TYPES
from glow.dialects.torch.types import TensorType as TensorType

Torch = Dialect("torch", [OperatorOp, ConstantNoneOp, TerminatorOp], [*TYPES])

TorchConversion = Dialect("torch_c", [FromBuiltinTensorOp])
"""From tensors of MLIR to those of torch."""
