"""Record a model in a process of its own: ``python -m regularize.repair.engines.alone FILE``.

The file is a pickle of what to call and with what, and becomes one of what came of it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regularize.errors import RegularizeError, UnsupportedExport
from regularize.output_files import write_aside

SECONDS = 120


def in_own_process(title: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a module's function gives in another Python, which an engine may end."""
    with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
        file = Path(folder) / "call.pickle"
        write_aside(file, pickle.dumps((function, arguments)))
        command = [sys.executable, "-m", "regularize.repair.engines.alone", str(file)]
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        try:
            done = subprocess.run(
                command,
                env={**os.environ, "PYTHONPATH": paths},
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UnsupportedExport(f"{title} takes more than {SECONDS} s") from error
        if done.returncode != 0:
            raise UnsupportedExport(f"{title} ends the process that moves it")
        result = pickle.loads(file.read_bytes())
    if isinstance(result, RegularizeError):
        raise result
    return result


def main(file: str) -> None:
    """Call what a pickle holds, and put what comes of it in its place."""
    function, arguments = pickle.loads(Path(file).read_bytes())
    try:
        result = function(*arguments)
    except RegularizeError as error:
        result = UnsupportedExport(str(error))
    write_aside(file, pickle.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
