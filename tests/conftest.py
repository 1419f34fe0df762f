"""Options and fixtures for the whole suite."""

from __future__ import annotations

import difflib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
#: Test files of formats that are guests, by the folders of adapters that they are about.
OF_FORMATS = {
    "asmt": ["test_adapters_asmt.py"],
    "cad": ["test_mates.py"],
    "freecad": [
        *("test_adapters_freecad.py", "test_fix_freecad.py"),
        *("test_solids.py", "test_cad_masses.py"),
    ],
    "mbdyn": ["test_adapters_mbdyn.py"],
    "onshape": ["test_adapters_onshape.py"],
    "simscape": ["test_adapters_simscape.py"],
}
_FOLDERS = [path for path in (ROOT / "tests" / "guests").iterdir() if path.name.isalpha()]
#: Guests and formats that have been deleted, and those that are made of one.
GONE = {path.name for path in _FOLDERS if not (ROOT / "regularize/guests" / path.name).is_dir()}
GONE |= {"actuation", "design"} if "modes" in GONE else set()
NO_FORMATS = {name for name in OF_FORMATS if not (ROOT / "adapters" / name).is_dir()}
NO_FORMATS |= {*OF_FORMATS} if "cad" in NO_FORMATS else set()


def _imports_what_is_gone(path: Path) -> bool:
    """Whether a test file is about a guest that has been deleted: it imports it."""
    of_guests = rf"^(from|import) regularize\.guests[. ](import )?({'|'.join(sorted(GONE))})\b"
    return bool(re.search(of_guests, path.read_text("utf-8"), re.M))


TESTS = Path(__file__).resolve().parent
sys.path += [str(folder) for folder in sorted(TESTS.rglob("*")) if folder.is_dir()]
_NO_TESTS = {file for name in NO_FORMATS for file in OF_FORMATS[name]}
collect_ignore = [
    str(path)
    for path in TESTS.rglob("test_*.py")
    if path.name in _NO_TESTS or path.parent.name in GONE or (GONE and _imports_what_is_gone(path))
]
#: Cases of one test in the quick round.
QUICK_CASES = 3
GOLDEN = Path(__file__).resolve().parent / "golden"

# How long something takes decides no test: machines are busy at times.
settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden outputs instead of comparing"
    )
    parser.addoption(
        "--nightly", action="store_true", help="run what nightly.txt names as well: tox -e nightly"
    )
    parser.addoption(
        "--quick", action="store_true", help="nothing slow, three cases of a test: tox -e quick"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        settings.register_profile("quick", settings.get_profile("calm"), max_examples=20)
        settings.load_profile("quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to the night what says the same as its neighbours, at greater length.

    The quick round leaves out what is marked slow as well, and of a test with many cases all
    but the first three.
    """
    if config.getoption("--nightly"):
        return
    lines = (Path(__file__).parent / "nightly.txt").read_text("utf-8").splitlines()
    named = {line for line in lines if line and not line.startswith("#")}
    cases: Counter[str] = Counter()
    taken, left = [], []
    for item in items:
        skip = f"{item.path.name}::{item.nodeid.partition('::')[2]}" in named
        if config.getoption("--quick") and not skip:
            skip = item.get_closest_marker("slow") is not None
            if not skip:
                test = item.nodeid.partition("[")[0]
                cases[test] += 1
                skip = cases[test] > QUICK_CASES
        (left if skip else taken).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = taken


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what is about a guest that is not there."""
    for mark in item.iter_markers("formats"):
        from regularize.adapters import adapters

        if absent := {*mark.args} - {*adapters()}:
            pytest.skip(f"no {', '.join(sorted(absent))} here")
    for mark in item.iter_markers("guests"):
        if absent := GONE & {*mark.args}:
            pytest.skip(f"no {', '.join(sorted(absent))} here")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Leave out what asks for a guest that has been deleted."""
    try:
        return (yield)
    except Exception as error:
        said = "this takes regularize.* not installed|module 'regularize' has no attribute"
        if GONE and re.search(said, str(error)):
            pytest.skip(str(error))
        raise


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
