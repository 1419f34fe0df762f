"""``python -m regularize`` is the command ``regularize``."""

import sys


def run() -> int:
    """Run the command line; an interrupt while modules are loaded ends it like any other."""
    try:
        from regularize.cli import main  # takes a part of a second

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("regularize: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(run())
