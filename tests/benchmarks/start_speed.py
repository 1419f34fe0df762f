#!/usr/bin/env python3
"""How quickly the command starts, beside Python and beside the libraries that it stands on.

python tests/benchmarks/start_speed.py [--json]
"""

from __future__ import annotations

import sys

from measuring import finish, of_process

RUNS = 7
PEERS = {
    "the version instead of Python alone": (
        "from regularize.cli import main; main(['--version'])",
        "pass",
    ),
    "the reduction instead of numpy, scipy and pinocchio": (
        "import regularize; regularize.reduce",
        "import numpy, scipy.spatial, scipy.optimize, pinocchio",
    ),
    "the report instead of numpy, scipy, pinocchio and rich": (
        "import regularize; regularize.check",
        "import numpy, scipy.spatial, scipy.optimize, pinocchio, rich.console, rich.table",
    ),
}


def seconds(code: str) -> float:
    """Least CPU time of a new process."""
    return min(of_process([sys.executable, "-c", code], check=True)[0] for _ in range(RUNS))


def main() -> None:
    finish({name: seconds(peer) / seconds(own) for name, (own, peer) in PEERS.items()})


if __name__ == "__main__":
    main()
