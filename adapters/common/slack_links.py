"""Slack links put into XML files: what URDF and SDF share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from lxml import etree

from regularize.adapters.common.edits import Edit, Patch, SlackLinks, WantedSlack
from regularize.adapters.common.patching import XmlPatcher
from regularize.adapters.common.quantities import NAMES
from regularize.adapters.common.write import number
from regularize.adapters.common.xml import Node
from regularize.errors import UnsupportedExport

#: Elements that hold what belongs to a mass, in attributes or as text.
MASS = ("mass", "inertia", *NAMES)
#: Attributes by which elements name a link.
NAMING = ("link", "name", "frame")


class SlackPatcher(XmlPatcher):
    """Edits the XML files of formats in which slack links can stand."""

    def slack(self, wanted: WantedSlack) -> Patch:
        """The edits that put slack links in and take idle closing joints out."""
        patch = Patch()
        for name, share in wanted.shares.items():
            patch.edits += _scaled(self._link(name), share)
        for links in wanted.links:
            place = self._link(links.carrier)
            if any(body.inertia is None or body.inertia.mass == 0.0 for body in links.bodies):
                raise UnsupportedExport(
                    f"the slack links of joint `{links.joint.name}` would stand on "
                    f"`{links.carrier}`, which has no mass to share with them, and engines move "
                    "no links without mass: give it mass"
                )
            # Coordinates keep their order if slack joints follow the last joint.
            joints = [] if place.parent is None else place.parent.children("joint")
            for element in self.slack_elements(links, place):
                beside = joints[-1] if joints and element.tag != "link" else place
                patch.edits.append(beside.after(text_of(element, beside)))
            patch.edits += self.slack_ends(links)
        patch.edits += self.taken_out(wanted.removed)
        return patch

    @abstractmethod
    def slack_elements(self, links: SlackLinks, place: Node) -> list[Any]:
        """The elements to add behind that of the body."""

    @abstractmethod
    def slack_ends(self, links: SlackLinks) -> Iterator[Edit]:
        """The edits that hang the joint on the last link."""

    def _link(self, name: str) -> Node:
        source = self.mechanism.body(name).source
        if source is None or source.path != self.path or source.line is None:
            raise UnsupportedExport(f"body `{name}` is not written out in {self.path}")
        return self.document(source.path).at(source)


def hung(place: Node, old: str, new: str) -> Edit:
    """Name another link in the element of a joint, which has to name the old one just once."""
    spans = []
    for node in place.walk():
        if node is not place:
            spans += [node.spans[key] for key in NAMING if node.get(key) == old]
        if not node.nodes and node.content == old:
            spans.append(node.inner)
    if len(spans) != 1:
        raise UnsupportedExport(
            f"<{place.tag}> on line {place.line} does not name link `{old}` once, so that no slack "
            "link can take its place there"
        )
    return place.document.edit(*spans[0], new)


def text_of(element: Any, place: Node) -> str:
    """An element as text, indented as the one that it stands beside."""
    etree.indent(element, space="  ")
    return place.gap.join(etree.tostring(element, encoding="unicode").splitlines())


def _scaled(link: Node, share: float) -> Iterator[Edit]:
    """Leave a link a share of its mass, its centre as it is."""
    inertial = link.child("inertial")
    for node in () if inertial is None else inertial.walk():
        if node.tag not in MASS:
            continue
        spans = [*node.spans.values(), *([node.inner] if node.has_text else [])]
        for start, end in spans:
            value = float(node.document.text[start:end])
            if value:
                yield node.document.edit(start, end, number(share * value))
