"""The sections of the owner's MJCF made into another mechanism: all but its bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from regularize.adapters.common.rewriting import (
    ChangedFile,
    Rewriting,
    element,
    moved_joints,
    text_of,
)
from regularize.adapters.common.write import number, numbers, written
from regularize.adapters.common.xml import Node, XmlDocument
from regularize.adapters.mjcf.bodies import BodyTree
from regularize.adapters.mjcf.closure_patch import MjcfClosures
from regularize.adapters.mjcf.model import moved
from regularize.adapters.mjcf.patch import MjcfPatcher
from regularize.adapters.mjcf.read import element_names
from regularize.adapters.mjcf.write import written as written_anew
from regularize.errors import UnsupportedExport
from regularize.mechanism.mechanism import Mechanism

#: Attributes that name an element of another section, and what they name.
NAMING = {
    **dict.fromkeys(("body", "body1", "body2", "target"), "body"),
    **dict.fromkeys(("joint", "joint1", "joint2", "jointinparent"), "joint"),
    **dict.fromkeys(("tendon", "tendon1", "tendon2"), "tendon"),
    "actuator": "actuator",
}
#: Attributes that name an element whose section another attribute tells.
TYPED = {"objname": "objtype", "refname": "reftype"}
JOINTS = ("joint", "freejoint")
#: Coordinates of joints in ``qpos`` and ``qvel``, one of each otherwise.
WIDTHS = {"free": (7, 6), "ball": (4, 3)}


class MjcfSections(ChangedFile):
    """Changes of an MJCF file, included files inside, that make another mechanism of it."""

    def __init__(self, before: Mechanism, after: Mechanism, shown: str) -> None:
        self.shown, self.motors, self.heirs = shown, list[str](), dict[str, str]()
        super().__init__("MJCF", MjcfPatcher(before), after)
        self.m = self.patcher.m
        roots = iter(self.patcher.roots[1:])
        pending = [self.root]  # included files stand in the order in which they are found
        while pending:
            for node in pending.pop(0).walk():
                if node.tag == "include":
                    self.included[node] = next(roots)
                    pending.append(self.included[node])

    @cached_property
    def new(self) -> BodyTree:
        """The mechanism written anew, whose elements stand in for those that change."""
        return written_anew(self.after, "MJCF")

    @cached_property
    def bodies(self) -> dict[str, Node]:
        """Elements of bodies by their names in the mechanism."""
        names, worlds = element_names(self.m)[0], [*self.sections("worldbody")]
        found = [*worlds[:1], *(body for world in worlds for body in self.below(world))]
        own = [node.get("name") for node in found[1:]]
        named = all(a in (None, b) for a, b in zip(own, names[1:], strict=False))
        if len(found) != self.m.nbody or not named:
            raise UnsupportedExport("bodies of the file are made by others or stand in no order")
        return dict(zip(names, found, strict=True))

    @cached_property
    def joints(self) -> dict[str, Node]:
        """Elements of joints by their names in the mechanism."""
        bodies = [*self.bodies.values()][1:]
        nodes = (node for body in bodies for node in self.inside(body, *JOINTS))
        return dict(zip(element_names(self.m)[1], nodes, strict=True))

    @cached_property
    def chains(self) -> dict[str, list[str]]:
        """Names of the joints, one after another, by which each body hangs on the one above."""
        bodies, joints = element_names(self.m)
        found: dict[str, list[str]] = {name: [] for name in bodies}
        for name, body in zip(joints, self.m.jnt_bodyid, strict=True):
            found[bodies[body]].append(name)
        welds = {j.child: j.name for j in self.before.joints if j.kind == "fixed" and not j.closure}
        return {name: row or [welds[name]] for name, row in found.items() if row or name in welds}

    def rewrite_closures(self, lost: set[str]) -> None:
        """Take equalities out whose loops are cut otherwise, and add those of new closures."""
        closures = MjcfClosures(self.patcher, self.patcher.source)
        for joint in self.before.joints:
            if joint.closure and (joint.name in lost or joint.name in self.changed):
                rows = closures.rows_of(joint)
                if not rows:
                    raise UnsupportedExport(f"no equality of the file is closure `{joint.name}`")
                self.removed |= {row for _, row in rows}
        ends = ("", "_z", "_weld", *(f"_{part}{k}" for part in ("", "weld_") for k in (2, 3)))
        for name in self.changed.keys() & {joint.name for joint in self.new.spanning.closures}:
            self._equality({f"{name}{end}" for end in ends})

    def _equality(self, names: set[str]) -> None:
        """Add equalities of the file that is written anew, with their sites and tendons."""
        root = self.new.root
        for row in root.iterfind("equality/*"):
            if row.get("name") not in names:
                continue
            for key in ("site1", "site2"):
                for site in root.iterfind(f"worldbody//site[@name='{row.get(key)}']"):
                    body = site.getparent().get("name") or self.before.ground
                    if body in self.bodies:  # a new body is written with its sites
                        self.add(self.bodies[body], text_of(site))
            for tendon in root.iterfind(f"tendon/fixed[@name='{row.get('tendon1')}']"):
                self.put("tendon", text_of(tendon))
            self.put("equality", text_of(row))

    def rewrite_couplings(self) -> None:
        """Take couplings out that go, and add new ones."""
        old, new = ([*model.couplings] for model in (self.before, self.after))
        for coupling in old:
            if coupling not in new and coupling.source is not None:
                source = coupling.source
                self.removed.add(self.patcher.document(source.path).at(source))
        self._equality({coupling.name for coupling in new if coupling not in old})

    def rewrite_motors(self) -> set[str]:
        """Take actuators out that go, add new ones, and return the names of the former."""
        nodes, at = [*self.elements("actuator")], 0
        own: dict[str, list[Any]] = {}
        for i in range(self.m.nu if len(nodes) == self.m.nu else 0):
            count = len(moved(self.m, i))
            parts = self.before.actuators[at : at + count]
            at += count
            if parts:
                own[parts[0].name] = [nodes[i], parts]
        after = {actuator.name: actuator for actuator in self.after.actuators}
        gone = set[str]()
        for name, (node, parts) in own.items():
            if "dampratio" in node.spans and parts[0].gains is not None:  # it goes by the inertia
                self.change(node, dampratio=None, kv=number(parts[0].gains.velocity or 0.0))
            if [after.get(part.name) for part in parts] != [*parts]:
                self.removed.add(node)
                gone.add(name)
                if name not in after:  # what its joint drove is driven otherwise
                    driven = {joint.name for joint in self.after.joints} & {p.joint for p in parts}
                    self.stays(node, "warning" if driven else "note")
        for motor in self.new.root.iterfind("actuator/*"):
            if motor.get("name") in gone or motor.get("name") not in own:
                tied = f"tendon/fixed[@name='{motor.get('tendon')}']"
                for tendon in self.new.root.iterfind(tied):
                    self.put("tendon", text_of(tendon))
                self.motors.append(motor.get("name"))
                self.put("actuator", text_of(motor))
        return gone - {*after}

    def clean(self, gone: dict[str, set[str]]) -> None:
        """Take elements out that name what is gone, until none does."""
        places = [*self.elements("sensor"), *self.elements("tendon"), *self.elements("contact")]
        places += [n for s in ("actuator", "equality", "custom") for n in self.elements(s)]
        places += [n for n in self.walk(self.root) if n.tag in ("camera", "light")]
        found = True
        while found:
            found = False
            for node in places:
                if node in self.removed or not any(self._names(n, gone) for n in self.walk(node)):
                    continue
                if node.tag == "exclude" and self._excluded(node):
                    continue
                found = True
                self.removed.add(node)
                self.stays(node)
                if node.get("name") and node.tag in ("fixed", "spatial"):
                    gone["tendon"].add(str(node.get("name")))

    def _names(self, node: Node, gone: dict[str, set[str]]) -> bool:
        """Return whether an element names something that is gone."""
        kinds = {key: NAMING[key] for key in node.spans if key in NAMING}
        kinds |= {k: node.get(by) or "" for k, by in TYPED.items() if k in node.spans}
        own = self.attributes.get(node, {})
        return any(
            (own.get(key) or node.get(key)) in gone.get(kind.removeprefix("x"), ())
            for key, kind in kinds.items()
        )

    def _excluded(self, node: Node) -> bool:
        """Let a pair of bodies that do not touch name those that they are parts of."""
        ends = {key: self.heirs.get(str(node.get(key))) or node.get(key) for key in NAMING}
        pair = {key: ends[key] for key in ("body1", "body2")}
        if not {*pair.values()} <= {body.name for body in self.after.bodies}:
            return False
        if len({*pair.values()}) == 1:
            self.removed.add(node)
        self.change(node, **pair)
        return True

    def rewrite_keys(self) -> None:
        """Write keyframes for the joints and motors that there are now."""
        keys, order = [*self.elements("keyframe")], self._order()
        anew, at = dict[str, list[float]](), 0
        for joint in self.new.root.iterfind("worldbody//*"):
            if joint.tag in JOINTS:
                kind = "free" if joint.tag == "freejoint" else joint.get("type")
                width = WIDTHS.get(kind, (1, 1))[0]
                anew[joint.get("name")] = self.new.qpos[at : at + width]
                at += width
        shown = any(np.any(j.position) and anew.get(j.name) for j in self.changed.values())
        if shown or moved_joints(self.before, self.after):
            qpos = numbers([x for name in order for x in anew[name]])
            name = self.shown or "home"
            pose = next((key for key in keys if key.get("name") == name), None)
            if pose is None:
                self.put("keyframe", element("key", {"name": name, "qpos": qpos}))
            else:
                self.change(pose, qpos=qpos)
                keys.remove(pose)
                self._key(pose, order, anew, ("qvel", "ctrl", "act"))
        for key in keys:
            self._key(key, order, anew, ("qpos", "qvel", "ctrl", "act"))

    def _key(
        self, key: Node, order: list[str], anew: dict[str, list[float]], what: Sequence[str]
    ) -> None:
        """Write the numbers of a keyframe in the order of joints and motors that there are now."""
        m, old = self.m, {name: j for j, name in enumerate(element_names(self.m)[1])}
        motors = [*self.elements("actuator")]
        for attribute in (name for name in what if key.get(name)):
            words, values = str(key.get(attribute)).split(), list[str]()
            if attribute in ("ctrl", "act"):
                first, count = range(m.nu), [1] * m.nu
                if attribute == "act":
                    first, count = m.actuator_actadr, m.actuator_actnum
                for i, node in enumerate(motors):
                    if node not in self.removed:
                        values += words[first[i] : first[i] + count[i]]
                values += ["0"] * (len(self.motors) if attribute == "ctrl" else 0)
            for name in order if attribute in ("qpos", "qvel") else ():
                rate = attribute == "qvel"
                kept = name in old and name not in self.changed
                if not kept:
                    width = {7: 6, 4: 3}.get(len(anew[name]), len(anew[name]))
                    values += ["0"] * width if rate else written(anew[name]).split()
                    continue
                start = int((m.jnt_dofadr if rate else m.jnt_qposadr)[old[name]])
                width = WIDTHS.get(("free", "ball", "", "")[m.jnt_type[old[name]]], (1, 1))[rate]
                values += words[start : start + width]
            if values != words:
                self.change(key, **{attribute: " ".join(values)})

    def _order(self) -> list[str]:
        """Return the names of joints in the order of the changed file."""
        if not self.changed and len(self.after.joints) == len(self.before.joints):
            return [*self.joints]
        source = self.root.document.source
        text = XmlDocument(replace(source, text=self.render(self.root))).root
        return [
            str(node.get("name"))
            for world in text.children("worldbody")
            for body in Rewriting(text).below(world)
            for node in Rewriting(text).inside(body, *JOINTS)
        ]
