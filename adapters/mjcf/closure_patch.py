"""Closures of MJCF changed: one connect in the place of two or of a weld, two in that of a weld.

A connect names bodies and an anchor, which MuJoCo and Drake both read; Drake knows no sites.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import mujoco
import numpy as np

from regularize.adapters.common.draft import WORLD
from regularize.adapters.common.edits import Edit, WantedKind
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.write import numbers
from regularize.adapters.common.xml_places import Place
from regularize.adapters.common.xml_text import quoteattr
from regularize.adapters.mjcf.compiled import Compiled
from regularize.adapters.mjcf.write import ARM
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.model.joint import Joint

#: Kinds that equality constraints make of a closure.
CLOSURES = {"revolute": ("spherical",), "fixed": ("spherical", "revolute")}


class MjcfClosures:
    """Equality constraints of a model that close its loops.

    Args:
        patcher: Of the model.
        source: The model as MuJoCo compiled it.
    """

    def __init__(self, patcher: XmlPatcher, source: Compiled) -> None:
        """Take the model."""
        self.patcher, self.rows = patcher, source.rows
        self.m: Any = source.model

    def edits(self, wanted: WantedKind) -> Iterator[Edit]:
        """The edits that give a closure its new kind; raises ``ModelError`` for what is none."""
        joint, rows = wanted.joint, self.rows_of(wanted.joint)
        if wanted.kind not in CLOSURES.get(joint.kind, ()) or not rows:
            raise self.patcher.refuse(wanted, CLOSURES.get(joint.kind, ()))
        (number, place), others = rows[0], rows[1:]
        if place.tag == "weld":
            yield self._points(number, place, wanted)
            return
        if wanted.kind == "revolute":
            raise self.patcher.refuse(wanted, ("spherical",))
        if self.m.eq_objtype[number] == mujoco.mjtObj.mjOBJ_SITE:
            yield from self._by_bodies(number, place)
        for _, other in others:
            yield other.removed()

    def _points(self, i: int, weld: Place, wanted: WantedKind) -> Edit:
        """The edit that puts one connect in the place of a weld, or two along the axis of a hinge.

        MuJoCo has no equality of five rows: of the six rows of two connects one is redundant.
        """
        sites = self.m.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE
        ends = [int(self.m.eq_obj1id[i]), int(self.m.eq_obj2id[i])]
        bodies = [int(self.m.site_bodyid[end]) if sites else end for end in ends]
        names = [self.m.body(body).name for body in bodies]
        if not all(names):
            raise ModelError(
                f"joint {wanted.joint.name!r}: a connect names its bodies; give them names"
            )
        joint, given = wanted.replacement, {}
        # Where the first body is the world, which has no name everywhere, the second one has the
        # anchor.
        turned = names[0] == WORLD
        T = joint.T_child_joint if turned else joint.T_parent_joint
        anchors = [T[:3, 3]]
        if wanted.kind == "revolute":
            anchors.append(anchors[0] + ARM * T[:3, :3] @ joint.screws[3:, 0])
        for attribute in weld.values:
            if attribute in ("name", "class", "active", "solref", "solimp"):
                given[attribute] = weld.get(attribute) or ""
        lines = []
        for k, anchor in enumerate(anchors):
            own = {**given, **({"name": f"{given['name']}_z"} if k and "name" in given else {})}
            own |= _ends_of(names, anchor)
            words = " ".join(f"{key}={quoteattr(value)}" for key, value in own.items())
            lines.append(f"<connect {words}/>")
        return weld.replaced((weld.document.newline + weld.indentation).join(lines))

    def rows_of(self, joint: Joint) -> list[tuple[int, Place]]:
        """Equality constraints that make up a closure, with their elements, in file order."""
        if len(self.rows) != self.m.neq or joint.source is None:
            return []
        ends = [self._ends(i) for i in range(self.m.neq)]
        own = next((i for i, row in enumerate(self.rows) if row.source == joint.source), None)
        if own is None:
            return []
        alike = [
            i
            for i in range(self.m.neq)
            if ends[i] == ends[own]
            and self.m.eq_type[i] == self.m.eq_type[own]
            and self.m.eq_active0[i]
        ]
        if self.m.eq_type[own] == mujoco.mjtEq.mjEQ_WELD:
            alike = [own]
        found = [(i, self.rows[i].source) for i in alike]
        return [(i, self.patcher.places(source.path).at(source)) for i, source in found]

    def _ends(self, i: int) -> frozenset[int]:
        numbers_ = [int(self.m.eq_obj1id[i]), int(self.m.eq_obj2id[i])]
        if self.m.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE:
            numbers_ = [int(self.m.site_bodyid[number]) for number in numbers_]
        return frozenset(numbers_)

    def _by_bodies(self, i: int, place: Place) -> Iterator[Edit]:
        """A connect of two sites written by bodies and an anchor, where they coincide at rest."""
        sites = [int(self.m.eq_obj1id[i]), int(self.m.eq_obj2id[i])]
        bodies = [self.m.body(int(self.m.site_bodyid[site])).name for site in sites]
        if not all(bodies) or not self._coincide(sites):
            return
        anchor = self.m.site_pos[sites[int(bodies[0] == WORLD)]]
        ends = _ends_of(bodies, anchor)
        text = " ".join(f"{key}={quoteattr(value)}" for key, value in ends.items())
        start, end = place.values["site1"]
        yield place.document.edit(start - len('site1="'), end + 1, text)
        yield place.without_attribute("site2")

    def _coincide(self, sites: Sequence[int]) -> bool:
        """Whether two sites meet at the start, where MuJoCo takes the second anchor from."""
        data = mujoco.MjData(self.m)
        data.qpos[:] = self.m.qpos0
        mujoco.mj_kinematics(self.m, data)
        gap: Array = data.site_xpos[sites[0]] - data.site_xpos[sites[1]]
        return bool(np.max(np.abs(gap)) < 1e-9)


def _ends_of(bodies: Sequence[str], anchor: Array) -> dict[str, str]:
    """Attributes of a connect; the world is the second body unless another one is named."""
    first, second = bodies if bodies[0] != WORLD else reversed(bodies)
    ends = {"body1": first} if second == WORLD else {"body1": first, "body2": second}
    return {**ends, "anchor": numbers(anchor)}
