"""Lines go down, never up: the totals are limits, and no limit is above what it once was."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
TOTALS = ROOT / "tests" / "budgets.toml"
#: Folders that each total is of.
FOLDERS = {"source": ("regularize", "adapters"), "tests": ("tests",)}
ENDINGS = {".py", ".c", ".h", ".js", ".css"}


def lines(total: str) -> int:
    """Written lines in the folders of a total; links are passed over."""
    paths = (path for folder in FOLDERS[total] for path in (ROOT / folder).rglob("*.*"))
    written = [path for path in paths if path.suffix in ENDINGS and path.is_file()]
    return sum(len(path.read_text("utf-8").splitlines()) for path in written)


def limits() -> dict[str, int]:
    """The limits of today."""
    found: dict[str, int] = tomllib.loads(TOTALS.read_text("utf-8"))["total"]
    return found


@pytest.mark.parametrize("total", FOLDERS)
def test_no_more_lines_than_the_limit(total: str) -> None:
    there, most = lines(total), limits()[total]
    assert there <= most, f"{there} lines of {total}: take {there - most} away elsewhere"


@pytest.mark.parametrize("total", FOLDERS)
def test_a_limit_is_never_raised(total: str) -> None:
    command = ["git", "log", "--format=", "-p", "--", str(TOTALS)]
    log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    earlier = [int(n) for n in re.findall(rf"^\+{total} = (\d+)", log.stdout, re.M)]
    if not earlier:
        pytest.skip(f"this checkout has no history of {TOTALS.name} to compare with")
    assert limits()[total] <= min(earlier), f"the limit of {total} was {min(earlier)} already"
