"""What of an MJCF file goes into a new one as it stands, though a mechanism does not hold it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from lxml import etree

from regularize.adapters.mjcf.elements import find_or_add
from regularize.model.mechanism import Mechanism

#: Sections, and what the attributes of their elements name in the new file.
SECTIONS = {
    "contact": {"body1": "body", "body2": "body"},
    "sensor": {"joint": "joint", "actuator": "actuator", "body": "body"},
}
KINDS = {"contact": ("exclude",)}
#: Attributes that are no names; an element with any other attribute is not understood.
PLAIN = frozenset({"name", "noise", "cutoff", "user", "nsample", "interval"})


def carry(mechanism: Mechanism, root: Any) -> None:
    """Copy solver options, contact exclusions and sensors of joints and motors from the source.

    Only what names things that the new file has is copied.
    """
    if mechanism.format != "mjcf" or mechanism.path is None:
        return
    for source in _roots(mechanism):
        for option in source.iterfind("option"):
            for name, value in option.attrib.items():
                if name != "gravity":
                    find_or_add(root, "option").set(name, value)
            for flag in option.iterfind("flag"):
                find_or_add(root, "option").append(deepcopy(flag))
        for section, names in SECTIONS.items():
            for element in source.iterfind(f"{section}/*"):
                if element.tag in KINDS.get(section, (element.tag,)) and _there(
                    element, names, root
                ):
                    find_or_add(root, section).append(deepcopy(element))


def _roots(mechanism: Mechanism) -> Iterator[Any]:
    parser = etree.XMLParser(resolve_entities=False, remove_comments=True, no_network=True)
    for file in (mechanism.path, *mechanism.files):
        try:
            yield etree.parse(str(file), parser).getroot()
        except (OSError, etree.XMLSyntaxError):
            continue


def _there(element: Any, names: dict[str, str], root: Any) -> bool:
    """Whether all that an element names is in the new file."""
    given = {key: value for key, value in element.attrib.items() if key in names}
    if not given or {*element.attrib} - {*given} - PLAIN:
        return False
    return all(value in _known(root, names[key]) for key, value in given.items())


def _known(root: Any, kind: str) -> set[str]:
    if kind == "actuator":
        return {str(e.get("name")) for e in root.iterfind("actuator/*")}
    found = {str(e.get("name")) for e in root.iterfind(f"worldbody//{kind}")}
    return found | ({"world"} if kind == "body" else set())
