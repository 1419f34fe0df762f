"""Slack links put into XML files: what URDF and SDF share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from lxml import etree

from regularize.adapters.common.edits import Edit, Patch, SlackLinks, WantedSlack
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.write import number
from regularize.adapters.common.xml import Node
from regularize.errors import UnsupportedExport

#: Elements that hold what belongs to a mass, in attributes or as text.
MASS = ("mass", "inertia", *(f"i{a}{b}" for a, b in ("xx", "yy", "zz", "xy", "xz", "yz")))
#: Attributes by which elements name a link.
NAMING = ("link", "name", "frame")


class SlackPatcher(XmlPatcher):
    """Edits the XML files of formats in which slack links can stand."""

    def slack(self, wanted: WantedSlack) -> Patch:
        """The edits that put slack links in and take idle closing joints out."""
        found = Patch()
        for name, share in wanted.shares.items():
            found.edits += _scaled(_link(self, name), share)
        for links in wanted.links:
            place = _link(self, links.carrier)
            if any(body.inertia is None or body.inertia.mass == 0.0 for body in links.bodies):
                raise UnsupportedExport(
                    f"the slack links of joint `{links.joint.name}` would stand on "
                    f"`{links.carrier}`, which has no mass to share with them, and engines move "
                    "no links without mass: give it mass"
                )
            for each in self.slack_elements(links, place):
                beside = place if each.tag == "link" else _last_joint(place)
                found.edits.append(beside.after(text_of(each, beside)))
            found.edits += self.slack_ends(links)
        found.edits += self.taken_out(wanted.removed)
        return found

    @abstractmethod
    def slack_elements(self, links: SlackLinks, place: Node) -> list[Any]:
        """The elements to add behind that of the body."""

    @abstractmethod
    def slack_ends(self, links: SlackLinks) -> Iterator[Edit]:
        """The edits that hang the joint on the last link."""


def hung(place: Node, old: str, new: str) -> Edit:
    """The edit that names another link in the element of a joint."""
    spans = []
    for each in place.walk():
        if each is not place:
            spans += [each.spans[key] for key in NAMING if each.get(key) == old]
        if not each.nodes and each.content == old:
            spans.append(each.inner)
    if len(spans) != 1:
        raise UnsupportedExport(
            f"<{place.tag}> on line {place.line} does not name link `{old}` once, so that no slack "
            "link can take its place there"
        )
    return place.document.edit(*spans[0], new)


def text_of(element: Any, place: Node) -> str:
    """An element as text, indented as the one that it stands beside."""
    etree.indent(element, space="  ")
    lines = etree.tostring(element, encoding="unicode").splitlines()
    return place.gap.join(lines)


def _link(patcher: XmlPatcher, name: str) -> Node:
    source = patcher.mechanism.body(name).source
    if source is None or source.path != patcher.path or source.line is None:
        raise UnsupportedExport(f"body `{name}` is not written out in {patcher.path}")
    return patcher.document(source.path).at(source)


def _last_joint(link: Node) -> Node:
    """The last joint beside a link: coordinates keep their order if slack joints follow it."""
    beside = [] if link.parent is None else link.parent.nodes
    return next((place for place in reversed(beside) if place.tag == "joint"), link)


def _scaled(link: Node, share: float) -> Iterator[Edit]:
    """The edits that leave a link a share of its mass, its centre as it is."""
    inertial = link.child("inertial")
    for each in () if inertial is None else inertial.walk():
        if each.tag not in MASS:
            continue
        spans = [*each.spans.values()]
        if not each.nodes and each.closing > each.opened:
            spans.append(each.inner)
        for span in spans:
            value = float(each.document.text[slice(*span)])
            if value:
                yield each.document.edit(*span, number(share * value))
