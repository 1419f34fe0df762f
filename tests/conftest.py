"""Options and fixtures for the whole suite."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from branch_coverage import Branches
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = Path(__file__).resolve().parent / "golden"

# How long something takes decides no test: machines are busy at times.
settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden outputs instead of comparing"
    )
    parser.addoption(
        "--branches", type=float, metavar="PERCENT", help="fail where tests take fewer branches"
    )


def pytest_configure(config: pytest.Config) -> None:
    if (bound := config.getoption("--branches")) is not None:
        config.pluginmanager.register(Branches(bound), "branches")


@pytest.fixture(scope="session")
def assets() -> Path:
    """Folder of the example mechanisms."""
    return ROOT / "assets"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the golden file of that name, but for the seconds in it."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        plain = re.sub(r"in \d+\.\d\d s\.", "in 0.00 s.", text)
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(plain, encoding="utf-8")
            return
        expected = path.read_text(encoding="utf-8")
        changes = difflib.unified_diff(expected.splitlines(), plain.splitlines(), lineterm="")
        assert plain == expected, "\n".join([f"{name}: see --update-golden", *changes])

    return compare
