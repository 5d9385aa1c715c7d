import os
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

def save_file(
    tensor_dict: Mapping[str, npt.NDArray[np.generic]],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None: ...
def load_file(
    filename: str | os.PathLike[str],
) -> dict[str, npt.NDArray[np.generic]]: ...
