"""Closures of MJCF changed, places of bodies, sites and anchors, and the softness of loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import mujoco
import numpy as np

from regularize.adapters.common.draft import WORLD
from regularize.adapters.common.edits import (
    Edit,
    MovedJoint,
    WantedKind,
    quoteattr,
    still,
    tidy,
    turns,
)
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.softness import Stiffening
from regularize.adapters.common.write import numbers, quaternion
from regularize.adapters.common.xml import Node
from regularize.adapters.mjcf.bodies import KINDS
from regularize.adapters.mjcf.compiled import Compiled
from regularize.adapters.mjcf.write import ARM
from regularize.errors import ModelError
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, rotation_of, transform
from regularize.mechanism.joint import Joint

#: Attributes that turn an element; one replaces the others.
ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")


class MjcfClosures:
    """Editor of the equality constraints that close the loops of a compiled model."""

    def __init__(
        self, patcher: XmlPatcher, source: Compiled, stiffening: Stiffening | None = None
    ) -> None:
        self.patcher, self.rows, self.stiffening = patcher, source.rows, stiffening
        self.m: Any = source.model

    def edits(self, wanted: WantedKind) -> Iterator[Edit]:
        """Yield edits that give a closure a new kind; ``ModelError`` if MJCF cannot hold it."""
        joint, rows = wanted.joint, self.rows_of(wanted.joint)
        possible = KINDS[joint.kind].closing_becomes if joint.kind in KINDS else ()
        if wanted.kind not in possible or not rows:
            raise self.patcher.refuse(wanted, possible)
        (number, place), others = rows[0], rows[1:]
        if place.tag == "weld":
            yield self._points(number, place, wanted)
            return
        if wanted.kind == "revolute":
            raise self.patcher.refuse(wanted, ("spherical",))
        if self.m.eq_objtype[number] == mujoco.mjtObj.mjOBJ_SITE:
            yield from self._by_bodies(number, place)
        for attribute, value in self._stiffened(number).items():
            yield place.with_attribute(attribute, value)
        for _, other in others:
            yield other.removed()

    def stiffer(self, changed: Iterable[Joint]) -> Iterator[Edit]:
        """Yield the softness of loops that do not change themselves, but for welds to the world."""
        loops = int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)
        done = {i for joint in changed for i, _ in self.rows_of(joint)}
        for i, row in enumerate(self.rows if len(self.rows) == self.m.neq else ()):
            pinned = self.m.eq_type[i] == loops[1] and 0 in self._bodies(i)
            if self.m.eq_type[i] in loops and row.source is not None and not pinned | (i in done):
                place = self.patcher.document(row.source.path).at(row.source)
                for attribute, value in self._stiffened(i).items():
                    yield place.with_attribute(attribute, value)

    def _stiffened(self, i: int) -> dict[str, str]:
        """Return ``solref`` and ``solimp`` of constraint i stiffened to stand for removed rows."""
        if self.stiffening is None:
            return {}
        m = self.m
        values = self.stiffening.stiffer(m.eq_solref[i], m.eq_solimp[i], m.opt.timestep)
        return dict(zip(("solref", "solimp"), map(numbers, values), strict=True))

    def _points(self, i: int, weld: Node, wanted: WantedKind) -> Edit:
        """Return the edit that replaces a weld by one connect, or by two along a hinge axis."""
        names = [self.m.body(body).name for body in self._bodies(i)]
        if not all(names):
            raise ModelError(
                f"joint {wanted.joint.name!r}: a connect names its bodies; give them names"
            )
        joint, attributes = wanted.replacement, {}
        # Where the first body is the world, which has no name everywhere, the second one has the
        # anchor.
        turned = names[0] == WORLD
        T = joint.T_child_joint if turned else joint.T_parent_joint
        anchors = [T[:3, 3]]
        if wanted.kind == "revolute":
            anchors.append(anchors[0] + ARM * T[:3, :3] @ joint.screws[3:, 0])
        for attribute in weld.spans:
            if attribute in ("name", "class", "active", "solref", "solimp"):
                attributes[attribute] = weld.get(attribute) or ""
        if wanted.kind == "spherical":  # two connects have as many rows as the weld
            attributes |= self._stiffened(i)
        lines = []
        for k, anchor in enumerate(anchors):
            one = attributes | _ends_of(names, anchor)
            if k and "name" in one:
                one["name"] += "_z"
            words = " ".join(f"{key}={quoteattr(value)}" for key, value in one.items())
            lines.append(f"<connect {words}/>")
        return weld.replaced(weld.gap.join(lines))

    def rows_of(self, joint: Joint) -> list[tuple[int, Node]]:
        """Return numbers and elements of the equality constraints of a closure, in file order."""
        if len(self.rows) != self.m.neq or joint.source is None:
            return []
        ends = [{*self._bodies(i)} for i in range(self.m.neq)]
        first = next((i for i, row in enumerate(self.rows) if row.source == joint.source), None)
        if first is None:
            return []
        alike = [first]
        if self.m.eq_type[first] != mujoco.mjtEq.mjEQ_WELD:
            same = (self.m.eq_type == self.m.eq_type[first]) & (self.m.eq_active0 != 0)
            alike = [i for i in np.flatnonzero(same).tolist() if ends[i] == ends[first]]
        sources = [(i, self.rows[i].source) for i in alike]
        return [(i, self.patcher.document(source.path).at(source)) for i, source in sources]

    def _bodies(self, i: int) -> list[int]:
        """Return numbers of the two bodies that a constraint joins, directly or at sites."""
        ends = [int(self.m.eq_obj1id[i]), int(self.m.eq_obj2id[i])]
        sites = self.m.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE
        return [int(self.m.site_bodyid[end]) if sites else end for end in ends]

    def _by_bodies(self, i: int, place: Node) -> Iterator[Edit]:
        """Yield edits from a connect of two sites to bodies and an anchor, if sites coincide."""
        sites = [int(self.m.eq_obj1id[i]), int(self.m.eq_obj2id[i])]
        bodies = [self.m.body(body).name for body in self._bodies(i)]
        data = mujoco.MjData(self.m)  # MuJoCo takes the second anchor from where sites meet
        data.qpos[:] = self.m.qpos0
        mujoco.mj_kinematics(self.m, data)
        gap = data.site_xpos[sites[0]] - data.site_xpos[sites[1]]
        if not all(bodies) or np.max(np.abs(gap)) >= 1e-9:
            return
        anchor = self.m.site_pos[sites[int(bodies[0] == WORLD)]]
        ends = _ends_of(bodies, anchor)
        text = " ".join(f"{key}={quoteattr(value)}" for key, value in ends.items())
        start, end = place.spans["site1"]
        yield place.document.edit(start - len('site1="'), end + 1, text)
        yield place.without_attribute("site2")


def _ends_of(bodies: Sequence[str], anchor: Array) -> dict[str, str]:
    """Return ``body1``, ``body2`` and ``anchor`` of a connect; the world may only be second."""
    first, second = bodies if bodies[0] != WORLD else reversed(bodies)
    ends = {"body1": first} if second == WORLD else {"body1": first, "body2": second}
    return {**ends, "anchor": numbers(anchor)}


class MjcfFrames:
    """Bodies and sites of a compiled model whose frames can be edited, in all of its files."""

    def __init__(self, model: Any, roots: Iterable[Node]) -> None:
        self.m: Any = model
        self.named: dict[tuple[str, str], Node] = {}
        self._bodies = {model.body(i).name: i for i in range(model.nbody)}
        for root in roots:
            for place in root.walk():
                if place.tag in ("body", "site") and place.get("name") is not None:
                    self.named[place.tag, str(place.get("name"))] = place

    def sites(self, joint: Joint, rows: Iterable[int]) -> tuple[list[Node], list[Node]] | None:
        """Return the sites of a closure on its parent and on its child; None if not of sites."""
        sides: tuple[list[Node], list[Node]] = ([], [])
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

    def body(self, name: str) -> Node | None:
        """Return the element of a body with at most one joint, which moves with its frame."""
        number = self._bodies.get(name, 0)
        alone = number > 0 and int(self.m.body_jntnum[number]) < 2
        return self._editable("body", name) if alone else None

    def _editable(self, tag: str, name: str) -> Node | None:
        """Return the element of a body or site whose frame is written in its own attributes."""
        place = self.named.get((tag, name))
        around = None if place is None or place.parent is None else place.parent.tag
        plain = around in ("body", "worldbody")
        return place if place is not None and plain and "fromto" not in place.spans else None

    def anchored(self, wanted: MovedJoint, rows: Iterable[tuple[int, Node]]) -> list[Edit] | None:
        """Return edits that move a closure's anchors on its first body; None if it has none."""
        old, new, edits = wanted.before, wanted.after, []
        parents = old.T_parent_joint, new.T_parent_joint
        sides = {old.parent: parents, old.child: (old.T_child_joint, new.T_child_joint)}
        for number, place in rows:
            first = self.m.body(int(self.m.eq_obj1id[number])).name
            if place.get("body1") is None or first not in sides or place.get("relpose") is not None:
                return None
            anchor = place.get("anchor")
            if anchor is not None:
                before, after = sides[first]
                point = after @ inverse(before) @ [*map(float, anchor.split()), 1.0]
                edits.append(place.with_attribute("anchor", numbers(point[:3])))
        return edits

    def shifted(self, place: Node, wanted: MovedJoint, side: int) -> Iterator[Edit]:
        """Yield edits that move a body or site along with a joint's frame (0 parent, 1 child)."""
        one, other = wanted.before, wanted.after
        old = (one.T_parent_joint, one.T_child_joint)[side]
        shift = (other.T_parent_joint, other.T_child_joint)[side] @ inverse(old)
        if still(shift):
            return
        part = self.m.body if place.tag == "body" else self.m.site
        compiled_part = part(str(place.get("name")))
        w, x, y, z = np.asarray(compiled_part.quat)
        T = shift @ transform(rotation_of((x, y, z, w)), np.asarray(compiled_part.pos))
        yield place.with_attribute("pos", numbers(tidy(T[:3, 3])))
        if turns(shift):
            x, y, z, w = quaternion(T[:3, :3])
            yield from (
                place.without_attribute(name) for name in ORIENTATIONS[1:] if name in place.spans
            )
            yield place.with_attribute("quat", numbers(tidy((w, x, y, z))))
