"""Loops in words of several formats: Drake's constraints, Gazebo's plugins, frames as marks."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby, zip_longest
from typing import TypeAlias

import numpy as np

from regularize.adapters.common.draft import Draft, Side, joint_between
from regularize.adapters.common.xml import Node
from regularize.errors import RegularizeError
from regularize.escape import listed
from regularize.lie.arrays import Array, Transform
from regularize.lie.screw import IDENTITY, transform
from regularize.mechanism.body import Body
from regularize.mechanism.graph import DisjointSets
from regularize.mechanism.joint import Joint
from regularize.words import pasted

#: How near frames have to be, as a part of the model's size, and their axes, as a sine.
NEAR = 1e-5
#: How far apart frames can be that only their names pair, as a part of the model's size.
APART = 0.1
#: Most frames that are compared.
MOST = 400
KINDS = {"ball": "spherical", "hinge": "revolute", "weld": "fixed"}
_TOKENS = re.compile(r"\d+|[A-Za-z]+|[^A-Za-z\d]+")
#: What stands for the name of a frame's own body: frames of mates are called ``crank_pin``.
BODY = "{body}"
#: How many words the names of two frames differ in at most.
WORDS = 2
Lines = Callable[[str, str, bool], tuple[str, ...]]
#: Body and pose there, by the name of the frame.
Marks: TypeAlias = Mapping[str, tuple[str, Transform]]
NONE: Marks = {}


class MarkedFrames:
    """Frames that may mark loops: marks, and bodies at ends of branches, fixed and without mass."""

    def __init__(self, draft: Draft, pose: Callable[[str], Transform], marks: Marks) -> None:
        """Take a model whose bodies ``pose`` places where all coordinates are as the file says."""
        self.draft = draft
        joints = list(draft.joints.values())
        self.carriers = {j.child: j.parent for j in joints if j.kind == "fixed" and not j.closure}
        movable = {j.child for j in joints if j.kind != "fixed" or j.closure}
        ends = self.carriers.keys() - {j.parent for j in joints} - movable
        frames = [body.name for body in _light(draft) if body.name in ends]
        self.owners: Marks = {**{name: (name, IDENTITY) for name in frames}, **marks}
        if len(self.owners) < 2:
            self.owners = {}
        self.places = {name: pose(body) @ T for name, (body, T) in self.owners.items()}
        self.size = 0.0  # of the model, in metres
        if self.owners:
            points = np.array([pose(name)[:3, 3] for name in draft.bodies])
            self.size = max(float(np.max(np.ptp(points, axis=0))), 1e-3)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Frame names with ``{body}`` for their body's name where that begins or ends them."""
        aliases = {}
        for name, (body, _) in self.owners.items():
            body, aliases[name] = self.carriers[body] if body == name else body, name
            after, before = name.removeprefix(body), name.removesuffix(body)
            if after and after != name and not after[0].isalnum():
                aliases[name] = BODY + after
            elif before and before != name and not before[-1].isalnum():
                aliases[name] = before + BODY
        return aliases

    def mate(self, first: str, second: str) -> str | None:
        """Return the pattern ``{body}_*={body}_*`` of two frames with the same alias, else None."""
        alias = self.aliases[first]
        if alias != self.aliases[second]:
            return None
        at = len(BODY)
        stem = f"{alias[: at + 1]}*" if alias.startswith(BODY) else f"*{alias[-at - 1 :]}"
        return f"{stem}={stem}"

    def gap(self, first: str, second: str) -> float:
        """Return the distance of two frames in metres."""
        return float(np.linalg.norm(self.places[first][:3, 3] - self.places[second][:3, 3]))

    def coaxial(self, first: str, second: str) -> bool:
        """Return whether the Z axes of two frames have one direction."""
        across = np.cross(self.places[first][:3, 2], self.places[second][:3, 2])
        return bool(np.linalg.norm(across) <= NEAR)

    def open_pairs(self) -> Iterator[tuple[str, str]]:
        """Yield pairs of frames on connected bodies that no single joint joins directly."""
        joints, rigid = list(self.draft.joints.values()), DisjointSets(self.draft.bodies)
        for joint in joints:
            if joint.kind == "fixed" and not joint.closure:
                rigid.union(joint.parent, joint.child)
        movable = (j for j in joints if j.kind != "fixed" or j.closure)
        joined = {frozenset((rigid[j.parent], rigid[j.child])) for j in movable}
        connected = self.draft.connected()
        for first, second in combinations(self.places, 2):
            ends = [self.owners[name][0] for name in (first, second)]
            pair = frozenset(rigid[body] for body in ends)
            if len(pair) == 2 and pair not in joined and connected[ends[0]] == connected[ends[1]]:
                yield first, second

    def coincident(self) -> list[tuple[str, str]]:
        """Return the open pairs whose two frames, and no third one, are at one place."""
        near = NEAR * self.size
        return [
            (first, second)
            for first, second in self.open_pairs()
            if self.gap(first, second) <= near
            and [first, second] == [name for name in self.places if self.gap(name, first) <= near]
        ]

    def named_pairs(self, pattern: str) -> list[tuple[str, str]]:
        """Return open pairs whose names match both halves of a pattern, ``*`` alike in both."""
        first, _, second = pattern.partition("=")
        fits = re.compile("(.*)".join(map(re.escape, first.split("*"))))
        if BODY in pattern:
            aliases = self.aliases
            twice = {name for name, count in Counter(aliases.values()).items() if count == 2}
            return [
                (one, other)
                for one, other in self.open_pairs()
                if aliases[one] == aliases[other]
                and aliases[one] in twice
                and fits.fullmatch(aliases[one])
            ]
        pairs, opened = [], {frozenset(pair) for pair in self.open_pairs()}
        for one in self.places:
            match = fits.fullmatch(one)
            if match is None:
                continue
            pieces = zip_longest(second.split("*"), match.groups(), fillvalue="")
            other = "".join(f"{text}{group}" for text, group in pieces)
            if frozenset((one, other)) in opened and other in self.places:
                pairs.append((one, other))
        return pairs


def report_loop_candidates(
    draft: Draft, pose: Callable[[str], Transform], lines: Lines, marks: Marks = NONE
) -> None:
    """Offer (REG019) to close loops at coincident frames by the elements of ``lines``."""
    frames = MarkedFrames(draft, pose, marks)
    if not 2 <= len(frames.places) <= MOST:
        return
    pairs = frames.coincident()
    patterns = [frames.mate(*pair) or pattern_of(*pair) for pair in pairs]
    counted = Counter(pattern for pattern in patterns if pattern)
    for common in (pattern for pattern, count in counted.items() if count > 1):
        named = [p for p, pattern in zip(pairs, patterns, strict=True) if pattern == common]
        _offer_all(frames, common, named, lines)
    for (one, other), pattern in zip(pairs, patterns, strict=True):
        if pattern and counted[pattern] > 1:
            continue
        axis = frames.coaxial(one, other)
        at = " with a common axis Z" if axis else ""
        names = f"{one}={other}:{'hinge' if axis else 'ball'}"
        draft.note(
            "REG019",
            f"the frames `{one}` and `{other}` on different branches lie in one place{at}: "
            "they may mark a loop, which the file does not close",
            draft.bodies[frames.owners[other][0]].source,
            *lines(one, other, axis),
            *_command(draft, names, "try it"),
        )


def _offer_all(
    frames: MarkedFrames, pattern: str, coincident: list[tuple[str, str]], lines: Lines
) -> None:
    """Add one note for all pairs of frames that one name pattern pairs."""
    draft, pairs = frames.draft, frames.named_pairs(pattern)
    pairs = [p for p in pairs if p in coincident or frames.gap(*p) <= APART * frames.size]
    kind = "hinge" if all(frames.coaxial(*pair) for pair in coincident) else "ball"
    gaps = [
        f"{one}` and `{other}`: {1e3 * frames.gap(one, other):.3g} mm"
        for one, other in pairs
        if frames.gap(one, other) > NEAR * frames.size
    ]
    apart = f"; saved apart: `{', `'.join(gaps)}" if gaps else ""
    draft.note(
        "REG019",
        f"{len(pairs)} pairs of frames are named alike, `{pattern.replace('=', '` and `')}`, on "
        f"different branches, {len(coincident)} of them in one place: they may mark loops, which "
        f"the file does not close: {listed([one for one, _ in pairs], len(pairs))}{apart}",
        draft.bodies[frames.owners[pairs[0][1]][0]].source,
        *_command(draft, f"{pattern}:{kind}", "close all"),
        *(f"or write for each {line}" for line in lines(*pairs[0], kind == "hinge")),
    )


def _command(draft: Draft, names: str, words: str) -> Iterator[str]:
    """Yield the command that closes the loops, where the model is a file."""
    if draft.path is not None and os.path.isfile(draft.path):
        yield f"{words}: {pasted(['regularize', 'check', draft.path, '--close', names])}"


def pattern_of(one: str, other: str) -> str | None:
    """Return the pattern ``*_1=*_2`` of two names that differ in at most two words; else None."""
    words = [_TOKENS.findall(name) for name in (one, other)]
    different = {k for k, (a, b) in enumerate(zip_longest(*words)) if a != b}
    if not 1 <= len(different) <= WORDS or len(words[0]) != len(words[1]):
        return None
    different |= {k - 1 for k in different if k and not words[0][k - 1].isalnum()}
    shown = ([w if k in different else "*" for k, w in enumerate(name)] for name in words)
    return "=".join("".join(w for w, _ in groupby(name)) for name in shown)


def close_named(
    draft: Draft, pose: Callable[[str], Transform], asked: str, marks: Marks = NONE
) -> list[Joint]:
    """Close loops between frames that a text names, as ``*_1=*_2:hinge``; return their joints."""
    pattern, _, kind = asked.rpartition(":")
    if not pattern or pattern.endswith(":"):  # names of nested models have :: in them
        pattern, kind = asked, ""
    if pattern.count("=") != 1 or (kind or "ball") not in KINDS:
        raise RegularizeError(
            f"close {asked!r}: expected the names of two frames with * for what they share and a "
            "kind of joint, as '*_1=*_2:ball', ':hinge' or ':weld'"
        )
    frames, added = MarkedFrames(draft, pose, marks), []
    pairs = frames.named_pairs(pattern)
    if not pairs:
        raise RegularizeError(
            f"close {asked!r}: no two frames on different branches are named so; there are "
            f"{listed(list(frames.places)) or 'no frames without mass at the ends of branches'}"
        )
    for one, other in pairs:
        ends = frames.owners[one], frames.owners[other]
        name, source = draft.joint_name(f"{one}-{other}"), draft.bodies[ends[0][0]].source
        closing = joint_between(name, KINDS[kind or "ball"], *ends, closure=True, source=source)
        draft.joints[name] = closing
        added.append(closing)
    return added


def _light(draft: Draft) -> list[Body]:
    """Return the bodies without shapes and with a negligible mass: mere frames."""
    masses = [body.inertia.mass for body in draft.bodies.values() if body.inertia is not None]
    light = 1e-3 * max(masses, default=0.0)
    return [
        body
        for body in draft.bodies.values()
        if not body.geometry and (body.inertia is None or body.inertia.mass <= light)
    ]


PREFIX = "drake:"
DRAKE = tuple(f"{PREFIX}{kind}_constraint" for kind in ("ball", "weld", "distance"))
POINTS = (("body_A", "p_AP"), ("body_B", "p_BQ"))
#: Elements that name the two links and the model of the second one, by plugin; and how it works.
PLUGINS = {
    "DetachableJoint": (
        ("parent_link", "child_link", "child_model"),
        "until a message on its detach topic",
    ),
    "AttachLinks": (("parent", "child", None), "for good"),
}


def read_drake(
    node: Node,
    draft: Draft,
    named: Callable[[Node], Side],
    between: Callable[[str, str, Node], Array],
    attribute: str | None,
) -> None:
    """Add the closing joint of an element of ``DRAKE``, whose numbers are an attribute or text."""
    if node.tag == DRAKE[1]:
        first, second = (named(_end(node, tag)) for tag in ("parent", "child"))
        draft.close(node, node.get("name"), "fixed", first, second)
        return
    ends = []
    for body, point in POINTS:
        link, T = named(node.need(f"{node.tag}_{body}"))
        place = node.need(f"{node.tag}_{point}").numbers(attribute, 3)
        ends.append((link, T @ transform(translation=place)))
    first, second = ends
    if node.tag == DRAKE[0]:
        draft.close(node, node.get("name"), "spherical", first, second)
        return
    from regularize.adapters.common.pairs import distance_joint  # the last kind, which few write

    length = node.need(f"{node.tag}_distance").number(attribute)
    T = between(first[0], second[0], node)
    name = node.get("name") or draft.joint_name(f"{first[0]}-{second[0]}")
    draft.add_joint(distance_joint(name, first, second, T, length, node.source), node)


def _end(node: Node, tag: str) -> Node:
    end = node.child(tag, f"{PREFIX}{tag}")
    if end is None:
        raise node.error(f"<{node.tag}> has no <{tag}>; name the two frames that it welds")
    return end


@dataclass(frozen=True, eq=False)
class Attachment:
    """A Gazebo plugin that joins two links rigidly."""

    node: Node
    kind: str  # a key of ``PLUGINS``
    first: str  # name of one link, in the model that has the plugin
    second: str  # name of the other link
    model: str | None  # of the other link; None for the same one

    @classmethod
    def of(cls, node: Node, draft: Draft) -> Attachment | None:
        """Read a ``<plugin>`` that joins links; report and return None for one of joints."""
        words = f"{node.get('name') or ''} {node.get('filename') or ''}"
        plain = words.replace("-", "").replace("_", "").lower()
        kind = next((kind for kind in PLUGINS if kind.lower() in plain), None)
        if kind is None:
            title = f"the plugin `{node.get('name') or node.get('filename')}`"
            if "mimic" in plain:
                draft.unread(f"{title} couples joints and is not read", node.source)
            elif any("joint" in element.tag.lower() for element in node.walk()):
                draft.skip(f"{title} acts on joints and is not read", node.source)
            return None
        (first, second, model), _ = PLUGINS[kind]
        named = node.child(model) if model else None
        first, second = node.need(first).text(), node.need(second).text()
        return cls(node, kind, first, second, None if named is None else named.text())

    def close(
        self,
        draft: Draft,
        first: Iterable[str],
        second: Iterable[str],
        between: Callable[[str, str], Array],
    ) -> None:
        """Weld the first links of two lists that the draft has; report what is missing."""
        one = next((name for name in first if name in draft.bodies), None)
        other = next((name for name in second if name in draft.bodies), None)
        if one is None or other is None:
            absent = self.first if one is None else self.second
            of = f" of the model `{self.model}`" if self.model and one is not None else ""
            draft.unread(
                f"the plugin {self.kind} joins the link `{absent}`{of}, which is not in the file: "
                "not read",
                self.node.source,
            )
            return
        connected = draft.connected()
        loop = connected[one] == connected[other]
        name = draft.joint_name(f"{one}-{other}")
        ends = (one, between(one, other)), (other, IDENTITY)
        draft.close(self.node, name, "fixed", *ends, closure=loop)
        how, help = PLUGINS[self.kind][1], list[str]()
        if self.model:
            help = [f"start the model under the name `{self.model}`, which the plugin looks for"]
        draft.note(
            "REG015",
            f"the plugin {self.kind} welds `{one}` and `{other}` together when a simulation "
            f"starts, as they stand then, {how}: read as the "
            f"{'closure' if loop else 'fixed joint'} `{name}`",
            self.node.source,
            *help,
            joints=(name,),
        )
