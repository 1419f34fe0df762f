"""``python -m regularize`` is the command ``regularize``."""

import os
import signal
import sys
from typing import Any, NoReturn


def _end(*_: Any) -> NoReturn:
    """End at once where nothing is to be put away: modules are loaded, or the work is done."""
    os.write(2, b"regularize: interrupted\n")
    os._exit(130)


def run() -> int:
    """Run the command line; an interrupt ends it at any time, whatever threads still wait for."""
    handler = signal.getsignal(signal.SIGINT)
    end = _end if handler is signal.default_int_handler else handler  # which ignores it
    signal.signal(signal.SIGINT, end)
    from regularize.cli import main  # takes a part of a second

    signal.signal(signal.SIGINT, handler)
    try:
        status = main()
        signal.signal(signal.SIGINT, end)
    except KeyboardInterrupt:
        _end()
    return os._exit(130) if status == 130 else status


if __name__ == "__main__":
    sys.exit(run())
