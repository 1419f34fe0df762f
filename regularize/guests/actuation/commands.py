"""Verbs of the command line: the map from motors to joints, serial twins, and closed states."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regularize.commands.files import (
    OutputAction,
    add_engine,
    add_fail_on,
    add_model,
    load_model,
    report_findings,
)
from regularize.commands.options import count, fitted, names, option, some
from regularize.errors import RegularizeError
from regularize.escape import displayed
from regularize.mechanism.diagnostic import Diagnostic
from regularize.output_files import write_file, write_made

if TYPE_CHECKING:
    from regularize.guests.actuation.map import ActuationMap

#: What is written, by the ending of the file.
ENDINGS = (".c", ".py", ".npz", ".json")
#: By which part the inertia of a twin may be off unsaid.
FAR_OFF = 0.1
#: States of a table.
STATES, SHOWN = 10_000, 200


def add_joints(parser: argparse.ArgumentParser) -> None:
    """Add the options that name motors and joints."""
    words = "actuated joints, such as A,B (default: the model's, within loops)"
    option(parser, "--motors NAMES", words, type=names)
    words = "joints that they drive (default: a chain to the body that is moved)"
    option(parser, "--joints NAMES", words, type=names)


def add_actuate(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``regularize actuate``."""
    add_model(parser)
    add_joints(parser)
    words = "ros2: a package with a ros2_control transmission and a node for passive joints"
    option(parser, "--to FORMAT", words, choices=("ros2",))
    words = "C99, Python, a table of states, or domain and some states: .c .py .npz .json; a folder"
    option(parser, "-o FILE", words, action=OutputAction)


def run_actuate(arguments: argparse.Namespace) -> int:
    """Make the map, write it, and print where it holds."""
    from regularize.guests.actuation.map import actuation_map

    out = arguments.out
    if arguments.to is not None and out is None:
        raise RegularizeError("--to ros2 writes a package: name its folder with -o PACKAGE")
    if arguments.to is None and out is not None and out.suffix.lower() not in ENDINGS:
        known = ", ".join(ENDINGS)
        raise RegularizeError(f"-o {out}: unknown kind of file {out.suffix!r} (known: {known})")
    mechanism = load_model(arguments.file, arguments)
    m = actuation_map(mechanism, arguments.motors, arguments.joints)
    if arguments.to is not None:
        from regularize.guests.actuation.source import write_package

        write_package(m, out)
    elif out is not None:
        written(m, arguments)
    lines = [
        *_ways(m),
        f"domain: {100 * m.domain.share:.4g} % of the motors' range, {len(m.domain.lower)} boxes, "
        + ("proved by intervals" if m.domain.proved else "followed numerically, not proved"),
    ]
    lines += [f"wrote {displayed(str(arguments.out))}"] if arguments.out is not None else []
    sys.stdout.write(fitted(lines))
    return 0


def _ways(m: ActuationMap) -> list[str]:
    """Return the lines that name motors and joints."""
    return [f"motors: {', '.join(m.motor_names)}", f"joints: {', '.join(m.joint_names)}"]


def written(m: ActuationMap, arguments: argparse.Namespace) -> None:
    """Write the map in the format of the file's ending."""
    ending = arguments.out.suffix
    if ending == ".c":
        m.to_c(arguments.out)
    elif ending == ".py":
        m.to_python(arguments.out)
    elif ending == ".json":
        told = {
            "motors": [*m.motor_names],
            "joints": [*m.joint_names],
            "proved": m.domain.proved,
            "share": m.domain.share,
            "lower": m.domain.lower.tolist(),
            "upper": m.domain.upper.tolist(),
            "theta": (theta := m.samples(SHOWN)).tolist(),
            "q": m.joints(theta).tolist(),
        }
        write_file(arguments.out, json.dumps(told, indent=1) + "\n")
    else:
        theta = m.samples(STATES)
        values = {"theta": theta, "q": m.joints(theta), "jacobian": m.jacobian(theta)}
        boxes = {"lower": m.domain.lower, "upper": m.domain.upper}
        write_table(arguments.out, **values, **boxes, motors=m.motor_names, joints=m.joint_names)


def write_table(path: Path, **arrays: Any) -> None:
    """Write arrays by their names as one file of NumPy."""
    import numpy as np  # not loaded for the other verbs

    write_made(path, lambda stream: np.savez_compressed(stream, **arrays))


def add_twin(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``regularize twin``."""
    add_model(parser)
    add_joints(parser)
    add_fail_on(parser)
    add_engine(parser, "where the twin is moved before it counts")
    words = "the file to write, in the format of its ending: .xml .urdf .sdf .usda"
    option(parser, "-o FILE", words, required=True, action=OutputAction, model=True)


def run_twin(arguments: argparse.Namespace) -> int:
    """Write the twin; return 1 if the format could not hold all of it or its inertia is far off."""
    from regularize.files import save
    from regularize.guests.actuation.twin import serial_twin

    mechanism = load_model(arguments.file, arguments)
    twin = serial_twin(mechanism, arguments.motors, arguments.joints)
    findings = [
        *save(twin.mechanism, arguments.out, engine=arguments.engine or "first"),
        *inertia_finding(twin.error),
    ]
    status = report_findings(findings, arguments.fail_on)
    lines = [
        *_ways(twin.map),
        f"inertia off by at most {100 * twin.error:.3g} % (sampled over the domain)",
        f"wrote {displayed(str(arguments.out))}",
    ]
    sys.stdout.write(fitted(lines))
    return status


def inertia_finding(error: float) -> Iterator[Diagnostic]:
    """Warn where the inertia of a twin in its joints is off by more than a tenth."""
    if error > FAR_OFF:
        message = f"the twin's inertia is off by up to {100 * error:.3g} % in its joints, so that "
        message += "it answers torques otherwise than the robot; joints that are driven at a "
        yield Diagnostic("REG342", "warning", message + "constant ratio are met exactly")


def add_gains(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``regularize gains``."""
    add_model(parser)
    add_joints(parser)
    words = "of each joint, N m/rad or N/m (default: what the motors' servos come to)"
    option(parser, "--stiffness VALUES", words, type=values)
    option(parser, "--damping VALUES", "of each joint, N m s/rad or N s/m", type=values)
    file = {"action": OutputAction, "endings": (".npz",)}
    option(parser, "-o FILE.npz", "all figures and whole matrices", **file)


def values(text: str) -> list[float]:
    """Read numbers that commas separate."""
    return [float(part) for part in text.split(",")]


def run_gains(arguments: argparse.Namespace) -> int:
    """Print which torques and speeds joints can have, and gains of motors and joints."""
    import numpy as np  # not loaded for the other verbs

    from regularize.guests.actuation.map import SAMPLES, actuation_map
    from regularize.guests.actuation.subsystems import gains_of_servos

    mechanism = load_model(arguments.file, arguments)
    m = actuation_map(mechanism, arguments.motors, arguments.joints)
    k = len(m.joint_names)
    K, D = map(np.diag, gains_of_servos(mechanism, m.motor_names))
    asked = arguments.stiffness, arguments.damping
    if asked != (None, None):
        full = [np.ravel(0.0 if given is None else given) for given in asked]
        if wrong := [len(given) for given in full if len(given) not in (1, k)]:
            raise RegularizeError(f"{wrong[0]} gains for {k} joints: give one, or one for each")
        K, D = m.motor_gains(m.stored, *(np.broadcast_to(given, k) for given in full))
    ends = [np.array([x.min(axis=0), x.max(axis=0)]) for x in m.peaks(m.samples(SAMPLES))]
    keys = ("torque", "speed", "joint_stiffness", "joint_damping")
    figures = dict(zip(keys, (*ends, *m.gain_bounds(K, D)), strict=True))
    box, lines = m.torque_box(), _ways(m)
    lines += ["joints over the domain: torque alone, with all others; speed; stiffness; damping"]
    for name, x, *rest in zip(m.joint_names, box, *(x.T for x in figures.values()), strict=True):
        torque, *more = (_between(ends) for ends in rest)
        lines += [f"  {name}: {torque}, {x:.4g}; {'; '.join(more)}"]
    where = "" if asked == (None, None) else " at the stored pose"
    lines += [f"motors: stiffness; damping{where}, by all motors of the drive in order"]
    for i, name in enumerate(m.motor_names):
        rows = (" ".join(f"{x:.4g}" for x in X[i][X[i] != 0.0]) or "0" for X in (K, D))
        lines += [f"  {name}: {'; '.join(rows)}"]
    if arguments.out is not None:
        figures |= {"torque_box": box, "theta": m.stored, "stiffness": K, "damping": D}
        write_table(arguments.out, motors=m.motor_names, joints=m.joint_names, **figures)
        lines += [f"wrote {displayed(str(arguments.out))}"]
    sys.stdout.write(fitted(lines))
    return 0


def _between(ends: Sequence[float]) -> str:
    """Return the least and the most of something in words."""
    low, high = (f"{x:.4g}" for x in ends)
    return "no bound" if low == "inf" else low if low == high else f"{low} to {high}"


def add_states(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``regularize states``."""
    add_model(parser)
    option(parser, "-n COUNT", "how many (1000)", type=some, default=1000)
    option(parser, "--seed SEED", "seed of the random steps (0)", type=count, default=0)
    option(parser, "--no-limits", "also beyond the limits of joints")
    words = (
        "q: Pinocchio's order, quaternions x y z w; qpos (of MJCF): MuJoCo's order, quaternions "
        "w x y z; joint_positions with joint_names: the file's order (URDF, USD stage), and "
        "coordinates with joints: closing ones too; balls there as rotation vectors, rad and m"
    )
    file = {"action": OutputAction, "endings": (".npz",), "required": True}
    option(parser, "-o FILE.npz", words, **file)


def run_states(arguments: argparse.Namespace) -> int:
    """Write the states."""
    from regularize.guests.actuation.states import closed_states

    mechanism = load_model(arguments.file, arguments)
    limits = not arguments.no_limits
    found = closed_states(mechanism, arguments.n, seed=arguments.seed, limits=limits)
    arrays = {"q": found.q, "coordinates": found.coordinates, "joints": found.names}
    arrays |= {"joint_names": found.joint_names, "joint_positions": found.joint_positions}
    arrays |= {} if found.qpos is None else {"qpos": found.qpos}
    write_table(arguments.out, **arrays)
    sys.stdout.write(f"wrote {len(found.q)} states to {displayed(str(arguments.out))}\n")
    return 0
