"""The owner's MJCF made into another mechanism: a twin, a reduced model, a copy somewhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.rewriting import Rewritten, element, moved_joints, plain, text_of
from regularize.adapters.common.write import numbers, written
from regularize.adapters.common.xml import Node
from regularize.adapters.mjcf.bodies import forces, limits, place
from regularize.adapters.mjcf.patch import MjcfPatcher
from regularize.adapters.mjcf.sections import JOINTS, MjcfSections
from regularize.errors import UnsupportedExport
from regularize.escape import listed
from regularize.lie.screw import inverse
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
#: How a joint says that it has none, where its defaults have some.
NONE = {"range": ("limited", "false"), "actuatorfrcrange": ("actuatorfrclimited", "false")}
#: Attributes that are angles of hinges, in degrees or radians.
ANGLES = ("range", "ref", "springref")


def rewritten(mechanism: Mechanism, again: Callable[..., Mechanism], folder: Path) -> Rewritten:
    """Return the owner's file, read ``again``, as a mechanism made of it, and what of it goes."""
    before = again()
    options: dict[str, Any] = {}
    elsewhere = moved_joints(before, mechanism)
    keys: list[str | bool] = [*MjcfPatcher(before).keys, False] if elsewhere else []
    for key in keys:
        other = again(keyframe=key)
        if not moved_joints(other, mechanism):
            before, options = other, {"keyframe": key}
            break
    file = MjcfRewriting(before, mechanism, options.get("keyframe") or "")
    if plain(before) != plain(mechanism):
        file.apply()
    return Rewritten(file.text(file.patcher, folder).data, tuple(file.findings), options)


def _limits(joint: Joint) -> dict[str, Any]:
    """Return the attributes of a joint of one freedom that say its limits and forces."""
    if joint.freedoms != 1:
        return {key: value.tolist() for key, value in joint.dynamics.stated().items()}
    values = {**limits(joint, 1.0), **forces(joint, 1.0)}
    return {key: written(value) for key, value in values.items()}


class MjcfRewriting(MjcfSections):
    """Changes of an MJCF file, included files inside, that make another mechanism of it."""

    def apply(self) -> None:
        """Make the file the mechanism."""
        kept = {body.name for body in self.after.bodies}
        gone = {name: node for name, node in self.bodies.items() if name not in kept}
        lost = {*self.old} - {joint.name for joint in self.after.joints}
        every = self._without_rules_for_masses()
        if self.after.name != self.before.name:
            self.change(self.root, model=self.after.name)
        if gone or self.changed or lost:  # names made of numbers would be others
            for name, node in [*[*self.bodies.items()][1:], *self.joints.items()]:
                if node.get("name") != name:
                    self.change(node, name=name)
        self.removed |= {*gone.values()}
        for new in self.new.root.find("worldbody").iter("body"):
            self._body(new, every)
        for name, node in gone.items():
            self._given_away(name, node)
        self.rewrite_closures(lost)
        self.rewrite_couplings()
        if not np.array_equal(self.before.gravity, self.after.gravity):
            raise UnsupportedExport("gravity is another one")
        self.clean(
            {"body": {*gone}, "joint": lost, "actuator": self.rewrite_motors(), "tendon": set()}
        )
        self.rewrite_keys()
        if gone:
            message = f"MJCF: bodies {listed(gone, 99)} are parts of others, and their joints gone"
            self.findings.append(Diagnostic("REG329", "note", message))

    def _without_rules_for_masses(self) -> bool:
        """Return whether all masses have to be written, and take rules away that change them."""
        compiler = self.patcher.spec.compiler
        geoms, scaled = int(compiler.inertiafromgeom) == 1, compiler.settotalmass > 0.0
        for node in self.sections("compiler"):
            if "settotalmass" in node.spans:
                self.change(node, settotalmass=None)
            if geoms and "inertiafromgeom" in node.spans:
                self.change(node, inertiafromgeom="auto")
        return geoms or scaled

    def _body(self, new: Any, every: bool) -> None:
        """Change a body to what it is in the file that is written anew, or add it."""
        name, holder = new.get("name"), new.getparent().get("name") or self.before.ground
        node = self.bodies.get(name)
        if node is None:
            if name not in self.old_bodies and holder in self.bodies:
                place = self.bodies[holder]
                self.add(place, *self._grown(self._in_units(deepcopy(new), self._class(place))))
            return
        if every or self.remassed(name):
            self.removed |= {*self.inside(node, "inertial")}
            for inertial in new.findall("inertial"):
                self.add(node, text_of(inertial))
        chain = self.chains[name]
        names = {joint.name for joint in self.after.joints}
        if all(joint in names and joint not in self.changed for joint in chain):
            for joint in chain:
                self._restated(joint)
            return
        self.removed |= {*self.inside(node, *JOINTS)}
        for child in new:
            if child.tag in JOINTS:
                self.add(node, text_of(self._in_units(child, self._class(node))))
        self.change(node, **dict.fromkeys(("pos", *ORIENTATIONS)))
        self.change(node, **{key: new.get(key) for key in ("pos", "quat") if new.get(key)})
        if self.holder(node) is not self.bodies.get(holder):
            self.change(node, childclass=self._class(node))
            self.removed.add(node)
            if holder in self.bodies:
                self.add(self.bodies[holder], node)

    def _grown(self, new: Any) -> list[str | Node]:
        """Return a new body as text, with the owner's bodies that hang on it between."""
        within = [body for body in new.iter("body") if body.get("name") in self.bodies]
        nodes = [self.bodies[body.get("name")] for body in within]
        for k, body in enumerate(within):
            if body.getparent() is not None:
                body.getparent().replace(body, etree.Element("moved", number=str(k)))
        parts = re.split(r'<moved number="(\d+)"/>', text_of(new))
        return [nodes[int(part)] if k % 2 else part for k, part in enumerate(parts)]

    def _class(self, node: Node) -> str | None:
        """Return the class whose defaults hold inside of a body."""
        places = [node, *self.above(node)]
        return next((name for place in places if (name := place.get("childclass"))), None)

    def _in_units(self, written_element: Any, name: str | None = None) -> Any:
        """Return an element whose joints have the file's angles, and none of its defaults."""
        neutral = self.patcher.neutral(name)
        for joint in written_element.iter("joint"):
            for key, value in neutral.items():
                if key not in joint.attrib and key.replace("limited", "range") not in joint.attrib:
                    joint.set(key, value)
            turned = self.patcher.spec.compiler.degree and joint.get("type") != "slide"
            for key in (key for key in ANGLES if turned and joint.get(key) is not None):
                joint.set(key, numbers(np.degrees([float(x) for x in joint.get(key).split()])))
            if joint.get("range") is not None:
                joint.set("limited", "true")
        return written_element

    def _restated(self, name: str) -> None:
        """Change limits and forces of a joint that stays where it is."""
        old, new = self.old[name], next(j for j in self.after.joints if j.name == name)
        one, other = _limits(old), _limits(new)
        if one == other:
            return
        if old.freedoms != 1:
            raise UnsupportedExport(f"forces of joint `{name}`, which has several freedoms")
        node, degrees = self.joints[name], self.patcher.spec.compiler.degree
        for key in {*one, *other}:
            value = other.get(key)
            if value == one.get(key):
                continue
            flag = NONE.get(key)
            if value is None:
                self.change(node, **{flag[0]: flag[1]} if flag else {key: "0"})
                continue
            if degrees and key in ANGLES and old.kind == "revolute":
                value = numbers(np.degrees([float(x) for x in value.split()]))
            self.change(node, **{key: value}, **({flag[0]: "true"} if flag else {}))

    def _given_away(self, name: str, node: Node) -> None:
        """Put what a body holds that goes into the body that it becomes a part of."""
        things = [c for c in self.children(node) if c.tag not in (*JOINTS, "inertial", "body")]
        if not things:
            return
        self.removed |= {*self.inside(node, *JOINTS)}
        names = {place: body for body, place in self.bodies.items()}
        heir = self.heir(name, (names[n] for n in self.above(node) if n in names))
        before, after = self.poses
        attributes = {k: written(v) for k, v in place(inverse(after[heir]) @ before[name]).items()}
        if own := self._class(node):
            attributes["childclass"] = own
        head, tail = element("frame", attributes, ["|"]).split("|")
        self.add(self.bodies[heir], head, *things, tail)
        self.heirs[name] = heir
