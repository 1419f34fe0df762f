from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Kernel:
    def __new__(
        cls,
        integers: NDArray[np.int32],
        reals: NDArray[np.float64],
        contiguous: Callable[[Any], Any],
        coder: Callable[[str, int], Any] | None = None,
    ) -> Kernel: ...
    def __getattr__(self, name: str) -> Callable[..., Any]: ...
