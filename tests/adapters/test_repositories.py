"""Repositories by their likeness: laid out as people lay them out, with generated models."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import regularize as rg
from regularize.cli import main

pytest.importorskip("mujoco")
pytest.importorskip("xacrodoc")
XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'


def four_bar(seed: int) -> rg.Mechanism:
    """A planar four-bar of random lengths, masses and plane."""
    rng = np.random.default_rng(seed)
    a, turn = rg.assembly("bars"), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    pins = [turn @ np.array([x, z, 0.0]) for x, z in ((0, 0), (0.1, 0.4), (0.6, 0.7), (0.7, 0))]
    pins = [pin * rng.uniform(0.9, 1.1) for pin in pins]
    links = ("crank", "coupler", "rocker")
    for name, ends in zip(links, pairwise(pins), strict=True):
        a.body(name, mass=rng.uniform(0.5, 2), com=np.mean(ends, axis=0), inertia=0.01 * np.eye(3))
    held = zip("ABCD", ("ground", *links), (*links, "ground"), pins, strict=True)
    for name, one, other, at in held:
        a.hinge(name, one, other, at=at, axis=turn[:, 2])
    return a.mechanism()


class Clone:
    """A folder that fills with files."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.machine = folder, four_bar(seed)

    def text(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def package(self, folder: str, name: str) -> None:
        self.text(f"{folder}/package.xml", f"<package><name>{name}</name></package>")

    def saved(self, name: str, format: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rg.save(self.machine, path, format=format)
        return path.read_text()

    def macro(self) -> str:
        """The model as a macro of xacro."""
        text = self.saved("made.urdf", "urdf+")
        (self.folder / "made.urdf").unlink()
        inside = text[text.index(">", text.index("<robot")) + 1 : text.rindex("</robot>")]
        return f'<robot {XACRO}><xacro:macro name="bars">{inside}</xacro:macro></robot>'

    def caller(self, name: str, included: str) -> None:
        inside = f'<xacro:include filename="{included}"/><xacro:bars/>'
        self.text(name, f'<robot name="bars" {XACRO}>{inside}</robot>')


def workspace(clone: Clone) -> list[str]:
    clone.package("src/bars_ros2", "bars_description")
    clone.package("src/common/macros", "bars_macros")
    clone.text("src/common/macros/xacro/bars.xacro", clone.macro())
    top = "src/bars_ros2/urdf/bars.urdf.xacro"
    clone.caller(top, "$(find bars_macros)/xacro/bars.xacro")
    clone.text("build/bars_description/bars.urdf", "<robot/>")
    return [top]


def unpacked(clone: Clone) -> list[str]:
    clone.text("bars_description/urdf/macros/bars.xacro", clone.macro())
    clone.text("bars_description/manifest.xml", "<package/>")
    top = "bars_description/robots/bars.urdf.xacro"
    clone.caller(top, "$(find bars_description)/urdf/macros/bars.xacro")
    return [top]


def computed(clone: Clone) -> list[str]:
    clone.package("bars", "bars_description")
    clone.text("bars/urdf/v2/bars.xacro", clone.macro())
    clone.caller("bars/urdf/top.xacro", "$(find bars_description)/urdf/${version}/bars.xacro")
    path = clone.folder / "bars/urdf/top.xacro"
    given = f'{XACRO}><xacro:property name="version" value="v2"/>'
    path.write_text(path.read_text().replace(f"{XACRO}>", given))
    return ["bars/urdf/top.xacro"]


def everything(clone: Clone) -> list[str]:
    clone.text("README.md", "# Bars")
    clone.text("launch/view.launch.xml", "<launch/>")
    clone.text("config/bars.srdf", "<robot name='bars'/>")
    clone.text(".vscode/bars.urdf", "<robot/>")
    clone.saved("urdf/bars.urdf", "urdf+")
    clone.saved("mjcf/bars.xml", "mjcf")
    clone.saved("sdf/bars.sdf", "sdf")
    return ["mjcf/bars.xml", "sdf/bars.sdf", "urdf/bars.urdf"]


LAYOUTS = (workspace, unpacked, computed, everything)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_repositories_are_checked_without_a_flag(
    layout: Callable[[Clone], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(4):
        clone = Clone(tmp_path / str(seed), seed)
        clone.folder.mkdir()
        tops = layout(clone)
        assert main(["check", str(clone.folder), "--output", "json"]) == 1  # three rows too many
        data = json.loads(capsys.readouterr().out)
        assert data["unreadable"] == []
        found = {report["model"]["path"]: report for report in data["reports"]}
        assert [Path(path).relative_to(clone.folder).as_posix() for path in found] == tops
        for report in found.values():
            mobility = report["mobility"]
            assert (mobility["actual"], mobility["redundant"]) == (1, 3)
