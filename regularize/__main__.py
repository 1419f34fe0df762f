"""``python -m regularize`` is the command ``regularize``."""

import sys

from regularize.cli import main

sys.exit(main())
