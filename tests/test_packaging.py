"""What is installed, and what it takes to start."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import files, version
from pathlib import Path

import pytest

import regularize
from regularize.kernel.compiled import which

ROOT = Path(__file__).resolve().parents[1]


def test_the_version_is_that_of_the_distribution():
    assert regularize.__version__ == version("pin-regularize")


def test_the_adapters_folder_is_linked_into_the_package():
    link = ROOT / "regularize" / "adapters"
    if not link.exists():
        pytest.skip("not a checkout")
    assert link.is_symlink() and link.resolve() == (ROOT / "adapters").resolve()


def test_nothing_named_adapters_is_installed_at_the_top():
    names = {str(file).split("/")[0] for file in files("pin-regularize") or ()}
    assert "adapters" not in names


def test_typing_and_schema_files_are_installed():
    package = Path(regularize.__file__).parent
    assert (package / "py.typed").exists()


def test_dynamics_are_computed_by_what_was_built() -> None:
    """Where a run says what it expects: compiled code, or Python where there is no compiler."""
    assert which() == os.environ.get("REGULARIZE_EXPECTED", which())
    sources = Path(regularize.__file__).parent / "kernel" / "c"
    assert {"kernel.c", "module.c", "tables.h"} <= {path.name for path in sources.iterdir()}


def test_the_version_is_printed_without_heavy_imports():
    heavy = {"numpy", "scipy", "pinocchio", "rich", "lxml", "trimesh"}
    code = (
        "import sys; from regularize.cli import main; main(['--version']);"
        f"sys.exit(', '.join({heavy!r} & {{*sys.modules}}) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not done.returncode, f"loaded: {done.stderr}"
    assert done.stdout.startswith("regularize ")


def test_unknown_public_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="nonsense"):
        regularize.nonsense  # noqa: B018
    assert {"check", "load", "reduce", "to_pinocchio"} <= set(dir(regularize))
