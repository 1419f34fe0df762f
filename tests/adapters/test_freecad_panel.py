"""What FreeCAD's panel shows and changes, with a document that behaves as FreeCAD's do."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import regularize as rg

ROOT = Path(__file__).resolve().parents[2]
ADDON = ROOT / "assets" / "editors" / "freecad" / "Regularize"
MODEL = ROOT / "assets" / "crank_slider.FCStd"
KINDS = {"Ball": "spherical", "Cylindrical": "cylindrical"}
pytestmark = pytest.mark.formats("freecad")


@pytest.fixture
def panel(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ADDON))
    for name in ("regularize_panel", "regularize_words"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import regularize_panel

    return regularize_panel


class Document(SimpleNamespace):
    """An assembly in memory whose joints can be set, and whose last transaction can be undone."""

    def __init__(self, path: Path = MODEL) -> None:
        super().__init__(Name="assembly", FileName="", path=path, steps=[], undone=[])
        types = {"revolute": "Revolute", "prismatic": "Slider"}
        self.Objects = [SimpleNamespace(Name="Body", Label="Body")]
        for joint in rg.load(MODEL).joints:
            if joint.kind in types:
                kind = types[joint.kind]
                self.Objects.append(
                    SimpleNamespace(Name=joint.name, Label=joint.name, JointType=kind)
                )

    def types(self) -> dict[str, str]:
        return {each.Label: each.JointType for each in self.Objects if hasattr(each, "JointType")}

    def saveCopy(self, path: str) -> None:
        changed = {name: KINDS[kind] for name, kind in self.types().items() if kind in KINDS}
        data = rg.fix(self.path, changed).write(path) if changed else self.path.read_bytes()
        if not changed:
            Path(path).write_bytes(data)

    def openTransaction(self, name: str) -> None:
        self.steps.append((name, self.types()))

    def commitTransaction(self) -> None:
        self.undone.append(self.steps.pop())

    def abortTransaction(self) -> None:
        self.steps.pop()

    def recompute(self) -> None:
        assert self.steps


def test_a_change_is_proposed_made_in_one_step_and_found_to_help(panel: Any) -> None:
    document = Document()
    shown = panel.analyse(document)
    assert shown.verdict == rg.check(MODEL).verdict and shown.redundant == 3
    assert [(joint.label, joint.object, joint.equations) for joint in shown.joints] == [
        ("D", "D", 3)
    ]
    first = next(change for change in shown.changes if change.possible)
    panel.apply(document, first)
    assert dict(zip(first.joints, first.types, strict=True)).items() <= document.types().items()
    assert [name for name, _ in document.undone] == [f"Regularize: {', '.join(first.joints)}"]
    assert panel.analyse(document).redundant == first.left < 3
    refused = next(change for change in shown.changes if not change.possible)
    with pytest.raises(ValueError, match="FreeCAD cannot hold"):
        panel.apply(document, refused)


def test_properties_of_joints_give_the_fit_and_motions_are_of_parts(panel: Any) -> None:
    document = Document()
    for each in document.Objects[1:]:
        each.Tolerance, each.Stiffness = "0.05mm,0.1deg", "50N/um,2000Nm/rad"
    shown = panel.analyse(document)
    assert {entry.joint for entry in shown.fit} == {"D"} and shown.fit[0].force > 0.0
    ((_, parts),) = panel.motions(shown, frames=8)
    assert set(parts) == {"base", "crank", "rod", "slider"} and len(parts["rod"]) == 8
    turned = [row[3] for row in parts["slider"][3]][:3]
    assert abs(turned[0]) > 1.0 > abs(turned[1])  # it slides along X, in millimetres


def test_german_and_documents_that_are_no_assembly(panel: Any, tmp_path: Path) -> None:
    shown = panel.analyse(Document(), language="German")
    assert shown.verdict == "3 überzählige Bedingungen. Freiheitsgrade: 1."
    (tmp_path / "empty.FCStd").write_bytes(b"nothing")
    with pytest.raises(rg.RegularizeError):
        panel.analyse(Document(tmp_path / "empty.FCStd"))
    with pytest.raises(panel.Cancelled):
        panel.analyse(Document(), progress=lambda fraction: stop(panel))


def stop(panel: Any) -> None:
    raise panel.Cancelled
