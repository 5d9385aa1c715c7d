from types import TracebackType
from typing import Protocol, Self

class _Function(Protocol):
    def __call__(self, *arguments: object) -> int: ...

class _Library:
    LLVMPY_TargetMachineEmitToMemory: _Function
    LLVMPY_GetBufferStart: _Function
    LLVMPY_GetBufferSize: _Function
    LLVMPY_DisposeMemoryBuffer: _Function

lib: _Library

class OutputString:
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
