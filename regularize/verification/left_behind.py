"""What stands in the file that a model was read from, and has no place in a mechanism.

Sensors, contact exclusions, controllers and solver options are no part of the machine that is
analysed, so that no writer knows of them. Who gets a new file has to know that they are not in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from regularize.model.diagnostic import Diagnostic, Source
from regularize.model.mechanism import Mechanism

#: Elements that programs look for, one finding each; by format, as paths from any place.
EACH = {
    "mjcf": (
        *("sensor/*", "contact/exclude", "contact/pair", "tendon/*", "camera", "light", "key"),
        *("deformable/*", "extension/plugin", "actuator/*"),
    ),
    "urdf": ("gazebo", "ros2_control", "safety_controller", "calibration", "sensor"),
    "sdf": ("plugin", "sensor", "light", "actor"),
}
#: Elements that say how a file looks or is solved, one finding for all of a kind.
ALL = {
    "mjcf": ("option", "size", "visual", "statistic", "custom", "material", "texture", "site"),
    "urdf": (),
    "sdf": ("physics", "frame", "material"),
}


def left_behind(mechanism: Mechanism, target: str, new: Path) -> Iterator[Diagnostic]:
    """Findings about what stays behind in the file that a mechanism was read from.

    Args:
        mechanism: The mechanism; nothing is found if its file is gone.
        target: What findings call the new file.
        new: The new file; what stands in it word for word has not stayed behind.
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
    for file, root in roots.items():
        for kind in kinds:
            for element in root.iterfind(f".//{kind}"):
                if (element.tag, dict(element.attrib)) in there and not len(element):
                    continue
                if kind == "actuator/*" and _moves_joints(element, motors, ropes):
                    continue
                where = Source(file, element.sourceline)
                message = f"{target}: {_called(element)} stays behind in {Path(file).name}"
                yield Diagnostic("REG329", "warning", message, source=where)
        for kind in ALL[mechanism.format]:
            found = [each for each in root.iterfind(f".//{kind}") if _says(each, there)]
            if found:
                times = "" if len(found) == 1 else f" ({len(found)} times)"
                message = f"{target}: <{kind}>{times} stays behind in {Path(file).name}"
                where = Source(file, found[0].sourceline)
                yield Diagnostic("REG329", "warning", message, source=where)


def _root(file: str) -> etree._Element | None:
    try:
        parser = etree.XMLParser(resolve_entities=False, recover=True, remove_comments=True)
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
