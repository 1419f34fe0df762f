"""The owner's XML file with elements changed, moved or added: all else stays as it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lxml import etree

from regularize.adapters.common.edits import EditedText, quoteattr
from regularize.adapters.common.patching import XmlPatcher, led_back
from regularize.adapters.common.write import reference_poses, spanning
from regularize.adapters.common.xml import Node
from regularize.lie.arrays import Transform
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic, Severity
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism

#: What a mechanism says of where it was read from, and what a joint joins, where and how.
READ = ("source", "findings", "path", "files", "format", "digits", "reading")
FRAMES = ("kind", "parent", "child", "closure", "T_parent_joint", "T_child_joint", "screws")


class Rewritten(NamedTuple):
    """A model file made of the owner's."""

    data: bytes
    findings: tuple[Diagnostic, ...]
    options: Mapping[str, Any]  # of the reader that is to read it back


@dataclass(eq=False)
class Rewriting:
    """Changes of an XML tree that are rendered into one text."""

    root: Node
    included: dict[Node, Node] = field(default_factory=dict)  # roots by the elements that include
    attributes: dict[Node, dict[str, str | None]] = field(default_factory=dict)  # None: taken away
    removed: set[Node] = field(default_factory=set)
    #: Elements that come last in others, each of texts and of elements that move there.
    added: dict[Node, list[tuple[str | Node, ...]]] = field(default_factory=dict)
    fresh: dict[str, list[str]] = field(default_factory=dict)  # elements of new sections

    def children(self, node: Node) -> Iterator[Node]:
        """Yield the elements inside of one, those of included files in their place."""
        for child in node.nodes:
            if child in self.included:
                yield from self.children(self.included[child])
            else:
                yield child

    def walk(self, node: Node) -> Iterator[Node]:
        """Yield an element and all below it, in the order of the file."""
        yield node
        for child in self.children(node):
            yield from self.walk(child)

    def holder(self, node: Node) -> Node | None:
        """Return the element around one; for the root of an included file, around the include."""
        parent = node.parent
        if parent is not None and parent.parent is None and parent is not self.root:
            place = next(place for place, root in self.included.items() if root is parent)
            return self.holder(place)
        return parent

    def above(self, node: Node) -> Iterator[Node]:
        """Yield the elements around one, the nearest first."""
        place = self.holder(node)
        while place is not None:
            yield place
            place = self.holder(place)

    def change(self, node: Node, **values: str | None) -> None:
        """Give attributes other values; None takes one away."""
        self.attributes.setdefault(node, {}).update(values)

    def add(self, node: Node, *parts: str | Node) -> None:
        """Add an element, made of texts and elements that move there, at the end of another one."""
        self.added.setdefault(node, []).append(parts)

    def put(self, tag: str, text: str) -> None:
        """Add an element to the last section of a tag, or to a new one."""
        if found := self.sections(tag):
            self.add(found[-1], text)
        else:
            self.fresh.setdefault(tag, []).append(text)

    def sections(self, tag: str) -> list[Node]:
        """Return the sections of a tag below the root."""
        return [node for node in self.children(self.root) if node.tag == tag]

    def elements(self, section: str) -> Iterator[Node]:
        """Yield the elements of all sections of a tag."""
        for node in self.sections(section):
            yield from self.children(node)

    def inside(self, body: Node, *tags: str) -> Iterator[Node]:
        """Yield the elements of some tags in a body, those in its frames included."""
        for child in self.children(body):
            if child.tag in tags:
                yield child
            elif child.tag == "frame":
                yield from self.inside(child, *tags)

    def below(self, node: Node) -> Iterator[Node]:
        """Yield the bodies below an element, depth first."""
        for body in self.inside(node, "body"):
            yield body
            yield from self.below(body)

    def render(self, node: Node) -> str:
        """Return the text of an element after the changes, even if it is taken from its place."""
        if node in self.included:
            return self._inner(self.included[node])
        inner, text = self._inner(node), node.document.text
        start = self._start(node)
        if node.closing < node.end:
            return start + inner + text[node.closing : node.end]
        return f"{start.removesuffix('/>').rstrip()}>{inner}</{node.tag}>" if inner else start

    def _start(self, node: Node) -> str:
        """Return the start tag of an element with its changed attributes."""
        edits = []
        for name, value in self.attributes.get(node, {}).items():
            if value is not None:
                edits.append(node.with_attribute(name, value))
            elif name in node.spans:
                edits.append(node.without_attribute(name))
        source = node.document.source
        grown = source.with_edits(edits).text
        return grown[node.start : node.opened + len(grown) - len(source.text)]

    def _inner(self, node: Node) -> str:
        """Return what stands between the tags of an element after the changes."""
        text, pieces, last = node.document.text, list[str](), node.opened
        for child in node.nodes:
            gap = text[last : child.start]
            gone = child in self.removed
            pieces += [gap.rstrip() if gone else gap, "" if gone else self.render(child)]
            last = child.end
        tail = text[last : node.closing]
        new = self.added.get(node, [])
        if new:
            kept = tail.rstrip()
            pieces.append(kept)
            for parts in new:
                texts = [part if isinstance(part, str) else self.render(part) for part in parts]
                pieces.append(node.gap + "  " + "".join(texts))
            tail = tail[len(kept) :] or node.gap
        return "".join([*pieces, tail])

    def text(self, patcher: XmlPatcher, folder: Path) -> EditedText:
        """Return the whole file, its references led back from a folder to where they led."""
        source = self.root.document.source
        for tag, texts in self.fresh.items():
            self.add(self.root, element(tag, {}, texts))
        before, after = source.text[: self.root.start], source.text[self.root.end :]
        whole = replace(source, text=before + self.render(self.root) + after)
        old = Path(patcher.path).parent
        return whole.with_edits(led_back(whole, patcher.references(whole), old, folder))


class ChangedFile(Rewriting):
    """Changes of the owner's file that make another mechanism of it."""

    def __init__(self, target: str, patcher: Any, after: Mechanism) -> None:
        super().__init__(patcher.document(patcher.path).root)
        self.target, self.patcher, self.after = target, patcher, after
        self.before: Mechanism = patcher.mechanism
        self.findings = list[Diagnostic]()
        self.old = {joint.name: joint for joint in self.before.joints}
        self.old_bodies = {body.name: body for body in self.before.bodies}
        #: Joints that are new, or that join other bodies, elsewhere or in another way.
        self.changed = {
            joint.name: joint
            for joint in after.joints
            if joint.name not in self.old or frames(joint) != frames(self.old[joint.name])
        }

    @cached_property
    def poses(self) -> list[dict[str, Transform]]:
        """World poses of bodies before and after."""
        models = self.before, self.after
        return [reference_poses(model, spanning(model).tree) for model in models]

    def heir(self, name: str, above: Iterable[str]) -> str:
        """Return the body with the shapes of one that goes, else the nearest above that stays."""
        before, after = self.poses
        for shape in self.old_bodies[name].geometry:
            for body in self.after.bodies:
                old = self.old_bodies.get(body.name)
                for other in body.geometry[0 if old is None else len(old.geometry) :]:
                    if _alike(shape, before[name], other, after[body.name]):
                        return body.name
        return next(body for body in above if body in after)

    def remassed(self, name: str) -> bool:
        """Return whether a body of the owner's file has other mass properties now."""
        was, now = self.old_bodies[name].inertia, self.after.body(name).inertia
        return bool(plain(was) != plain(now))

    def stays(self, node: Node, severity: Severity = "warning") -> None:
        """Report an element of the owner's file that is not in the new one."""
        name = node.get("name") or node.get("objname") or node.get("joint")
        message = f"{self.target}: <{node.tag}>{f' `{name}`' if name else ''} stays behind in "
        message += Path(node.path).name
        self.findings.append(Diagnostic("REG329", severity, message, source=node.source))


def plain(value: Any) -> Any:
    """Return a value of mechanisms as lists that compare; where it was read from is left out."""
    if is_dataclass(value):
        names = [each.name for each in fields(value) if each.name not in READ]
        return [plain(getattr(value, name)) for name in names]
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def moved_joints(one: Mechanism, other: Mechanism) -> bool:
    """Return whether joints of the same name stand at other coordinates."""
    positions = {joint.name: joint.position for joint in one.joints}
    return any(
        joint.name in positions and not np.array_equal(joint.position, positions[joint.name])
        for joint in other.joints
    )


def frames(joint: Joint) -> list[Any]:
    """Return what a joint joins, where and how, as values that compare."""
    return [plain(getattr(joint, name)) for name in FRAMES]


def _alike(one: Geometry, pose: Transform, two: Geometry, other: Transform) -> bool:
    """Return whether two shapes of bodies at world poses are the same one."""
    return (
        (one.kind, one.uri) == (two.kind, two.uri)
        and np.array_equal(one.size, two.size)
        and np.allclose(pose @ one.T_body_geometry, other @ two.T_body_geometry, atol=1e-9)
    )


def element(tag: str, attributes: Mapping[str, str], inside: Iterable[str] = ()) -> str:
    """Return an element as text."""
    words = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    content = "\n".join(inside)
    return f"<{tag}{words}>\n{content}\n</{tag}>" if content else f"<{tag}{words}/>"


def text_of(new: Any) -> str:
    """Return an element that is written anew as text."""
    copy = deepcopy(new)
    copy.tail = None
    etree.indent(copy, space="  ")
    return str(etree.tostring(copy, encoding="unicode"))
