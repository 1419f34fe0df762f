"""Writing a model so that it is there whole, read back and compared, or not at all.

The program that a format belongs to reads the file as well, where it is installed. What stands in
the file that a model was read from and is no part of the machine (sensors, contact exclusions,
controllers, solver options) no writer knows of: who gets a new file is told what is not in it.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lxml import etree

from regularize.adapters import adapters, read
from regularize.adapters.common.console import collected
from regularize.adapters.common.output_files import temporary, write_all
from regularize.adapters.registry import Adapter
from regularize.adapters.urdf.loop_files import find as loop_files
from regularize.errors import ReadError, RegularizeError, UnsupportedExport
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.mechanism.elastic import segments
from regularize.mechanism.mechanism import Mechanism, refuse_elastic
from regularize.reduction.reduce import Reduction
from regularize.repair.verification.differences import differences
from regularize.repair.verification.preparing import prepared

#: Elements that programs look for, one finding each; by format, as paths from any place.
EACH = {
    "mjcf": (
        *("sensor/*", "contact/exclude", "contact/pair", "tendon/*", "camera", "light", "key"),
        *("deformable/*", "extension/plugin", "actuator/*"),
    ),
    "urdf": ("gazebo", "ros2_control", "safety_controller", "calibration", "sensor"),
    "sdf": ("plugin", "sensor", "light", "actor"),
}
#: Attributes of a fixed tendon that exert no force.
SEEN = {"name", "class", "group", "rgba", "width", "material", "user"}
#: Elements that say how a file looks or is solved, one finding for all of a kind.
TOGETHER = {
    "mjcf": ("option", "size", "visual", "statistic", "custom", "material", "texture", "site"),
    "urdf": (),
    "sdf": ("physics", "frame", "material"),
}


def write_verified(
    mechanism: Mechanism,
    path: str | os.PathLike[str],
    format: str,
    *,
    reduction: Reduction | None = None,
) -> tuple[Diagnostic, ...]:
    """Write a model beside its place, read it back, compare it, and only then put it there.

    Args:
        mechanism: What to write.
        path: The file; files that belong to it get its name with other endings.
        format: Name of a format that can be written.
        reduction: That of the mechanism, if it is known.

    Returns:
        What the file does not hold, one finding for each datum, and what the format forces.

    Raises:
        UnsupportedExport: The file cannot be read back, its own program refuses it, or it is
            another machine. The file that was there before is as it was.
        RegularizeError: The file cannot be written.
    """
    if format == "json":  # which alone can hold how beams bend
        segments(mechanism)
    else:
        refuse_elastic(mechanism)
    adapter, target = adapters()[format], replaceable(path)
    if not target.parent.is_dir():
        raise RegularizeError(f"{path}: cannot be written: there is no such folder; make it first")
    place = temporary(target, target.suffix)
    try:
        known = {target: target.read_bytes()} if target.exists() else {}
        model, findings = prepared(mechanism, adapter, target.parent)
        findings += _write(adapter, model, place)
        # Meshes are named from the place of the file from now on.
        placed = replace(model, path=os.fspath(place))
        findings += _verified(placed, place, adapter, reduction)
        findings += left_behind(mechanism, adapter.label, place)
        written = [*_written(place, target)]
        _refuse_others(target, adapter, [new for _, new in written])
        write_all({new: old.read_bytes() for old, new in written}, known)
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
        for left, _ in _written(place, target):
            left.unlink(missing_ok=True)
    return tuple(findings)


def _write(adapter: Adapter, model: Mechanism, path: Path) -> Iterable[Diagnostic]:
    """Let the adapter write; raises ``UnsupportedExport`` for names that no XML can hold."""
    writer = adapter.load_writer()
    try:
        found: Iterable[Diagnostic] = writer(model, path)
    except ValueError as error:  # of lxml
        raise UnsupportedExport(f"the model has text that cannot be written: {error}") from error
    return found


def replaceable(path: str | os.PathLike[str]) -> Path:
    """The file that is to be replaced: a link is followed, a device is refused."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise RegularizeError(f"{path}: is no file that could be replaced; name another one")
    return target


def _written(place: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    """The files of a model and the places that they are for, the model itself last."""
    beside = [p for p in place.parent.iterdir() if p.name.startswith(f"{place.stem}.")]
    for file in sorted(beside, key=lambda p: p == place):
        yield file, target.with_suffix(file.suffix)


def _verified(
    mechanism: Mechanism, path: Path, adapter: Adapter, reduction: Reduction | None
) -> list[Diagnostic]:
    """What a file has lost; raises ``UnsupportedExport`` if it is another machine."""
    known = adapter.reader and adapter.of_files
    after = read(path, format=adapter.name if known else None)
    mechanism, after = segments(mechanism), segments(after)
    found = differences(mechanism, after, target=adapter.label, reduction=reduction)
    for finding in found:
        if finding.severity == "error":
            raise UnsupportedExport(finding.message)
    try:
        try_engine(path, adapter.name)
    except UnsupportedExport as error:
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


def left_behind(mechanism: Mechanism, target: str, new: Path) -> Iterator[Diagnostic]:
    """Findings about what stays behind in the file that a mechanism was read from.

    Nothing is found if that file is gone; what stands in the new one word for word has not stayed.
    """
    kinds = EACH.get(mechanism.format)
    if kinds is None or mechanism.path is None:
        return
    copied = _root(str(new)) if new.suffix in (".xml", ".mjcf", ".urdf", ".sdf") else None
    there = [] if copied is None else [(e.tag, dict(e.attrib)) for e in copied.iter()]
    motors = {actuator.name for actuator in mechanism.actuators}
    roots = {
        file: root
        for file in (mechanism.path, *mechanism.files)
        if (root := _root(file)) is not None
    }
    ropes = {e.get("name") for root in roots.values() for e in root.iterfind(".//tendon/spatial")}
    ties = {
        value
        for root in roots.values()
        for kind in ("actuator/*", "equality/tendon")
        for element in root.iterfind(kind)
        for key, value in element.attrib.items()
        if key.startswith("tendon")
    }
    for file, root in roots.items():
        for kind in kinds:
            for element in root.iterfind(f".//{kind}"):
                if (element.tag, dict(element.attrib)) in there and not len(element):
                    continue
                if kind == "actuator/*" and _moves_joints(element, motors, ropes):
                    continue
                summed = element.tag == "fixed" and element.get("name") in ties
                if summed and SEEN.issuperset(element.attrib):
                    continue  # it is in the motor or the equality that it is for
                where = Source(file, element.sourceline)
                message = f"{target}: {_called(element)} stays behind in {Path(file).name}"
                yield Diagnostic("REG329", "warning", message, source=where)
        for kind in TOGETHER[mechanism.format]:
            found = [each for each in root.iterfind(f".//{kind}") if _says(each, there)]
            if found:
                times = "" if len(found) == 1 else f" ({len(found)} times)"
                message = f"{target}: <{kind}>{times} stays behind in {Path(file).name}"
                where = Source(file, found[0].sourceline)
                yield Diagnostic("REG329", "warning", message, source=where)


def _root(file: str) -> etree._Element | None:
    try:
        parser = etree.XMLParser(
            resolve_entities=False, recover=True, remove_comments=True, huge_tree=True
        )
        return etree.parse(file, parser).getroot()
    except (OSError, etree.XMLSyntaxError):
        return None


def _moves_joints(element: etree._Element, motors: set[str], ropes: set[str | None]) -> bool:
    """Whether an actuator of MJCF is one of the motors that the mechanism has."""
    name = element.get("name")
    if name is not None:
        return name in motors
    pulls = element.get("tendon") in ropes if element.get("tendon") else False
    return not pulls and not any(element.get(key) for key in ("site", "cranksite", "body"))


def _called(element: etree._Element) -> str:
    name = element.get("name") or element.get("reference")
    if name is None and element.get("body1"):
        name = f"{element.get('body1')} and {element.get('body2')}"
    if name is None and element.get("tendon"):
        return f"<{element.tag}> on tendon `{element.get('tendon')}`"
    return f"<{element.tag}>" + (f" `{name}`" if name else "")


def _says(element: etree._Element, there: list[tuple[str, dict[str, str]]]) -> bool:
    """Whether an element says more than gravity, and more than the new file."""
    given = {key: value for key, value in element.attrib.items() if key != "gravity"}
    kept = any(tag == element.tag and given.items() <= values.items() for tag, values in there)
    inside = any((each.tag, dict(each.attrib)) not in there for each in element)
    return bool((given and not kept) or inside or (element.text or "").strip())


def try_engine(path: Path, format: str) -> str | None:
    """Let the program that a format belongs to read a file.

    Returns:
        Its name; None where there is none, or it is not installed.

    Raises:
        UnsupportedExport: It refuses the file; the message has its own words.
    """
    if format not in ENGINES or find_spec(ENGINES[format][1]) is None:
        return None
    name, module, reads = ENGINES[format]
    engine = importlib.import_module(module)
    with _words() as words:
        try:
            reads(engine, str(path))
        except (ValueError, RuntimeError) as error:  # MuJoCo, Pinocchio; of USD see `_usd`
            said = f"{error} {words()}".replace(str(path), path.name)
            raise UnsupportedExport(f"{name} refuses it: {' '.join(said.split())[:300]}") from error
    return name


@contextmanager
def _words() -> Iterator[Callable[[], str]]:
    """What a library in C writes to standard error meanwhile, instead of its being shown."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)

        def said() -> str:
            file.seek(0)
            return file.read().decode(errors="replace")

        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _mujoco(_: Any, path: str) -> None:
    from regularize.adapters.mjcf.compiled import loaded

    with collected():
        loaded(path).compile()


def _pinocchio(pinocchio: Any, path: str) -> None:
    pinocchio.buildModelFromUrdf(path)


def _usd(pxr: Any, path: str) -> None:
    from pxr import Tf, Usd, UsdPhysics

    try:
        stage = Usd.Stage.Open(path)
        # Its name until version 26, and its name since.
        parsed = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None)
        found = (parsed or UsdPhysics.LoadUsdPhysicsFromRange)(stage, ["/"])
    except Tf.ErrorException as error:
        raise ValueError(str(error)) from error
    for described in found.values():
        for prim, description in zip(*described, strict=True):
            if not description.isValid:
                raise ValueError(f"{prim} is not valid")


#: Name, Python module and reading function of the program for each format.
ENGINES: dict[str, tuple[str, str, Callable[[Any, str], None]]] = {
    "urdf": ("Pinocchio", "pinocchio", _pinocchio),
    "urdf+": ("Pinocchio", "pinocchio", _pinocchio),
    "mjcf": ("MuJoCo", "mujoco", _mujoco),
    "usd": ("usd-core", "pxr", _usd),
}
