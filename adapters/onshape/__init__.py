"""Reader of Onshape assembly definitions: the JSON of the endpoint for assemblies, with mates.

Occurrences are placed in the root assembly, in metres; mates join coordinate systems in the
coordinates of their parts. The root assembly is the ground. Fastened mates, mate groups and rigid
sub-assemblies are fixed joints. Masses come from another endpoint and are not in this file, nor
are limits of mates, which the endpoint for features of assemblies has. Mates have no damping,
springs or motors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regularize.adapters.cad.draft import DEEPEST, CadDraft, InstancePath, Occurrences, SubAssembly
from regularize.adapters.common.draft import Side
from regularize.adapters.common.values import Value, read_json
from regularize.lie.screw import inverse, transform
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism

#: Pair (a key of ``pairs.PAIRS``) of each type of mate.
PAIRS = {
    **{"FASTENED": "fixed", "REVOLUTE": "revolute", "SLIDER": "prismatic"},
    **{"CYLINDRICAL": "cylindrical", "PIN_SLOT": "pin_slot", "PLANAR": "planar"},
    **{"BALL": "spherical", "PARALLEL": "parallel"},
}
#: Kind of the coupling of each relation, and whether its two coordinates turn.
RELATIONS = {
    "GEAR": ("gear", (True, True)),
    "LINEAR": ("mimic", (False, False)),
    "RACK_AND_PINION": ("rack", (True, False)),
    "SCREW": ("screw", (True, False)),
}


def read(path: str) -> Mechanism:
    """Read an assembly definition."""
    root = read_json(path)
    assembly = root.data.get("rootAssembly") if isinstance(root.data, dict) else None
    if not isinstance(assembly, dict):
        raise root.error("has no `rootAssembly`; this is no Onshape assembly definition")
    return _Reader(root).read()


class _Reader:
    """Reads one definition; holds its instances, and the joints by feature."""

    def __init__(self, root: Value) -> None:
        self.root, self.assembly = root, root["rootAssembly"]
        self.definitions = {_key(v): v for v in root.each("subAssemblies")}
        name = _name(root) or _name(self.assembly) or "assembly"
        self.draft = CadDraft(root.path, name)
        self.tree = Occurrences(self.draft)
        self.suppressed: set[InstancePath] = set()
        self.joint: dict[tuple[InstancePath, str], str] = {}

    def read(self) -> Mechanism:
        """Return the mechanism of the root assembly."""
        occurrences = self.assembly.each("occurrences")
        for occurrence in occurrences:
            matrix = occurrence["transform"].numbers(16).reshape(4, 4)
            R = occurrence["transform"].rotation(matrix[:3, :3])
            self.tree.placed[_path(occurrence, "path")] = transform(R, matrix[:3, 3])
        scopes = self._walk(SubAssembly((), self.assembly))
        if not self.tree.bodies:
            raise self.assembly.error("has no parts; there is nothing to check")
        for occurrence in occurrences:
            path = _path(occurrence, "path")
            if _flag(occurrence, "fixed") and not self._is_suppressed(path):
                body = self.tree.body(path, occurrence)
                self.draft.fix(f"fixed {body}", self.draft.ground, body, occurrence.source)
        self.tree.fasten_groups(self.assembly)
        features = [
            (scope, feature)
            for scope in scopes
            for feature in scope.definition.each("features")
            if not _flag(feature, "suppressed")
        ]
        for scope, feature in features:
            self._add_feature(scope, feature)
        for scope, feature in features:
            if feature["featureType"].text() == "mateRelation":
                self._add_relation(scope, feature)
        self.tree.report_unread("features")
        return self.draft.finish("onshape")

    def _walk(self, scope: SubAssembly[Value]) -> list[SubAssembly[Value]]:
        """Add the parts of an assembly; return it and its flexible sub-assemblies."""
        if len(scope.path) > DEEPEST:
            raise scope.definition.error(f"is nested deeper than {DEEPEST} levels; is it circular?")
        scopes, rigid = [scope], self.tree.is_rigid(scope.path)
        if scope.definition.each("patterns"):
            self.draft.unread(
                "patterns are not read: parts made by them move freely here",
                scope.definition.source,
            )
        for instance in scope.definition.each("instances"):
            step = instance["id"].text()
            name, path = _name(instance) or step, (*scope.path, step)
            if _flag(instance, "suppressed"):
                self.suppressed.add(path)
            elif instance["type"].text() == "Assembly":
                if _key(instance) not in self.definitions:
                    raise instance.error("its sub-assembly is not among `subAssemblies`")
                if _flag(instance, "isRigid") and not rigid:
                    self.tree.rigid[path] = []
                inner = self._walk(scope.inner(step, name, self.definitions[_key(instance)]))
                scopes += [] if _flag(instance, "isRigid") else inner
            elif path not in self.tree.placed:
                raise instance.error("has no entry among the occurrences; export it again")
            else:
                placed = self.tree.placed[path]
                name = scope.title + name
                self.tree.bodies[path] = self.draft.place(name, placed, source=instance.source)
        return [] if rigid else scopes

    def _is_suppressed(self, path: InstancePath) -> bool:
        """Whether an instance or one that it lies in is suppressed."""
        return any(path[: k + 1] in self.suppressed for k in range(len(path)))

    def _side(self, scope: SubAssembly[Value], entity: Value) -> Side:
        """Return the body of a mated entity, and its coordinate system as a frame on that body."""
        cs = entity["matedCS"]
        R = cs.rotation(np.column_stack([cs[f"{axis}Axis"].numbers(3) for axis in "xyz"]))
        T = transform(R, cs["origin"].numbers(3))
        path = scope.path + _path(entity, "matedOccurrence")
        return self.tree.side(path, T, entity, "a mate")

    def _add_feature(self, scope: SubAssembly[Value], feature: Value) -> None:
        """Add the joint of a mate, or the fixed joints of a group of parts."""
        kind = feature["featureType"].text()
        if kind in ("mateConnector", "mateRelation"):
            return
        data = feature["featureData"]
        identity = feature.maybe("id", Value.text, kind)
        name = scope.title + (_name(data) or identity)
        if kind == "mateGroup":
            members = [scope.path + _path(e, "occurrence") for e in data.each("occurrences")]
            kept = [path for path in members if not self._is_suppressed(path)]
            if kept:
                self.tree.fasten(name, kept, feature)
            return
        mate = data.maybe("mateType", Value.text, "") if kind == "mate" else kind
        entities = data.each("matedEntities") if kind == "mate" else []
        paths = [scope.path + _path(entity, "matedOccurrence") for entity in entities]
        if any(map(self._is_suppressed, paths)):
            return
        if mate not in PAIRS or len(entities) != 2:
            self._leave_out(feature)
            return
        # Onshape names the part that is placed first, and the one that it is placed on second.
        second, first = (self._side(scope, entity) for entity in entities)
        if mate == "PIN_SLOT":
            T = self.draft.between(first, second)
            if abs(T[1, 3]) > abs(inverse(T)[1, 3]):  # the slot is where the saved pose fits it
                first, second = second, first
        added = self.draft.join(name, PAIRS[mate], first, second, source=feature.source)
        if added is not None:
            self.joint[scope.path, identity] = added

    def _leave_out(self, feature: Value) -> None:
        """Note a feature as not read."""
        self.tree.unread.append((_name(feature["featureData"]) or feature.where, feature))

    def _add_relation(self, scope: SubAssembly[Value], feature: Value) -> None:
        """Add the coupling of a relation between two mates."""
        data = feature["featureData"]
        relation = data.maybe("relationType", Value.text, "")
        names = []
        for mate in data.each("mates"):
            inner = () if mate.get("occurrence") is None else _path(mate, "occurrence")
            names.append(self.joint.get((scope.path + inner, mate["featureId"].text())))
        places = self._places(relation, names)
        if places is None:
            self._leave_out(feature)
            return
        reversed_ = _flag(data, "reverseDirection")
        if relation in ("GEAR", "LINEAR"):
            factor = (1.0 if reversed_ else -1.0) * data["relationRatio"].number()
        else:
            travel = data["relationLength"].number() / (2.0 * math.pi)
            factor = -travel if reversed_ else travel
        (first, i), (second, j) = places
        terms = ((second, j, 1.0), (first, i, -factor))
        name = scope.title + (_name(data) or feature.maybe("id", Value.text, relation))
        kind = RELATIONS[relation][0]
        self.draft.couple(name, kind, terms, self.draft.value(terms), feature.source)

    def _places(self, relation: str, mates: Sequence[str | None]) -> list[tuple[str, int]] | None:
        """Return the leading and the following (joint, freedom); None if the mates lack them."""
        names = [name for name in mates if name is not None]
        if len(names) < len(mates) or relation not in RELATIONS:
            return None
        if relation == "SCREW" and len(names) == 1:
            names = names * 2
        for order in (names, names[::-1]) if len(names) == 2 else ():
            freedoms = [
                (name, _only(self.draft.joints[name], turning))
                for name, turning in zip(order, RELATIONS[relation][1], strict=True)
            ]
            places = [(name, k) for name, k in freedoms if k is not None]
            if len(places) == 2:
                return places
        return None


def _only(joint: Joint, turning: bool) -> int | None:
    """Return the only freedom of a joint that turns (or slides); None where not exactly one."""
    turns = np.any(joint.screws[3:] != 0.0, axis=0)
    freedoms = np.flatnonzero(turns if turning else ~turns)
    return int(freedoms[0]) if len(freedoms) == 1 else None


def _key(value: Value) -> tuple[str, ...]:
    """Return the identifiers of the assembly definition of an instance."""
    keys = ("documentId", "elementId", "documentMicroversion", "configuration")
    return tuple(value.maybe(key, Value.text, "") for key in keys)


def _path(value: Value, key: str) -> InstancePath:
    """Return the path of instances under a key."""
    return tuple(value[key].texts())


def _name(value: Value) -> str:
    """Return the name of an entry; empty without one."""
    return value.maybe("name", Value.text, "")


def _flag(value: Value, key: str) -> bool:
    """Return the flag under a key; False without one."""
    return value.maybe(key, Value.flag, False)
