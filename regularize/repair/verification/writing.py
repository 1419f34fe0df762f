"""Writing a model so that it is there whole, read back and compared, or not at all.

A format allows some names and closed loops alone, and a model is changed for that. The program
that it belongs to reads the file as well, where it is installed. What stands in the file that a
model was read from and is no part of the machine (sensors, contact exclusions, controllers, solver
options) no writer knows of: who gets a new file is told what is not in it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from regularize.adapters import adapter_named, adapters, read
from regularize.adapters.common.validation import renamed
from regularize.adapters.registry import Adapter
from regularize.adapters.shapes.density import with_usual_density
from regularize.adapters.urdf.loop_files import find as loop_files
from regularize.adapters.urdf.loops import CLOSING
from regularize.errors import ReadError, RegularizeError, UnsupportedExport, install_words
from regularize.escape import as_utf8, unique
from regularize.loops.assembly import assemble, with_coordinates
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.elastic import segments
from regularize.mechanism.mechanism import Mechanism, refuse_elastic
from regularize.mechanism.motors import with_efforts
from regularize.output_files import temporary, write_all, write_aside
from regularize.reduction.reduce import Reduction
from regularize.repair.verification.cad_meshes import shapes_as_meshes
from regularize.repair.verification.comparison import INSIDE, SAME
from regularize.repair.verification.differences import differences
from regularize.repair.verification.left_behind import left_behind
from regularize.tolerances import EXACT, UNNOTICED

#: Findings that an edited file may not have: other bodies, joints, masses, places or couplings.
PLACES = ("REG320", "REG321", "REG322", "REG323", "REG327")
PLACED = ("T_parent_joint", "T_child_joint", "screws", "position")
#: Formats of engines that move no bodies without mass.
MOVED = ("mjcf", "drake")


def write_verified(
    mechanism: Mechanism,
    path: str | os.PathLike[str],
    format: str,
    *,
    reduction: Reduction | None = None,
    moved: Callable[[Mechanism, Path], Diagnostic] | None = None,
    beside: Mapping[Path, str] | None = None,
) -> tuple[Diagnostic, ...]:
    """Write a model aside, read it back, compare, move; put it in place or raise; return losses."""
    if format == "json":  # which alone can hold how beams bend
        segments(mechanism)
    else:
        refuse_elastic(mechanism)
    adapter, target = adapter_named(format) or adapters()[format], replaceable(path)
    if not target.parent.is_dir():
        raise RegularizeError(f"{path}: cannot be written: there is no such folder; make it first")
    assumed: tuple[Diagnostic, ...] = ()
    if format in MOVED:
        mechanism, assumed = with_usual_density(mechanism)
    with shapes_as_meshes(mechanism, adapter, target) as model:
        place = temporary(target, target.suffix)
        try:
            known = {target: target.read_bytes()} if target.exists() else {}
            findings, why = _rewritten(model, adapter, place, reduction)
            if why is not None:
                findings = _written_anew(model, adapter, place, target.parent, reduction)
                if why:
                    message = f"{adapter.label}: written anew, for the file cannot be edited: {why}"
                    findings.insert(0, Diagnostic("REG302", "warning", message))
            if moved is not None:
                findings.append(moved(model, place))
            written = [*_written(place, target)]
            _refuse_others(target, adapter, [new for _, new in written])
            write_all({new: old.read_bytes() for old, new in written} | dict(beside or {}), known)
        except OSError as error:
            raise RegularizeError(
                f"{target}: cannot be written: {error.strerror}; check the folder"
            ) from error
        except (ReadError, UnsupportedExport) as error:
            reason = str(error)
            for name in (str(place), place.name):
                reason = reason.replace(name, target.name)
            raise UnsupportedExport(f"{target}: not written: {reason}") from error
        finally:
            for file, _ in _written(place, target):
                file.unlink(missing_ok=True)
    return (*assumed, *findings)


def _rewritten(
    mechanism: Mechanism, adapter: Adapter, place: Path, reduction: Reduction | None
) -> tuple[list[Diagnostic], str | None]:
    """Write the owner's file with the changes of the model; else return why not, or nothing."""
    path, rewriter = mechanism.path, adapter.load_rewriter()
    if rewriter is None or mechanism.format != adapter.name or not os.path.isfile(path or ""):
        return [], ""
    try:
        literal = _by_the_letter(mechanism)
        file = rewriter(literal, partial(read, str(path), format=adapter.name), place.parent)
        write_aside(place, file.data)
        exact, like = literal is mechanism, Path(str(path))
        found = _verified(literal, place, adapter, reduction, file.options, like, exact)
    except (ReadError, UnsupportedExport) as error:
        return [], str(error).replace(str(place), Path(str(path)).name)
    # Meshes are called by their files, which programs tell in more than one way.
    found = [each for each in found if each.code != "REG328" or "mesh `" not in each.message]
    if worse := [each.message for each in found if each.severity != "note" and each.code in PLACES]:
        return [], worse[0].removeprefix(f"{adapter.label}: ")
    return [*file.findings, *found], None


def _by_the_letter(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with the joints that its file says literally, where it keeps them."""
    reading = getattr(mechanism, "reading", None)
    literal = {joint.name: joint for joint in getattr(reading, "written", None) or ()}
    joints, near = [], 1e-12 + 2.0 * max(getattr(reading, "moved", (0.0,)))
    for joint in mechanism.joints:
        other = literal.get(joint.name, joint)
        same = (joint.kind, joint.parent, joint.child) == (other.kind, other.parent, other.child)
        if same and all(
            np.allclose(getattr(joint, key), getattr(other, key), rtol=0.0, atol=near)
            for key in PLACED
        ):
            joint = replace(joint, **{key: getattr(other, key) for key in PLACED})
        joints.append(joint)
    return replace(mechanism, joints=tuple(joints)) if literal else mechanism


def _written_anew(
    mechanism: Mechanism, adapter: Adapter, place: Path, folder: Path, reduction: Reduction | None
) -> list[Diagnostic]:
    """Write a model by its format's writer; return what the file does not hold of it."""
    model, findings = prepared(mechanism, adapter, folder)
    try:
        findings += adapter.load_writer()(model, place)
    except ValueError as error:  # of lxml
        raise UnsupportedExport(f"the model has text that cannot be written: {error}") from error
    # Meshes are named from the place of the file from now on.
    findings += _verified(replace(model, path=os.fspath(place)), place, adapter, reduction)
    return [*findings, *left_behind(mechanism, adapter, place)]


def replaceable(path: str | os.PathLike[str]) -> Path:
    """Return the file that is to be replaced: a link is followed, a device is refused."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise RegularizeError(f"{path}: is no file that could be replaced; name another one")
    return target


def _written(place: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each written file of a model with its final path, the model itself last."""
    beside = [p for p in place.parent.iterdir() if p.name.startswith(f"{place.stem}.")]
    for file in sorted(beside, key=lambda p: p == place):
        yield file, target.with_suffix(file.suffix)


def _verified(
    mechanism: Mechanism,
    path: Path,
    adapter: Adapter,
    reduction: Reduction | None,
    options: Mapping[str, Any] = MappingProxyType({}),
    like: Path | None = None,
    exact: bool = True,
) -> list[Diagnostic]:
    """Read a file back and report losses; raises ``UnsupportedExport`` if it is another machine."""
    known = adapter.reader and adapter.of_files
    after = read(path, format=adapter.name if known else None, **options)
    mechanism, after = segments(mechanism), segments(after)
    compared = {"rtol": SAME, "reduction": reduction} if exact else {"rtol": UNNOTICED}
    found = differences(mechanism, after, target=adapter.label, motions=exact, **compared)
    for finding in found:
        if finding.severity == "error":
            raise UnsupportedExport(finding.message)
    try:
        try_engine(path, adapter.name)
    except UnsupportedExport as error:
        if like is not None and (why := refusal(like, adapter.name)):
            message = f"{adapter.label}: as of {like.name}, {why}"
            return [*found, Diagnostic("REG302", "note", message)]
        if adapter.reader:
            raise
        # An extension of another format, whose own program need not know it.
        found.append(Diagnostic("REG302", "warning", f"{adapter.label}: {error}"))
    return found


def _refuse_others(target: Path, adapter: Adapter, written: list[Path]) -> None:
    """Refuse to write beside a file of loops that would be read along with a new URDF file."""
    if not adapter.name.startswith("urdf"):
        return
    for file in loop_files(str(target), None):
        if Path(file.path).resolve() not in written:
            raise UnsupportedExport(
                f"{file.path} lists closing joints, and would be read along with it; write into "
                "another folder, or move that file"
            )


def try_engine(path: Path, format: str) -> str | None:
    """Read a file with its format's own program, if installed; return its name or raise."""
    if format not in ENGINES or find_spec(ENGINES[format][1]) is None:
        return None
    name, _, reads = ENGINES[format]
    with captured_errors() as words:
        try:
            reads(str(path))
        except (ValueError, RuntimeError) as error:  # MuJoCo, Pinocchio; of USD see `_usd`
            said = f"{error} {words()}".replace(str(path), path.name)
            raise UnsupportedExport(f"{name} refuses it: {' '.join(said.split())[:300]}") from error
    return name


def refusal(path: Path, format: str) -> str:
    """Return why the format's own program refuses a file; nothing where it does not."""
    try:
        try_engine(path, format)
    except UnsupportedExport as error:
        return str(error)
    return ""


@contextmanager
def captured_errors() -> Iterator[Callable[[], str]]:
    """Capture standard error, also of C libraries; yield a function that returns the text."""
    import tempfile  # takes a while

    sys.stderr.flush()
    original = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)

        def said() -> str:
            """Return what has been written to standard error."""
            file.seek(0)
            return file.read().decode(errors="replace")

        try:
            yield said
        finally:
            os.dup2(original, 2)
            os.close(original)


def _mujoco(path: str) -> None:
    """Compile an MJCF file with MuJoCo."""
    from regularize.adapters.mjcf.compiled import collected, loaded

    with collected():
        loaded(path).compile()


def _pinocchio(path: str) -> None:
    """Build Pinocchio's model of a URDF file."""
    import pinocchio

    pinocchio.buildModelFromUrdf(as_utf8(path))


def _usd(path: str) -> None:
    """Parse the physics of a USD stage; raises ``ValueError`` where a prim is invalid."""
    from pxr import Tf, Usd, UsdPhysics

    try:
        stage = Usd.Stage.Open(as_utf8(path))
        # Its name until version 26, and its name since.
        parsed = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None)
        objects = (parsed or UsdPhysics.LoadUsdPhysicsFromRange)(stage, ["/"])
    except Tf.ErrorException as error:
        raise ValueError(str(error)) from error
    for described in objects.values():
        for prim, description in zip(*described, strict=True):
            if not description.isValid:
                raise ValueError(f"{prim} is not valid")


#: Name, Python module and reading function of the program for each format.
ENGINES: dict[str, tuple[str, str, Callable[[str], None]]] = {
    "urdf": ("Pinocchio", "pinocchio", _pinocchio),
    "urdf+": ("Pinocchio", "pinocchio", _pinocchio),
    "mjcf": ("MuJoCo", "mujoco", _mujoco),
    "usd": ("usd-core", "pxr", _usd),
}


def prepared(
    mechanism: Mechanism, adapter: Adapter, folder: Path
) -> tuple[Mechanism, list[Diagnostic]]:
    """Return a model with names, meshes and a pose that a format holds, and findings."""
    if adapter.name.startswith("urdf") or adapter.name == "sdf":  # no actuators with limits
        mechanism = with_efforts(mechanism)
    names, ground = {body.name for body in mechanism.bodies}, mechanism.ground
    stems = {name: f"{name}_body" for name in (names & adapter.reserved) - {ground}}
    if adapter.name.startswith("urdf"):
        stems |= {name: f"frame_{name}" for name in _idle_marks(mechanism)}
    bodies = _renamed([b.name for b in mechanism.bodies], adapter.reserved, stems)
    taken = {*bodies.values()} | adapter.reserved if adapter.one_namespace else set()
    stems = {name: f"{name}_joint" for name in taken}
    joints = _renamed([joint.name for joint in mechanism.joints], taken, stems)
    findings = [
        Diagnostic("REG321", "warning", f"{adapter.label}: {what} `{old}` is called `{new}`")
        for what, names in (("body", bodies), ("joint", joints))
        for old, new in names.items()
        if old != new
    ]
    if findings:
        mechanism = renamed(mechanism, bodies.__getitem__, joints.__getitem__)
    mechanism = with_meshes_from(mechanism, adapter, folder, findings)
    if adapter.closed:
        mechanism = _assembled(mechanism, adapter.label, findings)
    return mechanism, findings


def _renamed(
    names: Sequence[str], others: Collection[str], stems: Mapping[str, str]
) -> dict[str, str]:
    """Return each name's new name, unique in the file; those with stems change."""
    taken, found = {*names, *others}, {}
    for name in names:
        found[name] = unique(stems[name], taken) if name in stems else name
        taken.add(found[name])
    return found


def _idle_marks(mechanism: Mechanism) -> set[str]:
    """Return links whose names would close a URDF loop that the model does not have."""
    closed = {frozenset((j.parent, j.child)) for j in mechanism.joints if j.closure}
    names = {body.name for body in mechanism.bodies}
    matches = filter(None, map(CLOSING.fullmatch, names))
    pairs = (frozenset((match[0], f"closing_{match[1]}_2")) for match in matches)
    return {name for pair in pairs if pair <= names and pair not in closed for name in pair}


def _assembled(mechanism: Mechanism, target: str, findings: list[Diagnostic]) -> Mechanism:
    """Return the mechanism with closed loops; adds a finding for each joint that moves."""
    assembly = assemble(mechanism)
    translation, rotation = assembly.worst_before
    if max(translation, rotation) < EXACT.closed:
        return mechanism
    if not assembly.closed:
        raise UnsupportedExport(
            f"{target} holds no open loops, and those of the model cannot be closed: "
            f"{1e3 * translation:.3g} mm and {rotation:.3g} rad stay open"
        )
    closed = with_coordinates(mechanism, assembly.q)
    for old, new in zip(mechanism.joints, closed.joints, strict=True):
        if float(abs(new.position - old.position).max(initial=0.0)) > 0.0 and not old.closure:
            message = f"{target}: holds no open loops, so that `{old.name}` is moved to close them"
            findings.append(Diagnostic("REG323", "warning", message, joints=(old.name,)))
    return closed


def with_meshes_from(
    mechanism: Mechanism, adapter: Adapter, folder: Path, findings: list[Diagnostic]
) -> Mechanism:
    """Rewrite mesh references for a folder; adds a finding for each mesh left out."""
    bodies = []
    for body in mechanism.bodies:
        shapes, left_out = [], set()
        for shape in body.geometry:
            uri = _reference(shape, mechanism, adapter, folder) if shape.kind == "mesh" else None
            if shape.kind != "mesh" or uri is not None:
                shapes.append(shape if uri is None else replace(shape, uri=uri))
            elif shape.uri not in left_out:  # else it is seen and touched by the same mesh
                left_out.add(shape.uri)
                takes = ", ".join(sorted(adapter.meshes)) or "files"
                why = f"it is not found, or none of {takes}"
                if INSIDE in (shape.uri or ""):
                    why = (
                        "it lies inside of a CAD file, which engines do not open, and cannot be "
                        f"made a mesh here: {install_words('brep')}"
                    )
                what = f"mesh `{shape.uri}` of body `{body.name}`"
                message = f"{adapter.label}: {what} is left out: {why}"
                findings.append(Diagnostic("REG328", "warning", message, source=body.source))
        bodies.append(replace(body, geometry=tuple(shapes)))
    return replace(mechanism, bodies=tuple(bodies))


def _reference(shape: Geometry, mechanism: Mechanism, adapter: Adapter, folder: Path) -> str | None:
    """Return the reference to a shape's mesh from a file in a folder; None if impossible."""
    uri, path = shape.uri or "", mechanism.path
    if mechanism.format == "usd" and path is not None and uri.startswith("/"):
        inside = f"{_from(folder, os.path.realpath(path))}{INSIDE}{uri}"
        return inside if adapter.name in ("usd", "json") else None
    if INSIDE in uri and adapter.name != "json":  # engines open no CAD files
        return None
    if uri.startswith(INSIDE) and path is not None:
        return f"{_from(folder, os.path.realpath(path))}{uri}"
    if adapter.meshes:
        from regularize.adapters.shapes.meshes import find_mesh  # with all that shapes take

        try:
            file = find_mesh(uri, path)
        except ReadError:
            return None
        return _from(folder, str(file)) if file.suffix.lower() in adapter.meshes else None
    if "://" in uri or os.path.isabs(uri) or path is None or not uri:
        return uri
    return _from(folder, os.path.join(os.path.dirname(os.path.realpath(path)), uri))


def _from(folder: Path, file: str) -> str:
    """Return a file's path relative to a folder, with forward slashes."""
    return Path(os.path.relpath(file, os.path.realpath(folder))).as_posix()
