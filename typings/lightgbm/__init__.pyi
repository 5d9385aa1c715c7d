from collections.abc import Mapping

from numpy import floating
from numpy.typing import NDArray

class Dataset:
    def __init__(self, data: NDArray[floating], label: NDArray[floating]) -> None: ...

class Booster:
    def dump_model(self) -> Mapping[str, object]: ...

def train(
    params: Mapping[str, object], train_set: Dataset, num_boost_round: int = ...
) -> Booster: ...
