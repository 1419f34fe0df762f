"""Type checkers accept the Python of README and handbook: public functions are typed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "assets" / "handbook").glob("*.md"))]
#: A guest of which some pages take modules.
INTEGRATIONS = ROOT / "regularize" / "guests" / "integrations"
#: Packages that come without types of their own.
UNTYPED = ("crocoddyl", "coal", "pinocchio", "pink", "urchin", "qpsolvers", "trimesh", "mujoco")


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the Python of every page, the blocks of one page behind each other."""
    folder = tmp_path_factory.mktemp("pages")
    for page in PAGES:
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
        if any("guests.integrations" in block for block in blocks) > INTEGRATIONS.is_dir():
            continue
        if blocks:
            name = page.stem.lower().replace("-", "_")
            (folder / f"page_{name}.py").write_text("\n".join(blocks), encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_accepts_the_pages(code: Path) -> None:
    config = code / "mypy.ini"
    skipped = "".join(
        f"[mypy-{name}.*]\nignore_missing_imports = True\nfollow_imports = skip\n"
        for name in UNTYPED
    )
    config.write_text(f"[mypy]\nstrict = True\nmypy_path = {ROOT}\n{skipped}")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config)]
    command += ["--follow-imports", "silent", "--cache-dir", str(ROOT / ".mypy_cache" / "pages")]
    run = subprocess.run(
        [*command, *map(str, sorted(code.glob("*.py")))], capture_output=True, text=True, cwd=code
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
@pytest.mark.skipif(find_spec("basedpyright") is None, reason="basedpyright is not installed")
def test_pyright_accepts_the_pages(code: Path) -> None:
    config = {
        "include": [str(code)],
        "extraPaths": [str(ROOT)],
        "typeCheckingMode": "standard",
        "reportMissingImports": False,
        "reportMissingModuleSource": False,
        "reportAttributeAccessIssue": "error",
    }
    (code / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable]
    command += ["--outputjson", "-p", str(code / "pyrightconfig.json")]
    run = subprocess.run(command, capture_output=True, text=True, cwd=code)
    found = json.loads(run.stdout)
    assert found["summary"]["filesAnalyzed"] == len([*code.glob("*.py")])
    # What a compiled module holds is not in its text.
    compiled = re.compile(f'not a known attribute of module "({"|".join(UNTYPED)})')
    errors = [
        f"{Path(one['file']).name}:{one['range']['start']['line'] + 1}: {one['message']}"
        for one in found["generalDiagnostics"]
        if one["severity"] == "error" and not compiled.search(one["message"])
    ]
    assert not errors, "\n".join(errors)
