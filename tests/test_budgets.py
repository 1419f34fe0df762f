"""Lines are a budget: every room of the house has its price, and no file stands outside."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
ENDINGS = {".py", ".c", ".h", ".js", ".css"}
#: What is built into the tree is not written by anyone.
BUILT = {"__pycache__", "build"}


@cache
def budgets() -> dict[str, int]:
    """Lines that each room may have."""
    table = tomllib.loads((ROOT / "tests" / "budgets.toml").read_text("utf-8"))["lines"]
    return {
        room: entry if isinstance(entry, int) else entry["lines"] for room, entry in table.items()
    }


def room_of(file: Path) -> str | None:
    """The narrowest room that holds a file."""
    places = [file, *file.parents]
    return next((str(place) for place in places if str(place) in budgets()), None)


@cache
def files() -> dict[Path, int]:
    """Every written file of the library, relative to the root, with its lines."""
    return {
        path.relative_to(ROOT): len(path.read_text("utf-8").splitlines())
        for top in ("regularize", "adapters")
        for path in (ROOT / top).rglob("*")
        if path.suffix in ENDINGS and not BUILT & {*path.parts} and not path.is_symlink()
    }


def test_every_file_is_in_a_room() -> None:
    assert [str(file) for file in files() if room_of(file) is None] == []
    assert len(budgets()) >= 20


def test_every_room_is_there_or_a_guest() -> None:
    table = tomllib.loads((ROOT / "tests" / "budgets.toml").read_text("utf-8"))["lines"]
    guests = {room for room, entry in table.items() if isinstance(entry, dict) and entry["guest"]}
    missing = {room for room in table if not (ROOT / room).exists()}
    assert missing <= guests


@pytest.mark.parametrize("room", budgets())
def test_a_room_keeps_to_its_budget(room: str) -> None:
    lines = sum(lines for file, lines in files().items() if room_of(file) == room)
    assert lines <= budgets()[room], f"{room} has {lines} lines: take as many away as it is over"


def test_budgets_are_what_is_there() -> None:
    there = sum(budgets()[room] for room in budgets() if (ROOT / room).exists())
    assert there <= 1.03 * sum(files().values()), "lower the budgets: lines once gone stay gone"
