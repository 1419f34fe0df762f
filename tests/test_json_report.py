"""Contract of the JSON report, field by field, on the planar four-bar."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg

FILE = Path(__file__).resolve().parents[1] / "assets" / "planar_fourbar.urdf"
NAMES = ("trivial", "exceptional", "topological", "paradoxical")


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    report: dict[str, Any] = rg.check(rg.load(FILE)).as_dict()
    decoded: dict[str, Any] = json.loads(json.dumps(report, allow_nan=False))
    return decoded


def test_loop(report: dict[str, Any]) -> None:
    (loop,) = report["loops"]
    assert isinstance(loop["name"], str) and loop["name"]
    assert sorted(loop["joints"]) == ["A", "B", "C", "D"]
    assert loop["cut"] == loop["joints"][-1]
    assert loop["class"] == "trivial"
    algebra = loop["motion_algebra"]
    assert (algebra["dimension"], algebra["type"]) == (3, "planar")
    assert algebra["point"] is None and algebra["pitch"] is None
    normal = np.array([3.0, -6.0, 2.0]) / 7
    assert abs(abs(normal @ algebra["direction"]) - 1.0) < 1e-12
    assert (loop["constraints"], loop["kept"], loop["removed"]) == (5, 2, 3)
    singular = loop["singular_values"]
    assert singular == sorted(singular, reverse=True) and len(singular) == 5
    assert sum(s > 1e-6 for s in singular) == 2


def test_removed_directions(report: dict[str, Any]) -> None:
    (loop,) = report["loops"]
    removed = loop["removed_directions"]
    assert len(removed) == 3
    covectors = np.array([entry["covector"] for entry in removed])
    assert np.linalg.matrix_rank(covectors) == 3
    # They vanish on every twist of the plane, taken about the point of the loop.
    plane = np.linalg.svd(np.array([[3.0, -6.0, 2.0]]))[2][1:]
    twists = np.zeros((3, 6))
    twists[:2, :3] = plane
    twists[2, 3:] = np.array([3.0, -6.0, 2.0]) / 7
    assert np.max(np.abs(covectors @ twists.T)) < 1e-9
    for entry in removed:
        assert entry["label"].split()[0] in ("translation", "rotation")


def test_diagnostics(report: dict[str, Any]) -> None:
    (finding,) = [d for d in report["diagnostics"] if d["code"] == "REG201"]
    assert finding["severity"] == "warning"
    assert finding["loop"] == report["loops"][0]["name"]
    assert sorted(finding["joints"]) == ["A", "B", "C", "D"]
    text = FILE.read_text(encoding="utf-8").splitlines()
    assert finding["location"]["path"].endswith("planar_fourbar.urdf")
    assert f'name="{report["loops"][0]["cut"]}"' in text[finding["location"]["line"] - 1]
    assert finding["help"] and all(isinstance(entry, str) for entry in finding["help"])
    counts = {"error": 0, "warning": 0, "note": 0}
    for entry in report["diagnostics"]:
        counts[entry["severity"]] += 1
    assert report["summary"] == counts
