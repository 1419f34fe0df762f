"""Imported first by scripts: what the tests share lies in many folders, which are found then."""

import sys
from pathlib import Path

sys.path += [str(path) for path in sorted(Path(__file__).parents[1].rglob("*")) if path.is_dir()]
