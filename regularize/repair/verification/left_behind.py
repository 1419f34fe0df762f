"""What stands in the file that a model was read from and is not in the one that it is written to.

Sensors, contact exclusions, controllers, solver options are no part of a machine, and no writer
knows of them; nor does a mechanism hold how bodies touch. Each is named, by its own name or, where
it is one of many alike, by its kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from regularize.adapters.registry import Adapter
from regularize.escape import as_utf8
from regularize.mechanism.diagnostic import Diagnostic, Severity, Source
from regularize.mechanism.mechanism import Mechanism

#: Tables of elements and attributes, see there.
TABLES: dict[str, Any] = json.loads(Path(__file__).with_name("held.json").read_text("utf-8"))
EACH, TOGETHER, HELD = TABLES["each"], TABLES["together"], TABLES["held"]
TIES = "actuator/*", "equality/tendon"  # what tendons of joints are for


def left_behind(mechanism: Mechanism, adapter: Adapter, new: Path) -> Iterator[Diagnostic]:
    """Yield a finding for each element of the original file that the new file lacks."""
    target, kinds = adapter.label, EACH.get(mechanism.format)
    if kinds is None or mechanism.path is None:
        return
    copied = _root(str(new)) if new.suffix in (".xml", ".mjcf", ".urdf", ".sdf") else None
    copies = [] if copied is None else [(e.tag, dict(e.attrib)) for e in copied.iter()]
    motors = {actuator.name for actuator in mechanism.actuators}
    files = {file: _root(file) for file in (mechanism.path, *mechanism.files)}
    roots = {file: root for file, root in files.items() if root is not None}
    ropes = {e.get("name") for root in roots.values() for e in root.iterfind(".//tendon/spatial")}
    kinds_tied = [(root, kind) for root in roots.values() for kind in TIES]
    tied = [element for root, kind in kinds_tied for element in root.iterfind(kind)]
    ties = {value for e in tied for key, value in e.attrib.items() if key.startswith("tendon")}

    def stays(what: str, file: str, element: etree._Element) -> Diagnostic:
        """Return the finding that an element stays behind; with its joint it means no loss."""
        message = f"{target}: {what} stays behind in {Path(file).name}"
        acts = element.getparent() is not None and element.getparent().tag == "actuator"
        alone = acts and element.get("joint") not in (None, *(j.name for j in mechanism.joints))
        severity: Severity = "note" if alone else "warning"
        return Diagnostic("REG329", severity, message, source=Source(file, element.sourceline))

    for file, root in roots.items():
        for kind in kinds:
            for element in root.iterfind(f".//{kind}"):
                copy = (element.tag, dict(element.attrib)) in copies and not len(element)
                motor = kind == "actuator/*" and _moves_joints(element, motors, ropes)
                # A tendon that exerts no force is in the motor or the equality that it is for.
                summed = element.tag == "fixed" and element.get("name") in ties
                summed = summed and {*TABLES["forceless"]}.issuperset(element.attrib)
                if not (copy or motor or summed):
                    yield stays(_called(element), file, element)
        for kind in TOGETHER[mechanism.format]:
            if found := [e for e in root.iterfind(f".//{kind}") if _says(e, copies)]:
                times = "" if len(found) == 1 else f" ({len(found)} times)"
                words = {key for e in found for each in e.iter() for key in each.attrib} - {"name"}
                words = words if kind in ("option", "size", "visual", "statistic") else set()
                with_words = f" ({', '.join(sorted(words))})" if words else ""
                yield stays(f"<{kind}>{times}{with_words}", file, found[0])
        for tag, (element, names, count) in _unheld(root, mechanism.format, adapter.name).items():
            times = "" if count == 1 else f" ({count} times)"
            yield stays(f"{', '.join(f'`{n}`' for n in names)} of <{tag}>{times}", file, element)
    if mechanism.format == "mjcf":
        yield from _shapes_without_words(mechanism, target)


def _root(file: str) -> etree._Element | None:
    """Parse a file; None where it is gone or no XML."""
    try:
        parser = etree.XMLParser(
            resolve_entities=False, recover=True, remove_comments=True, huge_tree=True
        )
        return etree.parse(as_utf8(file), parser).getroot()
    except (OSError, etree.XMLSyntaxError):
        return None


def _moves_joints(element: etree._Element, motors: set[str], ropes: set[str | None]) -> bool:
    """Say whether an actuator of MJCF is one of the motors that the mechanism has."""
    name = element.get("name")
    if name is not None:
        return name in motors
    pulls = element.get("tendon") in ropes if element.get("tendon") else False
    return not pulls and not any(element.get(key) for key in ("site", "cranksite", "body"))


def _called(element: etree._Element) -> str:
    """Return words for an XML element: its tag with its name or that of its reference."""
    name = element.get("name") or element.get("reference")
    if name is None and element.get("body1"):
        name = f"{element.get('body1')} and {element.get('body2')}"
    if name is None and element.get("tendon"):
        return f"<{element.tag}> on tendon `{element.get('tendon')}`"
    return f"<{element.tag}>" + (f" `{name}`" if name else "")


def _says(element: etree._Element, copies: list[tuple[str, dict[str, str]]]) -> bool:
    """Say whether an element holds anything but gravity that the new file lacks."""
    attributes = {key: value for key, value in element.attrib.items() if key != "gravity"}
    alike = (values for tag, values in copies if tag == element.tag)
    kept = any(attributes.items() <= values.items() for values in alike)
    inside = any((child.tag, dict(child.attrib)) not in copies for child in element)
    return bool((attributes and not kept) or inside or (element.text or "").strip())


def _unheld(
    root: etree._Element, format: str, target: str
) -> dict[str, tuple[etree._Element, list[str], int]]:
    """Return what no mechanism holds by tag: the first element with some, names, and how many."""
    found: dict[str, tuple[etree._Element, list[str], int]] = {}
    for element in root.iter(etree.Element):
        names = _unheld_in(element, target) if format == "mjcf" else []
        if format == "sdf" and any(a.tag in ("link", "joint") for a in element.iterancestors()):
            if element.tag in HELD["sdf"] or element.getparent().tag not in HELD["sdf"]:
                continue
            names = [each.tag for each in element.iter(etree.Element) if not len(each)]
        if names:
            tag = element.tag if format == "mjcf" else element.getparent().tag
            first, known, count = found.get(tag, (element, [], 0))
            found[tag] = first, [*dict.fromkeys([*known, *names])], count + 1
    return found


def _unheld_in(element: etree._Element, target: str) -> list[str]:
    """Return the attributes of an MJCF element that no mechanism holds."""
    holder = element.getparent()
    above = "" if holder is None else holder.tag
    tag = element.tag if above != "equality" else f"equality/{element.tag}"
    held = HELD["mjcf"].get(tag, HELD["mjcf"].get(element.tag))
    if held is None or above in ("fixed", "spatial", "contact", "sensor"):
        return []
    names = [name for name in element.attrib if name not in held]
    if element.tag == "geom":
        bits = {element.get(key, "1").strip() for key in ("contype", "conaffinity")}
        names += ["contype", "conaffinity"] if bits not in ({"0"}, {"1"}) else []
        rough = element.get("friction", "").split()
        names += ["friction"] if rough and (len(rough) > 1 or target not in TABLES["rough"]) else []
    return names


def _shapes_without_words(mechanism: Mechanism, target: str) -> Iterator[Diagnostic]:
    """Yield a finding for each plane and height field, which no mechanism holds."""
    from regularize.adapters.mjcf.compiled import compiled  # with MuJoCo, which has read the file

    source = compiled(str(mechanism.path))
    for g, kind in source.unshaped.items():
        name, body = source.model.geom(g).name, source.model.geom_bodyid[g]
        what = f"<geom>{f' `{name}`' if name else ''} of type {kind}"
        where = source.model.body(int(body)).name or "world"
        message = f"{target}: {what} of body `{where}` stays behind in {Path(source.path).name}"
        yield Diagnostic("REG329", "warning", message, source=source.source("geom", name))
