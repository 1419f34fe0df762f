"""The pages for other projects run as they stand, move, and need no warning filtered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDS = {
    "pinocchio": ["pinocchio"],
    "newton": ["newton", "newton_usd_schemas"],
    "drake": ["pydrake"],
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Newton's own, of MuJoCo
@pytest.mark.filterwarnings("ignore:MuJoCo dependency version mismatch")
@pytest.mark.parametrize("name", NEEDS)
def test_the_code_of_a_page_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in NEEDS[name]:
        pytest.importorskip(module)
    page = ROOT / "assets" / "upstream" / f"{name}.md"
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.S | re.M)
    assert found
    assert not any("simplefilter" in code for code in found)
    for code in found:
        exec(compile(code, str(page), "exec"), {})
