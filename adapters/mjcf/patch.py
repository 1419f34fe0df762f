"""Kinds of joints changed in MJCF files: further joints in a body, and one connect per closure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import mujoco
import numpy as np

from regularize.adapters.common.edits import (
    Edit,
    EditedText,
    MovedJoint,
    Patch,
    WantedKind,
    WantedSlack,
)
from regularize.adapters.common.patching import FileReference, GapOf, XmlPatcher
from regularize.adapters.common.softness import Stiffening, least_open
from regularize.adapters.common.write import number, numbers
from regularize.adapters.common.xml import Node, XmlDocument
from regularize.adapters.mjcf.bodies import KINDS
from regularize.adapters.mjcf.closure_patch import MjcfClosures, MjcfFrames
from regularize.adapters.mjcf.compiled import compiled, loaded
from regularize.errors import ModelError, UnsupportedExport
from regularize.escape import listed, unique
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism

#: What a joint must not have that only gives way, by attribute: the value that means none.
NEUTRAL = {"stiffness": 0.0, "damping": 0.0, "armature": 0.0, "frictionloss": 0.0, "ref": 0.0}
#: Attribute that names a folder, by the tag of the files in it.
FOLDERS = {"mesh": "meshdir", "hfield": "meshdir", "skin": "meshdir", "texture": "texturedir"}
#: Attributes by which the compiler names folders.
ASSETS = {"meshdir", "texturedir", "assetdir"}
_WORD = re.compile(r"\S+")


class MjcfPatcher(XmlPatcher):
    """Edits an MJCF file and the files that it includes."""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.source = compiled(self.path)
        self.m: Any = self.source.model
        self.spec: Any = loaded(self.path)

    @property
    def roots(self) -> list[Node]:
        """Root elements of all files."""
        return [self.document(path).root for path in (self.path, *self.source.files)]

    def kinds(self, joint: Joint) -> Collection[str]:
        """Return kinds that edits of the file can make of a joint."""
        if joint.closure:
            return KINDS[joint.kind].closing_becomes if joint.kind in KINDS else ()
        place = self._joint_place(joint)
        if place is None or place.tag != "joint":
            return ()
        ball = joint.kind == "revolute" and not self._needed(joint, place)
        return (*self._gains(joint), *(["spherical"] if ball else ()))

    def _gains(self, joint: Joint) -> tuple[str, ...]:
        """Return kinds that a further joint in the same body makes of a joint."""
        return KINDS[joint.kind].becomes if joint.kind in KINDS else ()

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Return edits to wanted kinds: joints added, connects removed, keyframes lengthened."""
        return self._patch(wanted, None)

    def _patch(self, wanted: Sequence[WantedKind], stiffening: Stiffening | None) -> Patch:
        patch = Patch()
        self.taken = {self.m.joint(j).name for j in range(self.m.njnt)}
        for each in wanted:
            if each.joint.closure:
                patch.edits += MjcfClosures(self, self.source, stiffening).edits(each)
            else:
                patch.edits += self._tree_joint(each)
        if any(not each.joint.closure for each in wanted):
            self._keep_damping(patch)
        changed = [each.joint for each in wanted if each.joint.closure]
        if stiffening is not None and (stiffening.everywhere or not changed):
            patch.edits += MjcfClosures(self, self.source, stiffening).stiffer(changed)
        return patch

    def _keep_damping(self, patch: Patch) -> None:
        """Write the damping of servos that state a ratio, which goes by the inertia, and say so."""
        every = (p for root in self.roots for p in root.walk())
        places = [p for p in every if p.parent and p.parent.tag == "actuator"]
        ratios = [float(each.biasprm[2]) > 0.0 for each in self.spec.actuators]
        for i, place in enumerate(places if len(places) == len(ratios) == self.m.nu else ()):
            if not ratios[i]:
                continue
            kv = number(-float(self.m.actuator_biasprm[i, 2]))
            if "dampratio" in place.spans:
                patch.edits.append(place.without_attribute("dampratio"))
            patch.edits.append(place.with_attribute("kv", kv))
            message = (
                f"servo `{self.m.actuator(i).name}` keeps its damping: its dampratio, which goes "
                f"by the inertia of the pose, is written as kv={kv}"
            )
            patch.findings.append(Diagnostic("REG302", "note", message, source=place.source))

    def as_stiff(self, wanted: Sequence[WantedKind], gap_of: GapOf, before: float) -> Patch:
        """Also set ``solref`` and ``solimp`` of loops that would open wider than before."""
        return least_open(partial(self._patch, wanted), wanted, gap_of, before, True)

    def slack(self, wanted: WantedSlack) -> Patch:
        """Return edits that remove idle equalities; refuse slack bodies, which would need mass."""
        for links in wanted.links[:1]:
            joints = listed(_in_words(joint) for joint in links.joints)
            raise UnsupportedExport(
                f"a slack body would need a share of the mass of `{links.carrier}`, and none is "
                f"divided in MJCF; by hand: put a body with some mass into `{links.carrier}`, with "
                f"the joints {joints}, and let the constraint `{links.joint.name}` name that body"
            )
        return super().slack(wanted)

    # -- places of joints

    def movable(self, joint: Joint) -> tuple[bool, bool]:
        """Return whether the joint's frame on its parent, and on its child, can be edited."""
        if not joint.closure:
            return self._frames.body(joint.child) is not None, False
        both = self._sites(joint) is not None
        return both, both

    def holds(self, wanted: MovedJoint) -> bool:
        """Return whether a moved joint can be written: by bodies, sites or anchors."""
        return super().holds(wanted) or (wanted.before.closure and bool(self._rows(wanted.before)))

    def frame_edits(self, wanted: MovedJoint) -> Iterator[Edit]:
        """Yield edits that move bodies, sites or anchors with a joint's frames."""
        joint = wanted.before
        body = None if joint.closure else self._frames.body(joint.child)
        sides = self._sites(joint) if joint.closure else ([body] if body else [], [])
        if sides is None:
            anchors = self._frames.anchored(wanted, self._rows(joint))
            if anchors is None:
                raise self.unplaced(wanted)
            yield from anchors
        for side, places in enumerate(sides or ()):
            for place in places:
                yield from self._frames.shifted(place, wanted, side)

    @cached_property
    def _frames(self) -> MjcfFrames:
        return MjcfFrames(self.m, self.roots)

    def _sites(self, joint: Joint) -> tuple[list[Node], list[Node]] | None:
        """Return the sites of a closure, on its parent and on its child."""
        return self._frames.sites(joint, [number for number, _ in self._rows(joint)])

    def _rows(self, joint: Joint) -> list[tuple[int, Node]]:
        """Return numbers and elements of the equality constraints of a closure."""
        return MjcfClosures(self, self.source).rows_of(joint)

    # -- joints of the tree

    def _joint_place(self, joint: Joint) -> Node | None:
        """Return the element of a joint, found by its body where the joint has no name."""
        if joint.source is not None and joint.source.line is not None:
            return self.element(joint)
        number = self._number(joint)
        if number is None:
            return None
        body = int(self.m.jnt_bodyid[number])
        name = self.m.body(body).name
        bodies = (p for root in self.roots for p in root.walk() if p.tag == "body")
        place = next((p for p in bodies if p.get("name") == name), None) if name else None
        joints = [] if place is None else list(_own_joints(place))
        k = number - int(self.m.body_jntadr[body])
        return joints[k] if len(joints) == int(self.m.body_jntnum[body]) else None

    def _number(self, joint: Joint) -> int | None:
        """Return the number of a joint in the compiled model, found by its name or its body."""
        names = [self.m.joint(j).name or None for j in range(self.m.njnt)]
        if joint.name in names:
            return names.index(joint.name)
        for j, name in enumerate(names):
            body = self.m.body(int(self.m.jnt_bodyid[j])).name
            if name is None and joint.name == f"{body}_joint":
                return j
        return None

    def _tree_joint(self, wanted: WantedKind) -> Iterator[Edit]:
        """Yield edits that give a tree joint another kind, most by a further joint beside it."""
        joint, place = wanted.joint, self._joint_place(wanted.joint)
        number = self._number(joint)
        if place is None or number is None or wanted.kind not in self._gains(joint):
            if place is not None and wanted.kind in ("revolute", "prismatic", "spherical"):
                yield from self._retyped(place, wanted)
                return
            raise self.refuse(wanted, self.kinds(joint))
        inside = place.parent is not None and place.parent.tag == "frame"
        if inside and wanted.kind != "cylindrical":
            raise ModelError(
                f"{joint.source}: joint {joint.name!r} stands in a <frame>, in which a second axis "
                "is not written; move it out of the frame"
            )
        old = self.spec.joints[number]
        pos = place.get("pos") or (numbers(old.pos) if np.any(old.pos) else None)
        slide, axis, first = True, place.get("axis") or numbers(old.axis), False
        screws = wanted.replacement.screws
        if wanted.kind == "universal":
            slide, axis = False, numbers(screws[3:, 1])
        elif wanted.kind == "slotted":
            axis, first = numbers(screws[:3, 0]), True
        elif joint.kind == "prismatic":
            slide = False
        name = unique(f"{joint.name}_{'slide' if slide else 'turn'}", self.taken)
        self.taken.add(name)
        attributes = {"name": name, "type": "slide" if slide else "hinge"}
        if not slide and pos is not None:
            attributes["pos"] = pos
        attributes["axis"] = axis
        scopes = (scope.get("childclass") for scope in place.above())
        attributes |= self.neutral(next(filter(None, scopes), None))
        text = "<joint " + " ".join(f'{key}="{value}"' for key, value in attributes.items()) + "/>"
        yield place.before(text) if first else place.after(text)
        yield from self._longer_keys(number, first)

    def _retyped(self, place: Node, wanted: WantedKind) -> Iterator[Edit]:
        """Yield the edit of a joint's type; a ball is refused while its coordinate is used."""
        what = self._needed(wanted.joint, place) if wanted.kind == "spherical" else ""
        if what:
            raise ModelError(
                f"joint {wanted.joint.name!r} cannot become spherical: the {what} its one "
                "coordinate; delete that first"
            )
        yield place.with_attribute("type", KINDS.written[wanted.kind])

    def _needed(self, joint: Joint, place: Node) -> str:
        """Return what uses a hinge's coordinate; empty if the hinge may become a ball."""
        m, of_joints = self.m, self.m.eq_type == mujoco.mjtEq.mjEQ_JOINT
        named = {*m.sensor_objid[m.sensor_objtype == mujoco.mjtObj.mjOBJ_JOINT]}
        named |= {*m.wrap_objid[m.wrap_type == mujoco.mjtWrap.mjWRAP_JOINT]}
        named |= {*m.eq_obj1id[of_joints], *m.eq_obj2id[of_joints]}
        needs = {
            "keyframes of the model hold": m.nkey,
            "range bounds": place.get("range") is not None or joint.limits is not None,
            "motors drive": joint.actuated,
            "springs and losses act on": any(map(np.any, joint.dynamics.stated().values())),
            "sensors or couplings name": self._number(joint) in named,
        }
        return next((use for use, used in needs.items() if used), "")

    @property
    def keys(self) -> list[str]:
        """Names of the keyframes."""
        return [name for i in range(self.m.nkey) if (name := self.m.key(i).name)]

    def neutral(self, name: str | None) -> dict[str, str]:
        """Return attributes of an added joint against springs and limits of a default class."""
        default = (self.spec.find_default(name) if name else self.spec.default).joint
        attributes = {}
        for attribute, none in NEUTRAL.items():
            if np.any(np.atleast_1d(getattr(default, attribute)) != none):
                attributes[attribute] = f"{none:g}"
        if np.any(default.range) or default.limited == mujoco.mjtLimited.mjLIMITED_TRUE:
            attributes["limited"] = "false"
        if np.any(default.actfrcrange):
            attributes["actuatorfrclimited"] = "false"
        return attributes

    def _longer_keys(self, number: int, first: bool) -> Iterator[Edit]:
        """Yield edits that add a zero to each keyframe for the coordinate of an added joint."""
        for root in self.roots:
            for key in (place for place in root.walk() if place.tag == "key"):
                for attribute, addresses in (
                    ("qpos", self.m.jnt_qposadr),
                    ("qvel", self.m.jnt_dofadr),
                ):
                    if attribute in key.spans:
                        words = [*_WORD.finditer(key.document.text, *key.spans[attribute])]
                        beside = words[int(addresses[number])]
                        at = beside.start() if first else beside.end()
                        yield key.document.edit(at, at, "0 " if first else " 0")

    # -- references

    def references(self, text: EditedText) -> Iterator[FileReference]:
        """Yield relative paths in a text: asset folders, asset files and included files."""
        compilers = [p for root in self.roots for p in root.walk() if p.tag == "compiler"]
        folders = {name for place in compilers for name in place.spans} & ASSETS
        for place in XmlDocument(text).root.walk():
            for attribute, span in place.spans.items():
                path = text.text[slice(*span)].strip()
                named = place.tag == "compiler" and attribute in ASSETS
                if attribute.startswith("file") and path:
                    inside = FOLDERS.get(place.tag)
                    named = inside is None or not folders & {inside, "assetdir"}
                if named and path and not path.startswith("/"):
                    yield FileReference(*span, path)


def _in_words(joint: Joint) -> str:
    """Return a slack joint as an MJCF element, with its axis in the frame of the body."""
    slides = bool(np.any(joint.screws[:3]))
    direction = joint.screws[:3, 0] if slides else joint.screws[3:, 0]
    axis = numbers(joint.T_parent_joint[:3, :3] @ direction)
    place = "" if slides else f' pos="{numbers(joint.T_parent_joint[:3, 3])}"'
    return f'<joint type="{"slide" if slides else "hinge"}" axis="{axis}"{place}/>'


def _own_joints(body: Node) -> Iterator[Node]:
    """Yield joint elements of a body, those inside <frame> elements included."""
    for child in body.nodes:
        if child.tag in ("joint", "freejoint"):
            yield child
        elif child.tag == "frame":
            yield from _own_joints(child)
