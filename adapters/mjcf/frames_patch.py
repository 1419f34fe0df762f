"""Joints moved in MJCF files: places of bodies, of sites that close loops, anchors of closures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from regularize.adapters.common.edits import Edit, MovedJoint, still, tidy, turns
from regularize.adapters.common.write import numbers
from regularize.adapters.common.xml_places import Place
from regularize.lie.screw import Array, inverse, transform
from regularize.model.joint import Joint

#: Attributes that turn an element; one replaces the others.
ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")


class MjcfFrames:
    """Elements whose places can be edited.

    Args:
        model: As MuJoCo compiled it.
        roots: Root elements of all files.
    """

    def __init__(self, model: Any, roots: Iterable[Place]) -> None:
        """Find bodies and sites by their names."""
        self.m: Any = model
        self.named: dict[tuple[str, str], Place] = {}
        self._bodies = {model.body(i).name: i for i in range(model.nbody)}
        for root in roots:
            for place in root.walk():
                if place.tag in ("body", "site") and place.get("name") is not None:
                    self.named[place.tag, str(place.get("name"))] = place

    def sites(self, joint: Joint, rows: Iterable[int]) -> tuple[list[Place], list[Place]] | None:
        """The sites of a closure on its parent and its child; None where it has other ends."""
        sides: tuple[list[Place], list[Place]] = ([], [])
        for i in rows:
            if self.m.eq_objtype[i] != mujoco.mjtObj.mjOBJ_SITE:
                return None
            for site in (int(self.m.eq_obj1id[i]), int(self.m.eq_obj2id[i])):
                body = self.m.body(int(self.m.site_bodyid[site])).name
                place = self._editable("site", self.m.site(site).name)
                if place is None or body not in (joint.parent, joint.child):
                    return None
                sides[int(body == joint.child)].append(place)
        return sides if all(sides) else None

    def body(self, name: str) -> Place | None:
        """The body of that name, where no more than one joint hangs on its place."""
        number = self._bodies.get(name, 0)
        alone = number > 0 and int(self.m.body_jntnum[number]) < 2
        return self._editable("body", name) if alone else None

    def _editable(self, tag: str, name: str) -> Place | None:
        place = self.named.get((tag, name))
        around = None if place is None or place.parent is None else place.parent.tag
        held = around in ("body", "worldbody")
        return place if place is not None and held and "fromto" not in place.values else None

    def anchored(self, wanted: MovedJoint, rows: Iterable[tuple[int, Place]]) -> list[Edit] | None:
        """The edits that put the points of a closure where they are meant to be on its first body.

        MuJoCo finds the points of the second one from the assembled pose. None where the closure
        is not written by bodies and anchors.
        """
        old, new, edits = wanted.before, wanted.after, []
        for number, place in rows:
            first = self.m.body(int(self.m.eq_obj1id[number])).name
            sides = {
                old.parent: (old.T_parent_joint, new.T_parent_joint),
                old.child: (old.T_child_joint, new.T_child_joint),
            }
            if place.get("body1") is None or first not in sides or place.get("relpose") is not None:
                return None
            anchor = place.get("anchor")
            if anchor is not None:
                before, after = sides[first]
                point = after @ inverse(before) @ [*map(float, anchor.split()), 1.0]
                edits.append(place.with_attribute("anchor", numbers(point[:3])))
        return edits

    def shifted(self, place: Place, wanted: MovedJoint, side: int) -> Iterator[Edit]:
        """The edits that move an element with a joint's frame on one of its bodies."""
        one, other = wanted.before, wanted.after
        old = (one.T_parent_joint, one.T_child_joint)[side]
        shift = (other.T_parent_joint, other.T_child_joint)[side] @ inverse(old)
        if still(shift):
            return
        T = shift @ self._pose(place)
        yield place.with_attribute("pos", numbers(tidy(T[:3, 3])))
        if turns(shift):
            x, y, z, w = Rotation.from_matrix(T[:3, :3]).as_quat()
            yield from (
                place.without_attribute(name) for name in ORIENTATIONS[1:] if name in place.values
            )
            yield place.with_attribute("quat", numbers(tidy((w, x, y, z))))

    def _pose(self, place: Place) -> Array:
        """Where an element is in the frame of the body around it."""
        part = self.m.body if place.tag == "body" else self.m.site
        found = part(str(place.get("name")))
        w, x, y, z = np.asarray(found.quat)
        R = Rotation.from_quat((x, y, z, w)).as_matrix()
        return transform(R, np.asarray(found.pos))
