"""A USD stage while it is being read: its units, its gravity, and what was found on it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import Tf, Usd, UsdGeom, UsdPhysics

from regularize.adapters.common.draft import WORLD, Draft, Side
from regularize.adapters.common.located import FilePlace
from regularize.adapters.usd.body import Places
from regularize.adapters.usd.precise import get, numbers, value_of
from regularize.errors import ReadError
from regularize.lie.screw import Array, inverse
from regularize.model.diagnostic import Source

EARTH = 9.81
#: Attributes that place something, by the beginnings of their names.
PLACES = (
    "xformOp:",
    "physics:localPos",
    "physics:localRot",
    "physics:centerOfMass",
    "physics:principalAxes",
    "physics:diagonalInertia",
)
_FAULT = re.compile(r":(\d+):\d+: (.*?)(?:' Error in|$)")  # line and message


@dataclass(eq=False)
class Stage(Draft):
    """A stage while it is being read.

    Attributes:
        places: Poses of prims.
        names: Name of each body by the path of its prim.
        joint_names: Name of each joint by the path of its prim.
        prims: Prim of each body by name.
        freedoms: Names of each joint's freedoms, as in ``rotX``.
    """

    places: Places = field(kw_only=True)
    names: dict[str, str] = field(default_factory=dict)
    joint_names: dict[str, str] = field(default_factory=dict)
    prims: dict[str, Any] = field(default_factory=dict)
    freedoms: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def at(self, prim: Any) -> FilePlace:
        """Where a prim stands."""
        return FilePlace(str(self.path), str(prim.GetPath()))

    def source(self, prim: Any) -> Source:
        """Where a prim stands, for what is made of it."""
        return self.at(prim).source

    def pose(self, body: str) -> Array:
        """World pose of a body in metres."""
        return np.eye(4) if body == WORLD else self.places.pose(self.prims[body])

    def frame(self, prim: Any, index: int) -> Array:
        """The frame of a joint prim on one of its bodies, or on the world, in the world."""
        body = target_of(prim, f"physics:body{index}")
        target = prim.GetStage().GetPrimAtPath(body) if body else None
        position = value_of(prim, f"physics:localPos{index}", (0.0, 0.0, 0.0))
        rotation = value_of(prim, f"physics:localRot{index}", None)
        return self.places.frame(target or None, position, rotation)

    def between(self, first: Side, second: Side) -> Array:
        """The second frame seen from the first one on the stage, shape (4, 4)."""
        (parent, T_parent), (child, T_child) = first, second
        return inverse(self.pose(parent) @ T_parent) @ self.pose(child) @ T_child


def target_of(prim: Any, name: str) -> str | None:
    """Path of the first prim that a relationship names; None where it names none."""
    targets = prim.GetRelationship(name).GetTargets() if prim.HasRelationship(name) else []
    return str(targets[0]) if targets else None


def open_stage(path: str) -> Any:
    """The stage in a file; raises ``ReadError`` with USD's own reason and line."""
    with faults_of(path):
        stage = Usd.Stage.Open(path)
        stage.Reload()  # USD keeps layers that somebody holds, even where their files have changed
        return stage


@contextmanager
def faults_of(path: str) -> Iterator[None]:
    """What USD stumbles over, as faults of the file; it looks at most values only when asked."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ReadError(path, f"holds text that is not UTF-8 ({error.object!r:.40})") from error
    except Tf.ErrorException as error:
        reason = " ".join(str(error).split())
        fault = _FAULT.search(reason)
        found = re.sub(r"pxrInternal\S*::", "", reason if fault is None else fault[2])
        line = None if fault is None else int(fault[1])
        raise ReadError(path, f"USD cannot read it: {found[:200]}", line=line) from error


def check_values(prims: Iterable[Any], path: str) -> None:
    """Refuse attributes whose values are of no use to anybody.

    Raises:
        ReadError: A value is of another type than its attribute, or a place is not finite.
    """
    for prim in prims:
        for attribute in prim.GetAuthoredAttributes():
            name, value = str(attribute.GetName()), attribute.Get()
            where = str(attribute.GetPath())
            if type(value).__name__ == "UnregisteredValue":
                kind = attribute.GetTypeName()
                raise ReadError(path, f"its value is none of the type {kind}", element=where)
            if name.startswith(PLACES) and not np.all(np.isfinite(numbers(value))):
                raise ReadError(path, "its value is not finite; correct it", element=where)


def units(stage: Any) -> tuple[float, float]:
    """Metres per unit of length and kilograms per unit of mass."""
    return (
        float(UsdGeom.GetStageMetersPerUnit(stage)),
        float(UsdPhysics.GetStageKilogramsPerUnit(stage)),
    )


def report_units(stage: Any, reading: Stage) -> None:
    """Note units that were converted or assumed."""
    unit, kilogram = units(stage)
    if not UsdGeom.StageHasAuthoredMetersPerUnit(stage):
        reading.warn(
            "REG012",
            "the stage does not say what its length unit is: read as centimetres, USD's default",
            None,
            "write metersPerUnit into the stage",
        )
    elif not math.isclose(unit, 1.0) or not math.isclose(kilogram, 1.0):
        reading.note(
            "REG012",
            f"units of {unit:g} m and {kilogram:g} kg converted to metres and kilograms",
        )
    if str(UsdGeom.GetStageUpAxis(stage)) == "Y":
        reading.note("REG012", "up is Y on this stage: gravity points along -Y")


def gravity(stage: Any, prims: list[Any], unit: float) -> Array:
    """Acceleration of free fall in m/s², shape (3,)."""
    down: Array = -np.eye(3)["XYZ".index(str(UsdGeom.GetStageUpAxis(stage)))]
    scenes = [prim for prim in prims if prim.IsA(UsdPhysics.Scene)]
    if not scenes:
        return down * EARTH
    scene = UsdPhysics.Scene(scenes[0])
    direction = np.array(get(scene.GetGravityDirectionAttr()), dtype=np.float64)
    magnitude = float(get(scene.GetGravityMagnitudeAttr()))
    size = EARTH if not math.isfinite(magnitude) or magnitude < 0.0 else magnitude * unit
    length = float(np.linalg.norm(direction))
    toward: Array = down if length == 0.0 else direction / length
    return toward * size
