"""Imported first by scripts: what the tests share lies in many folders, which are found then."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(folder) for folder in sorted(TESTS.rglob("*")) if folder.is_dir()]
