"""Reader, writer and patcher of the project's own JSON, which keeps every number bit for bit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar, cast

import numpy as np

from regularize.adapters.common.edits import (
    Edit,
    EditedText,
    MovedJoint,
    Patch,
    WantedKind,
    WantedSlack,
    tidy,
)
from regularize.adapters.common.patching import FileReference, Patcher
from regularize.adapters.common.values import Value, read_json, read_tolerance
from regularize.errors import ModelError, UnsupportedExport
from regularize.escape import json_text
from regularize.lie.arrays import Array, Space, Transform
from regularize.lie.screw import IDENTITY, transform
from regularize.mechanism.body import Beam, Body, Geometry, Inertia, Modes
from regularize.mechanism.diagnostic import SEVERITIES, Diagnostic, Source
from regularize.mechanism.joint import Joint, JointDynamics, JointLimits
from regularize.mechanism.joint_kinds import HIGHER_PAIRS, KINDS
from regularize.mechanism.mechanism import (
    Actuator,
    ActuatorGains,
    Coupling,
    Mechanism,
    PrescribedMotion,
)
from regularize.mechanism.quantity import COLUMNS
from regularize.output_files import write_file
from regularize.tolerances import NEGLIGIBLE
from regularize.version import SCHEMAS

MARK = "regularize-mechanism"
VERSION = SCHEMAS["mechanism"]
Record = TypeVar("Record")
#: Attributes that are left out where they are empty.
SILENT: Mapping[type, tuple[str, ...]] = {
    Joint: ("dynamics", "tolerance", "repeated"),
    Body: ("elastic",),
    Geometry: ("friction",),
    Actuator: ("motor",),
    Coupling: ("coefficients", "table"),
    Diagnostic: ("unread",),
}
#: Names of the entries of a coupling's term.
TERM = ("joint", "freedom", "coefficient")
#: Entries of a joint that change with its kind.
ENTRIES = ("kind", "screws", "T_parent_joint", "T_child_joint", "position", "limits", "dynamics")


def write(mechanism: Mechanism, path: str) -> tuple[Diagnostic, ...]:
    """Write a mechanism; nothing is lost."""
    write_file(path, json_text(as_dict(mechanism), indent=1) + "\n")
    return ()


def as_dict(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as dictionaries, lists, numbers and strings."""
    parts = ["gravity", "bodies", "joints", "couplings", "actuators", "findings"]
    if mechanism.motions:
        parts.insert(4, "motions")
    return {
        "format": MARK,
        "version": VERSION,
        "name": mechanism.name,
        "ground": mechanism.ground,
        **{part: plain(getattr(mechanism, part)) for part in parts},
        "origin": {"path": mechanism.path, "format": mechanism.format, "files": [*mechanism.files]},
    }


def plain(value: Any) -> Any:
    """Return a value as JSON types: dataclasses as dictionaries, arrays and tuples as lists."""
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None  # an infinite bound
    if not is_dataclass(value):
        return value
    members = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Joint):
        members["screws"] = value.screws.T.tolist()  # one row each
        if value.limits is not None:
            members["limits"] = _limits(value.limits)
        stated = value.dynamics.stated()
        members["dynamics"] = {key: numbers.tolist() for key, numbers in stated.items()}
        if value.tolerance is not None:
            members["tolerance"] = dict(zip(COLUMNS, value.tolerance, strict=True))
    if isinstance(value, Coupling):
        members["terms"] = [dict(zip(TERM, term, strict=True)) for term in value.terms]
    silent = SILENT.get(type(value), ())
    return {
        key: member
        for key, member in members.items()
        if key not in silent or member not in (None, 0, False, [], {})
    }


def _limits(limits: JointLimits) -> Any:
    """Return rows of bounds, with rates and efforts if stated; without bounds those by name."""
    rated = {"velocity": limits.velocity, "effort": limits.effort}
    if limits.lower is None:
        return {key: v.tolist() for key, v in rated.items() if v is not None}
    columns = [*np.asarray(limits).T]
    if limits.velocity is not None or limits.effort is not None:
        unlimited = np.full(limits.shape[0], np.inf)
        columns += [unlimited if v is None else v for v in rated.values()]
    return [[v if math.isfinite(v) else None for v in row] for row in np.array(columns).T.tolist()]


def read(path: str) -> Mechanism:
    """Read the project's own JSON; files that the model came from are listed and not read."""
    root = read_json(path)
    mark = root["format"]
    if mark.text() != MARK:
        raise mark.error(f"expected {MARK!r}; this is another kind of JSON file")
    version = root["version"]
    if version.integer() != VERSION:
        raise version.error(f"version {version.data} is unknown; version {VERSION} is read")
    origin = root.get("origin")
    return Mechanism(
        name=root["name"].text(),
        bodies=tuple(_record(Body, body) for body in root["bodies"].items()),
        joints=tuple(_joint(joint) for joint in root["joints"].items()),
        couplings=tuple(_record(Coupling, c) for c in root.each("couplings")),
        ground=root["ground"].text(),
        gravity=root["gravity"].numbers(3),
        findings=tuple(_record(Diagnostic, f) for f in root.each("findings")),
        path=root.path,
        format="json",
        files=() if origin is None else tuple(f.text() for f in origin.each("files")),
        motions=tuple(_record(PrescribedMotion, motion) for motion in root.each("motions")),
        actuators=tuple(_record(Actuator, actuator) for actuator in root.each("actuators")),
    )


def _record(kind: type[Record], value: Value, **readers: Callable[[Value], Any]) -> Record:
    """Read a dataclass; members are read by ``readers`` of their names, or else by ``MEMBERS``."""
    attributes = {}
    for each in fields(cast(Any, kind)):
        read_member = readers.get(each.name) or MEMBERS[each.name]
        optional = each.default is not MISSING or each.default_factory is not MISSING
        member = value.get(each.name) if optional and each.name not in NEEDED else value[each.name]
        if member is not None:
            attributes[each.name] = read_member(member)
    return kind(**attributes)


def _read_limits(value: Value) -> JointLimits:
    """Read rows of (lower, upper) or (lower, upper, rate, effort), or rate and effort by name."""
    if isinstance(value.data, dict):
        return JointLimits(None, None, value.maybe("velocity", _row), value.maybe("effort", _row))
    rows = []
    for row in value.items():
        bounds = row.items()
        if len(bounds) not in (2, 4):
            raise row.error(
                f"expected a lower and an upper bound, or these, a rate and an effort; found "
                f"{len(bounds)} entries"
            )
        unbounded = (-math.inf, math.inf, math.inf, math.inf)
        rows.append([_bound(bound, none) for bound, none in zip(bounds, unbounded, strict=False)])
        rows[-1] += [math.inf] * (4 - len(bounds))
    lower, upper, velocity, effort = np.array(rows).reshape(-1, 4).T
    rated = {"velocity": velocity, "effort": effort}
    return JointLimits(lower, upper, **{k: v for k, v in rated.items() if np.isfinite(v).any()})


def _bound(value: Value, unbounded: float) -> float:
    """Read a bound; null is the given infinity."""
    return unbounded if value.data is None else value.number()


def _range(value: Value) -> tuple[float, float]:
    """Read a lower and an upper end, of which null is infinite."""
    low, high = value.items()
    return _bound(low, -math.inf), _bound(high, math.inf)


def _row(value: Value) -> Array:
    """Read a row of any number of numbers."""
    return value.numbers(-1)


def _frame(value: Value) -> Transform:
    """Read a frame (4, 4) to the last digit; a rotation of rounded numbers is made orthogonal."""
    T = value.numbers(4, 4)
    R = value.rotation(T[:3, :3])
    if np.abs(T[3] - IDENTITY[3]).max() > NEGLIGIBLE:
        raise value.error("is no frame: its last row has to be 0, 0, 0, 1")
    T[3] = IDENTITY[3]
    return transform(R, T[:3, 3]) if np.abs(R - T[:3, :3]).max() > NEGLIGIBLE else T


def _screws(value: Value) -> Space:
    """Read screws, one a row, as columns of shape (6, n)."""
    screws = value.numbers(-1, 6).reshape(-1, 6).T
    if not screws.any(axis=0).all():
        raise value.error("a screw of zeros is no motion")
    return screws


def _joint(value: Value) -> Joint:
    """Read a joint, whose position has as many numbers as it has screws."""
    freedoms = len(value["screws"].items())
    return _record(Joint, value, position=lambda position: position.numbers(freedoms))


def _elastic(value: Value) -> Beam | Modes:
    """Read the elasticity of a body: a beam, or modes if it has shapes."""
    if value.get("shapes") is None:
        return _record(Beam, value)
    n = len(value["mass"].items())
    mass, stiffness = (value[name].numbers(n, n) for name in ("mass", "stiffness"))
    return Modes(mass, stiffness, value["shapes"].numbers(2, 6, n))


#: Reader of each member by its name.
MEMBERS: Mapping[str, Callable[[Value], Any]] = {
    **dict.fromkeys(("name", "kind", "parent", "child", "joint", "uri", "expression"), Value.text),
    **dict.fromkeys(("motor", "path", "element", "code", "message", "loop"), Value.text),
    **dict.fromkeys(("mass", "density", "offset", "gear"), Value.number),
    "moments": lambda value: tuple(value.numbers(2).tolist()),
    "elastic": _elastic,
    **dict.fromkeys(("length", "area", "E", "G", "control", "position", "velocity"), Value.number),
    **dict.fromkeys(("line", "freedom", "repeated"), Value.integer),
    **dict.fromkeys(("collision", "closure", "actuated", "unread"), Value.flag),
    **dict.fromkeys(("T_body_geometry",), lambda value: value.numbers(4, 4)),
    **dict.fromkeys(("T_parent_joint", "T_child_joint"), _frame),
    **dict.fromkeys(("damping", "friction", "stiffness", "rest_position", "armature"), _row),
    **dict.fromkeys(("coefficients",), lambda value: tuple(value.numbers(-1).tolist())),
    "table": lambda value: tuple(map(tuple, value.numbers(-1, 2).tolist())),
    **dict.fromkeys(("control_range", "force_range"), _range),
    **dict.fromkeys(("joints", "help"), lambda value: tuple(value.texts())),
    "size": _row,
    "screws": _screws,
    "center": lambda value: value.numbers(3),
    "matrix": lambda value: value.numbers(3, 3),
    "color": lambda value: tuple(value.numbers(4).tolist()),
    "geometry": lambda value: tuple(
        _record(Geometry, each, friction=Value.number) for each in value.items()
    ),
    "source": partial(_record, Source),
    "inertia": partial(_record, Inertia),
    "limits": _read_limits,
    "dynamics": partial(_record, JointDynamics),
    "tolerance": read_tolerance,
    "gains": partial(_record, ActuatorGains),
    "severity": lambda value: value.one_of(value.text(), SEVERITIES, "severity"),
    "terms": lambda value: tuple(
        (term["joint"].text(), term["freedom"].integer(), term["coefficient"].number())
        for term in value.items()
    ),
}
#: Members that a file has to state, although the classes have a default for them.
NEEDED = ("T_body_geometry", "T_parent_joint", "T_child_joint")


_MESH = re.compile(r'"uri"\s*:\s*"([^"\\]+)"')


class NativePatcher(Patcher):
    """Edits a file of the project's own format, in which a joint can become any kind."""

    def kinds(self, joint: Joint) -> Collection[str]:
        """Return all kinds."""
        return (*KINDS, *HIGHER_PAIRS, "slotted")

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Return the edits of the entries of each joint that change with its kind."""
        text, named, patch = self.text(self.path), self._entries, Patch()
        for change in wanted:
            if change.joint.name not in named:
                raise ModelError(f"{self.path}: joint {change.joint.name!r} is not found again")
            patch.edits += _edits(text, named[change.joint.name], change)
        return patch

    def slack(self, wanted: WantedSlack) -> Patch:
        """Return the edits that delete joints; links are not put in."""
        if wanted.links:
            return super().slack(wanted)
        entries = [*self._entries.items()]
        names = {joint.name for joint in wanted.removed}
        patch, is_first = Patch(), True
        for i, (name, node) in enumerate(entries):
            if name not in names:
                is_first = False
                continue
            if is_first and i + 1 == len(entries):
                raise UnsupportedExport(f"{self.path}: no joint would be left")
            # One comma goes with each: that behind it as long as none stays before it.
            start = node.start_mark if is_first else entries[i - 1][1].end_mark
            end = entries[i + 1][1].start_mark if is_first else node.end_mark
            patch.edits.append(Edit(self.path, start.index, end.index, ""))
        return patch

    @cached_property
    def _entries(self) -> dict[str, Any]:
        """Return the entries of all joints in the syntax tree, by name."""
        # JSON is YAML, and PyYAML knows where every value stands.
        import yaml  # where a file is edited, not where one is written

        # Of characters that YAML does not take the places count; names are those that were read.
        text = "".join(
            c if c.isprintable() or c in "\r\n\t" else "?" for c in self.text(self.path).text
        )
        root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
        pairs = zip(self.mechanism.joints, _members(root)["joints"].value, strict=True)
        return {joint.name: node for joint, node in pairs}

    def movable(self, joint: Joint) -> tuple[bool, bool]:
        """Return that both frames of a joint can be moved."""
        return True, True

    def references(self, text: EditedText) -> Iterator[FileReference]:
        """Yield references to files of meshes, parts of other files among them."""
        for match in _MESH.finditer(text.text):
            if match[1][0] not in "#/" and "://" not in match[1]:
                yield FileReference(*match.span(1), match[1])

    def frame_edits(self, wanted: MovedJoint) -> list[Edit]:
        """Return the edits of the frames of a moved joint."""
        frames = [tidy(T) for T in (wanted.after.T_parent_joint, wanted.after.T_child_joint)]
        after = replace(wanted.before, T_parent_joint=frames[0], T_child_joint=frames[1])
        return self.patch([WantedKind(wanted.before, after.kind, after)]).edits


def _members(node: Any) -> dict[str, Any]:
    """Return the members of a mapping in a syntax tree of YAML."""
    return {key.value: value for key, value in node.value}


def _edits(text: EditedText, node: Any, wanted: WantedKind) -> Iterator[Edit]:
    """Yield an edit for each entry of a joint that differs in the wanted joint."""
    new, old = plain(wanted.replacement), plain(wanted.joint)
    for key, value in _members(node).items():
        if key in ENTRIES and new.get(key, {}) != old[key]:
            start, end = value.start_mark.index, value.end_mark.index
            line = text.text[:start].rsplit("\n", 1)[-1]
            margin = text.newline + line[: len(line) - len(line.lstrip())]
            written = json.dumps(new.get(key, {}), indent=1, ensure_ascii=False, allow_nan=False)
            yield Edit(text.path, start, end, written.replace("\n", margin))
