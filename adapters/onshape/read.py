"""Onshape assembly definitions: the JSON of the assembly endpoint, mate features included.

Occurrences are placed in the root assembly, in metres; mates join coordinate systems in the
coordinates of their parts. The root assembly is the ground. Fastened mates, mate groups and rigid
sub-assemblies are fixed joints. Masses come from another endpoint and are not in this file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from regularize.adapters.cad.draft import CadDraft
from regularize.adapters.common.names import listed, unique
from regularize.adapters.onshape.values import Value, load
from regularize.lie.screw import Array, inverse
from regularize.model.mechanism import Coupling, Joint, Mechanism

PAIRS = {
    "FASTENED": "fixed",
    "REVOLUTE": "revolute",
    "SLIDER": "prismatic",
    "CYLINDRICAL": "cylindrical",
    "PIN_SLOT": "pin_slot",
    "PLANAR": "planar",
    "BALL": "spherical",
    "PARALLEL": "parallel",
}
#: Deepest nesting of sub-assemblies.
DEEPEST = 64

Path = tuple[str, ...]


@dataclass(frozen=True)
class Scope:
    """An assembly at one of its places.

    Attributes:
        path: Path of the occurrence; empty for the root.
        assembly: Its definition.
        title: Names of the instances that lead to it, each with a slash.
    """

    path: Path
    assembly: Value
    title: str = ""


def read(path: str) -> Mechanism:
    """Read an assembly definition.

    Args:
        path: The file.

    Raises:
        ReadError: The file is no assembly definition, or a mate names no occurrence.
    """
    root = load(path)
    if not isinstance(root.raw, dict) or not isinstance(root.raw.get("rootAssembly"), dict):
        raise root.error("has no `rootAssembly`; this is no Onshape assembly definition")
    return _Reader(root).read()


class _Reader:
    """Reads one definition; holds what its parts share."""

    def __init__(self, root: Value) -> None:
        self.root = root
        self.definitions = {_key(v): v for v in root.each("subAssemblies")}
        assembly = root.get("rootAssembly")
        name = root.text("name", "") or assembly.text("name", "") or "assembly"
        self.draft = CadDraft(root.path, name)
        self.body: dict[Path, str] = {}
        self.placed: dict[Path, Array] = {(): np.eye(4)}
        self.rigid: list[Path] = []
        self.suppressed: set[Path] = set()
        self.joint: dict[tuple[Path, str], str] = {}
        self.unread: list[Value] = []

    def read(self) -> Mechanism:
        """The mechanism."""
        root = self.root.get("rootAssembly")
        occurrences = [*root.each("occurrences")]
        for occurrence in occurrences:
            matrix = occurrence.numbers("transform", 16).reshape(4, 4)
            path = occurrence.names("path")
            self.placed[path] = occurrence.rigid(matrix[:3, :3], matrix[:3, 3])
        scopes = self._walk(Scope((), root))
        if not self.body:
            raise root.error("has no parts; there is nothing to check")
        for occurrence in occurrences:
            path = occurrence.names("path")
            if occurrence.flag("fixed") and not self._is_suppressed(path):
                body = self._leaf(path, occurrence)
                self.draft.add_ground(f"fixed {body}", body, occurrence.source)
        for path in self.rigid:
            leaves = [p for p in self.body if p[: len(path)] == path]
            self._fasten(f"rigid {path[-1]}", leaves, root)
        for scope in scopes:
            for feature in scope.assembly.each("features"):
                self._add_feature(scope, feature)
        for scope in scopes:
            for feature in scope.assembly.each("features"):
                if feature.text("featureType") == "mateRelation" and not feature.flag("suppressed"):
                    self._add_relation(scope, feature)
        self._report_unread()
        return self.draft.finish("onshape")

    def _walk(self, scope: Scope) -> list[Scope]:
        """Add the parts of an assembly; returns it and the flexible ones inside it."""
        if len(scope.path) > DEEPEST:
            raise scope.assembly.error(f"is nested deeper than {DEEPEST} levels; is it circular?")
        scopes = [scope]
        rigid = any(scope.path[: len(p)] == p for p in self.rigid)
        if [*scope.assembly.each("patterns")]:
            self.draft.note(
                "REG013",
                "warning",
                "patterns are not read: parts made by them move freely here",
                scope.assembly.source,
            )
        for instance in scope.assembly.each("instances"):
            path = (*scope.path, instance.text("id"))
            name = scope.title + instance.text("name", instance.text("id"))
            if instance.flag("suppressed"):
                self.suppressed.add(path)
            elif instance.text("type") == "Assembly":
                if _key(instance) not in self.definitions:
                    raise instance.error("its sub-assembly is not among `subAssemblies`")
                if instance.flag("isRigid") and not rigid:
                    self.rigid.append(path)
                inner = self._walk(Scope(path, self.definitions[_key(instance)], f"{name}/"))
                scopes += [] if instance.flag("isRigid") else inner
            elif path not in self.placed:
                raise instance.error("has no entry among the occurrences; export it again")
            else:
                body = self.draft.add_body(name, self.placed[path], source=instance.source)
                self.body[path] = body
        return [] if rigid else scopes

    def _is_suppressed(self, path: Path) -> bool:
        return any(path[: k + 1] in self.suppressed for k in range(len(path)))

    def _leaf(self, path: Path, at: Value) -> str:
        """Body of an occurrence: the part itself, or the first part of a sub-assembly."""
        if not path:
            return self.draft.ground
        leaves = [p for p in self.body if p[: len(path)] == path]
        if not leaves:
            raise at.error(f"names the occurrence {'/'.join(path)!r}, which has no parts here")
        return self.body[leaves[0]]

    def _end(self, scope: Scope, entity: Value) -> tuple[str, Array]:
        """Body of a mated entity, and its coordinate system on that body."""
        path = scope.path + entity.names("matedOccurrence")
        body = self._leaf(path, entity)
        rigid = any(path[: len(p)] == p for p in self.rigid)
        if path and path not in self.body and not rigid:
            self.draft.note_whole("a mate", body.rpartition("/")[0], body, entity.source)
        cs = entity.get("matedCS")
        axes = [cs.numbers(f"{axis}Axis", 3) for axis in "xyz"]
        T = cs.rigid(np.column_stack(axes), cs.numbers("origin", 3))
        if path not in self.placed:
            raise entity.error(f"names the unknown occurrence {'/'.join(path)!r}")
        return body, inverse(self.draft.T_ground_body[body]) @ self.placed[path] @ T

    def _add_feature(self, scope: Scope, feature: Value) -> None:
        kind = feature.text("featureType")
        if feature.flag("suppressed") or kind in ("mateConnector", "mateRelation"):
            return
        data = feature.get("featureData")
        name = scope.title + data.text("name", feature.text("id", kind))
        if kind == "mateGroup":
            members = [scope.path + entry.names("occurrence") for entry in data.each("occurrences")]
            self._fasten(name, [p for p in members if not self._is_suppressed(p)], feature)
            return
        mate = data.text("mateType", "") if kind == "mate" else kind
        entities = [*data.each("matedEntities")] if kind == "mate" else []
        paths = [scope.path + entity.names("matedOccurrence") for entity in entities]
        if any(map(self._is_suppressed, paths)):
            return
        if mate not in PAIRS or len(entities) != 2:
            self.unread.append(feature)
            return
        # Onshape names the part that is placed first, and the one that it is placed on second.
        (body_j, T_j), (body_i, T_i) = (self._end(scope, entity) for entity in entities)
        if mate == "PIN_SLOT":
            T = inverse(self.draft.T_ground_body[body_i] @ T_i)
            T = T @ self.draft.T_ground_body[body_j] @ T_j
            if abs(T[1, 3]) > abs(inverse(T)[1, 3]):  # the slot is where the saved pose fits it
                body_i, T_i, body_j, T_j = body_j, T_j, body_i, T_i
        added = self.draft.add_joint(
            name, PAIRS[mate], body_i, T_i, body_j, T_j, source=feature.source
        )
        if added is not None:
            self.joint[scope.path, feature.text("id", name)] = added

    def _fasten(self, name: str, paths: list[Path], at: Value) -> None:
        """Fix parts to the first one at their saved placements."""
        bodies = list(dict.fromkeys(self._leaf(path, at) for path in paths))
        for other in bodies[1:]:
            T = inverse(self.draft.T_ground_body[bodies[0]]) @ self.draft.T_ground_body[other]
            self.draft.add_joint(name, "fixed", bodies[0], T, other, np.eye(4), source=at.source)

    def _add_relation(self, scope: Scope, feature: Value) -> None:
        """Couple the mates of a relation.

        The second mate follows the first one by the ratio, against its direction unless the
        relation is reversed; a length is travel per turn. Directions are the mates' own.
        """
        data = feature.get("featureData")
        kind = data.text("relationType", "")
        names = []
        for mate in data.each("mates"):
            inner = mate.names("occurrence") if mate.get("occurrence").raw else ()
            found = self.joint.get((scope.path + inner, mate.text("featureId")))
            if found is None:
                self.unread.append(feature)
                return
            names.append(found)
        reversed_ = data.flag("reverseDirection")
        places = self._places(kind, names)
        if places is None:
            self.unread.append(feature)
            return
        if kind in ("GEAR", "LINEAR"):
            factor = (1.0 if reversed_ else -1.0) * data.number("relationRatio")
        else:
            travel = data.number("relationLength") / (2.0 * math.pi)
            factor = -travel if reversed_ else travel
        (first, i), (second, j) = places
        terms = ((second, j, 1.0), (first, i, -factor))
        joints = self.draft.joints
        offset = sum(c * float(joints[name].position[k]) for name, k, c in terms)
        written = scope.title + data.text("name", feature.text("id", kind))
        title = unique(written, {coupling.name for coupling in self.draft.couplings})
        kinds = {"GEAR": "gear", "RACK_AND_PINION": "rack", "SCREW": "screw"}
        coupling = Coupling(title, kinds.get(kind, "mimic"), terms, offset, feature.source)
        self.draft.couplings.append(coupling)

    def _places(self, kind: str, names: list[str]) -> list[tuple[str, int]] | None:
        """Leading and following coordinate of a relation; None where the mates do not have them."""
        wanted = {
            "GEAR": (True, True),
            "LINEAR": (False, False),
            "RACK_AND_PINION": (True, False),
            "SCREW": (True, False),
        }.get(kind)
        if kind == "SCREW" and len(names) == 1:
            names = names * 2
        if wanted is None or len(names) != 2:
            return None
        for order in (names, names[::-1]):
            found = [
                (name, _only(self.draft.joints[name], turning))
                for name, turning in zip(order, wanted, strict=True)
            ]
            places = [(name, k) for name, k in found if k is not None]
            if len(places) == 2:
                return places
        return None

    def _report_unread(self) -> None:
        if self.unread:
            shown = listed(
                [v.get("featureData").text("name", v.where) for v in self.unread],
            )
            self.draft.note(
                "REG013",
                "warning",
                f"features not read: {shown}: the mechanism has fewer constraints than the file",
                self.unread[0].source,
            )


def _only(joint: Joint, turning: bool) -> int | None:
    """The freedom of a joint that turns, or slides; None where it has none, or several."""
    turns = np.any(joint.screws[3:] != 0.0, axis=0)
    found = np.flatnonzero(turns if turning else ~turns)
    return int(found[0]) if len(found) == 1 else None


def _key(value: Value) -> tuple[str, ...]:
    """What identifies the assembly that an instance stands for."""
    keys = ("documentId", "elementId", "documentMicroversion", "configuration")
    return tuple(value.text(key, "") for key in keys)
