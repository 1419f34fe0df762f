"""Joint frames moved in MJCF files: places of bodies in the tree, and of sites that close loops."""

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
        self.m, self.named = model, {}
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

    def body(self, joint: Place | None) -> Place | None:
        """The body of a joint's element, where that is the only joint in it."""
        body = None if joint is None else joint.parent
        if body is None or body.tag != "body" or body.get("name") is None:
            return None
        if sum(child.tag in ("joint", "freejoint") for child in body.children) != 1:
            return None
        return self._editable("body", str(body.get("name")))

    def _editable(self, tag: str, name: str) -> Place | None:
        place = self.named.get((tag, name))
        inside = place is not None and place.parent is not None and place.parent.tag == "frame"
        return None if place is None or inside or "fromto" in place.values else place

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
