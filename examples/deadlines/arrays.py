"""Reading the arrays of a data set."""

from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from polydom_runtime.exceptions import ItemError

Array = NDArray[Any]


def read_arrays(file: Path, *names: str) -> dict[str, Array]:
    """Return the named arrays of an .npz file, without unpickling."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            found = {name: stored[name] for name in names if name in stored}
    except FileNotFoundError as e:
        raise ItemError(
            f"The data must hold {file.parent.name}/{file.name}. There is no {file}. "
            "Pass the folder that holds one folder for each data set, or choose other tasks."
        ) from e
    except (OSError, ValueError, EOFError, AttributeError, BadZipFile) as e:
        raise ItemError(f"{file} must be an .npz file of plain arrays. Reading it raised {e!r}. Copy it again.") from e
    if missing := set(names) - found.keys():
        raise ItemError(f"{file} must hold the arrays {', '.join(names)}. Missing: {', '.join(sorted(missing))}.")
    return found


def split_signal(arrays: dict[str, Array]) -> list[Array]:
    """Return the items that ``signal`` holds end to end; item i is ``signal[offset[i] : offset[i + 1]]``."""
    return [arrays["signal"][a:b] for a, b in pairwise(arrays["offset"].tolist())]
