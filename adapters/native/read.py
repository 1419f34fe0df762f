"""Reading the project's own JSON, with the place of every fault."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np

from regularize.adapters.common.tolerances import read_tolerance
from regularize.adapters.common.values import Value, read_json
from regularize.lie.screw import Array
from regularize.model.diagnostic import SEVERITIES, Diagnostic, Source
from regularize.model.mechanism import (
    Actuator,
    ActuatorGains,
    Body,
    Coupling,
    Geometry,
    Inertia,
    Joint,
    JointDynamics,
    JointLimits,
    Mechanism,
    PrescribedMotion,
)
from regularize.version import SCHEMAS

MARK = "regularize-mechanism"
VERSION = SCHEMAS["mechanism"]


def read(path: str) -> Mechanism:
    """Read the project's own JSON.

    The origin that the file names (path and format before it was written) is listed in the
    mechanism's ``files``.

    Raises:
        ReadError: The file is not what its schema says.
    """
    return _decode(read_json(path))


def _decode(root: Value) -> Mechanism:
    """The mechanism that a file describes."""
    mark = root["format"]
    if mark.text() != MARK:
        raise mark.error(f"expected {MARK!r}; this is another kind of JSON file")
    version = root["version"]
    if version.integer() != VERSION:
        raise version.error(f"version {version.data} is unknown; version {VERSION} is read")
    origin = root.get("origin")
    return Mechanism(
        name=root["name"].text(),
        bodies=tuple(_read_body(body) for body in root["bodies"].items()),
        joints=tuple(_read_joint(joint) for joint in root["joints"].items()),
        couplings=tuple(_read_coupling(c) for c in root.each("couplings")),
        ground=root["ground"].text(),
        gravity=root["gravity"].numbers(3),
        findings=tuple(_read_finding(f) for f in root.each("findings")),
        path=root.path,
        format="json",
        files=() if origin is None else tuple(f.text() for f in origin.each("files")),
        motions=tuple(_read_motion(motion) for motion in root.each("motions")),
        actuators=tuple(_read_actuator(actuator) for actuator in root.each("actuators")),
        digits=None if origin is None else origin.maybe("digits", Value.integer),
    )


def _read_source(value: Value) -> Source:
    return Source(
        value["path"].text(),
        value.maybe("line", Value.integer),
        value.maybe("element", Value.text),
    )


def _read_inertia(value: Value) -> Inertia:
    return Inertia(
        value["mass"].number(), value["center"].numbers(3), value["matrix"].numbers(3, 3)
    )


def _read_geometry(value: Value) -> Geometry:
    color = value.get("color")
    red, green, blue, opacity = (1.0,) * 4 if color is None else color.numbers(4).tolist()
    return Geometry(
        value["kind"].text(),
        value["size"].numbers(-1),
        value["T_body_geometry"].numbers(4, 4),
        value.maybe("uri", Value.text),
        None if color is None else (red, green, blue, opacity),
        value.maybe("collision", Value.flag, False),
        value.maybe("density", Value.number),
    )


def _read_body(value: Value) -> Body:
    return Body(
        value["name"].text(),
        value.maybe("inertia", _read_inertia),
        tuple(_read_geometry(g) for g in value.each("geometry")),
        value.maybe("source", _read_source),
    )


def _read_limits(value: Value) -> JointLimits:
    """Rows of a lower and an upper bound, and perhaps of a rate and an effort; or these by name."""
    if isinstance(value.data, dict):
        return JointLimits(
            None, None, value.maybe("velocity", _read_values), value.maybe("effort", _read_values)
        )
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
    return unbounded if value.data is None else value.number()


def _read_dynamics(value: Value) -> JointDynamics:
    return JointDynamics(
        **{each.name: value.maybe(each.name, _read_values) for each in fields(JointDynamics)}
    )


def _read_values(value: Value) -> Array:
    return value.numbers(-1)


def _read_frame(value: Value) -> Array:
    """The frame as written, to the last digit."""
    T = value.numbers(4, 4)
    value.rotation(T[:3, :3])
    if not np.array_equal(T[3], (0.0, 0.0, 0.0, 1.0)):
        raise value.error("is no frame: its last row has to be 0, 0, 0, 1")
    return T


def _read_joint(value: Value) -> Joint:
    screws = value["screws"].numbers(-1, 6).reshape(-1, 6).T
    if not screws.any(axis=0).all():
        raise value["screws"].error("a screw of zeros is no motion")
    position = value.get("position")
    return Joint(
        value["name"].text(),
        value["parent"].text(),
        value["child"].text(),
        value["kind"].text(),
        screws,
        _read_frame(value["T_parent_joint"]),
        _read_frame(value["T_child_joint"]),
        np.zeros(screws.shape[1]) if position is None else position.numbers(screws.shape[1]),
        value.maybe("actuated", Value.flag),
        value.maybe("closure", Value.flag, False),
        value.maybe("limits", _read_limits),
        value.maybe("source", _read_source),
        value.maybe("dynamics", _read_dynamics, JointDynamics()),
        value.maybe("tolerance", read_tolerance),
    )


def _read_coupling(value: Value) -> Coupling:
    return Coupling(
        value["name"].text(),
        value["kind"].text(),
        tuple(
            (term["joint"].text(), term["freedom"].integer(), term["coefficient"].number())
            for term in value["terms"].items()
        ),
        value.maybe("offset", Value.number, 0.0),
        value.maybe("source", _read_source),
    )


def _read_motion(value: Value) -> PrescribedMotion:
    return PrescribedMotion(
        value["name"].text(),
        value["joint"].text(),
        value["expression"].text(),
        value.maybe("source", _read_source),
    )


def _read_actuator(value: Value) -> Actuator:
    return Actuator(
        value["name"].text(),
        value["joint"].text(),
        value.maybe("freedom", Value.integer, 0),
        value.maybe("kind", Value.text, "motor"),
        value.maybe("gear", Value.number, 1.0),
        value.maybe("control_range", _read_range),
        value.maybe("force_range", _read_range),
        value.maybe("gains", _read_gains),
        value.maybe("source", _read_source),
    )


def _read_range(value: Value) -> tuple[float, float]:
    low, high = value.items()
    return _bound(low, -math.inf), _bound(high, math.inf)


def _read_gains(value: Value) -> ActuatorGains:
    return ActuatorGains(
        **{each.name: value.maybe(each.name, Value.number) for each in fields(ActuatorGains)}
    )


def _read_finding(value: Value) -> Diagnostic:
    severity = value["severity"].text()
    for known in SEVERITIES:
        if severity == known:
            return Diagnostic(
                value["code"].text(),
                known,
                value["message"].text(),
                value.maybe("loop", Value.text),
                tuple(joint.text() for joint in value.each("joints")),
                value.maybe("source", _read_source),
                tuple(line.text() for line in value.each("help")),
            )
    raise value["severity"].error(f"expected one of {', '.join(SEVERITIES)}, found {severity!r}")
