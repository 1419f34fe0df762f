"""SDF files, versions 1.0 to 1.12, with loops as links that are the child of several joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from regularize.adapters.common.draft import WORLD, Side
from regularize.adapters.common.input_files import Packages
from regularize.adapters.common.links import Color, read_inertia, read_shapes
from regularize.adapters.common.loops import (
    DRAKE,
    Attachment,
    close_named,
    read_drake,
    report_loop_candidates,
)
from regularize.adapters.common.xml import Node, is_true, parse
from regularize.adapters.sdf.draft import MODEL, Frame, Scope, SdfDraft, pose_of, relative_to
from regularize.adapters.sdf.joint import read_joints, read_planar
from regularize.escape import listed
from regularize.lie.screw import IDENTITY, inverse
from regularize.mechanism.body import Body, Inertia
from regularize.mechanism.graph import DisjointSets
from regularize.mechanism.mechanism import STANDARD_GRAVITY, Mechanism

NEWEST = (1, 12)
WORLD_GRAVITY = (0.0, 0.0, -9.8)  # SDF's own default for a world


def read(path: str, *, close: str | None = None) -> Mechanism:
    """Read an SDF file."""
    root = parse(path, "sdf")
    worlds, models = root.children("world"), root.children("model")
    named = worlds[0] if worlds else models[0] if models else root
    draft = SdfDraft(path, named.get("name") or Path(path).stem)
    draft.version = _version(root, draft)
    draft.add_body(Body(WORLD, source=root.source), root)
    reader = ModelReader(draft)
    if worlds:
        reader.add_world(worlds[0])
    elif len(models) == 1:
        reader.add_model(models[0], Scope("", WORLD), "", 0, (path,))
    elif models or root.children("include"):
        reader.add_world(root)
    else:
        raise root.error("has no <model> and no <world>; a file needs one of them")
    for place in reader.pending:
        place()
    read_joints(draft)
    between = draft.frames.relative
    for node, scope in reader.constraints:
        side = partial(draft.side, scope=scope)
        if node.tag == "drake:joint":
            read_planar(draft, node, scope)
            continue
        read_drake(node, draft, side, lambda one, other, _: between(one, other), None)
    reader.fix_static()
    reader.attach()
    for name in draft.frames.entries:  # a circle of frames that nothing uses is an error too
        draft.frames.pose(draft.frames.body(name))
        draft.frames.pose(name)
    marks = _unused_frames(draft, reader)
    if close is not None:
        close_named(draft, draft.frames.pose, close, marks)
    _mark_closures(draft)
    report_loop_candidates(draft, draft.frames.pose, _closing_lines, marks)
    draft.ground_parts(draft.frames.pose, bases=(*draft.bases, *draft.bodies), usual=True)
    for other in worlds[1:]:
        draft.warn("REG013", "only the first <world> is read", other.source)
    if reader.silent:
        draft.note(
            "REG014",
            f"no mass properties: {listed(reader.silent)}; SDF would take 1 kg and 1 kg m²",
            draft.bodies[reader.silent[0]].source,
            "write an <inertial> with <mass> and <inertia>",
        )
    draft.report_ignored()
    gravity = worlds[0].filled("gravity") if worlds else None
    usual = np.array(WORLD_GRAVITY) if worlds else STANDARD_GRAVITY
    return draft.mechanism("sdf", usual if gravity is None else gravity.numbers(None, 3))


def _unused_frames(draft: SdfDraft, reader: ModelReader) -> dict[str, Side]:
    """Return link and pose of each frame that no joint and no other frame refers to."""
    frames = draft.frames
    used = {n for e in frames.entries.values() for n in (e.relative_to, e.attached_to)}
    for joint in draft.elements:
        used |= {joint.scope.full(joint.node.need(end).text()) for end in ("parent", "child")}
    for node, scope in reader.constraints:
        used |= {scope.full(end.text()) for end in node.children("drake:parent", "drake:child")}
    names = [n for n, e in frames.entries.items() if e.node.tag == "frame" and n not in used]
    bodies = {name: frames.body(name) for name in names}
    return {name: (body, frames.relative(body, name)) for name, body in bodies.items()}


def _closing_lines(first: str, second: str, axis: bool) -> tuple[str, ...]:
    """Return words and SDF elements that close a loop between two coinciding links."""
    (model, _, inner), (other_model, _, other_inner) = (n.rpartition("::") for n in (first, second))
    if model == other_model:  # names as they are used in their model
        first, second = inner, other_inner
    kinds = {"a hinge about their axis Z": "revolute"} if axis else {}
    lines = []
    for words, kind in {**kinds, "a ball joint": "ball"}.items():
        inner = "<axis><xyz>0 0 1</xyz></axis>" if kind == "revolute" else ""
        lines.append(
            f'{words}: <joint name="{first}-{second}" type="{kind}"><parent>{first}</parent>'
            f"<child>{second}</child>{inner}</joint>"
        )
    return tuple(lines)


def _version(root: Node, draft: SdfDraft) -> tuple[int, int]:
    words = root.text("version").split(".")
    if len(words) < 2 or words[0] != "1" or not words[1].isdigit():
        reason = f"version {root.get('version')!r} is unknown; versions 1.0 to 1.12 are read"
        raise root.error(reason)
    version = (1, int(words[1]))
    if version > NEWEST:
        draft.skip(
            f"version {root.get('version')} is newer than those known (1.12): read as 1.12",
            root.source,
        )
    return version


def _mark_closures(draft: SdfDraft) -> None:
    """Mark joints between bodies that earlier joints have already joined as closures."""
    joined = DisjointSets(draft.bodies)
    joints = [*draft.joints.values()]
    for joint in sorted(joints, key=lambda j: (j.closure, j.kind != "fixed")):
        if joined[joint.parent] == joined[joint.child] and joint.kind != "fixed":
            draft.joints[joint.name] = replace(joint, closure=True)
        joined.union(joint.parent, joint.child)


DEPTH = 30  # models inside models
MODELS = 2_000  # of all includes: each may include two more
#: Elements that join links and are not read.
UNREAD = ("drake:linear_bushing_rpy", "drake:tendon_constraint")
QUIET = frozenset(
    {
        *("pose", "static", "self_collide", "allow_auto_disable", "enable_wind"),
        *("gripper", "joint", "link", "frame", "model", "include", "gravity", "physics", "scene"),
        *("light", "atmosphere", "magnetic_field", "spherical_coordinates", "state", "gui"),
        *("audio", "wind", "road", "population", "actor", "drake:collision_filter_group"),
        *("name", "uri", "placement_frame"),
    }
)
#: Density in kg/m³ that SDF states for links with <inertial auto="true"> that give none.
WATER = 1000.0


@dataclass(eq=False)
class ModelReader:
    """Reader of worlds and models into a draft; keeps what is resolved after all are read."""

    draft: SdfDraft
    #: Drake's constraints and joints.
    constraints: list[tuple[Node, Scope]] = field(default_factory=list)
    #: Full names of links that state no mass properties, and of those of static models.
    silent: list[str] = field(default_factory=list)
    static: list[str] = field(default_factory=list)
    #: Plugins that join two links.
    attachments: list[tuple[Attachment, Scope]] = field(default_factory=list)
    #: What places the models whose pose is that of one of their frames.
    pending: list[Callable[[], None]] = field(default_factory=list)
    _parsed: dict[str, Node] = field(default_factory=dict)
    _models: int = 0

    def add_world(self, node: Node) -> None:
        """Read the models of a ``<world>``."""
        scope = Scope("", WORLD)
        self._add_inner(node, scope, 0, (node.path,))
        self._add_members(node, scope)

    def _add_inner(self, node: Node, scope: Scope, depth: int, path: tuple[str, ...]) -> None:
        """Read the models inside an element, written there or included."""
        for model in node.children("model", "include"):
            if model.tag == "include":
                self._include(model, scope, depth, path)
            else:
                prefix = f"{scope.prefix}{model.text('name')}::"
                self.add_model(model, scope, prefix, depth, path)

    def _include(self, node: Node, outer: Scope, depth: int, path: tuple[str, ...]) -> None:
        uri = node.need("uri").text()
        file = find_included(uri, node.path)
        if file is None:
            self.draft.unread(
                f"the included model `{uri}` is not found beside the file: not read",
                node.source,
                "copy it beside the file, or include it by a path",
            )
            return
        if file in path:
            raise node.error(f"includes `{uri}`, which includes itself; break the circle")
        self.draft.files.append(file)
        if file not in self._parsed:
            self._parsed[file] = parse(file)
        model = self._parsed[file].child("model")
        if model is None:
            raise node.error(f"the included file {file} has no <model>; include another one")
        renamed = node.child("name")
        name = model.text("name") if renamed is None else renamed.text()
        merged = is_true(node.get("merge"))
        prefix = outer.prefix if merged else f"{outer.prefix}{name}::"
        self.add_model(model, outer, prefix, depth, (*path, file), by=node, merged=merged)

    def add_model(
        self,
        node: Node,
        outer: Scope,
        prefix: str,
        depth: int,
        path: tuple[str, ...],
        *,
        by: Node | None = None,
        merged: bool = False,
    ) -> None:
        """Read a ``<model>``; ``by`` is the ``<include>`` that asks for it."""
        if depth > DEPTH:
            raise node.error(f"models are nested more than {DEPTH} deep; flatten the file")
        self._models += 1
        if self._models > MODELS:
            raise node.error(f"the file comes to more than {MODELS} models; include fewer")
        own = f"_merged_{len(self.draft.files)}" if merged else ""
        frame = f"{prefix}{own}{MODEL}"
        scope = Scope(prefix, frame)
        posed = by if by is not None and by.child("pose") is not None else node
        pose = posed.child("pose")
        before = len(self.draft.bodies)
        entry = Frame(pose_of(pose), relative_to(pose, outer, outer.frame), None, node)
        self.draft.frames.add(frame, entry, taken="model")
        if prefix and not merged:
            # The name of a nested model is that of its frame.
            alias = Frame(IDENTITY, frame, frame, node)
            self.draft.frames.add(prefix.removesuffix("::"), alias, taken="model")
        self._add_members(node, scope)
        self._add_inner(node, scope, depth + 1, path)
        links = [*self.draft.bodies][before:]
        if not links:
            raise node.error("the model has no <link>; a model needs at least one")
        canonical = node.get("canonical_link")
        carrier = scope.full(canonical) if canonical else links[0]
        self.draft.frames.known(carrier, node)
        self.draft.frames.entries[frame] = Frame(entry.T, entry.relative_to, carrier, node)
        if depth == 0:
            self.draft.bases.append(carrier)
        static = node if by is None or by.child("static") is None else by
        if static.says("static"):
            self.static += links
        placed = (by or node).get("placement_frame") or node.get("placement_frame")
        if by is not None and by.child("placement_frame") is not None:
            placed = by.need("placement_frame").text()
        if placed:
            self.pending.append(lambda: self._place(frame, scope.full(placed), node))

    def _place(self, frame: str, placed: str, node: Node) -> None:
        """Move a model so that its placement frame, not its own frame, has the pose given."""
        frames = self.draft.frames
        frames.known(placed, node)
        entry = frames.entries[frame]
        T = entry.T @ inverse(frames.relative(frame, placed))
        frames.poses = {WORLD: IDENTITY}
        frames.entries[frame] = Frame(T, entry.relative_to, entry.attached_to, node)

    def _add_members(self, node: Node, scope: Scope) -> None:
        """Read a model's or world's own links, frames, joints and plugins, not models in it."""
        frames = self.draft.frames
        for link in node.children("link"):
            name, pose = scope.full(link.text("name")), link.child("pose")
            entry = Frame(pose_of(pose), relative_to(pose, scope, scope.frame), None, link)
            frames.add(name, entry)
            self._add_link(link, name)
        for inner in node.children("frame"):
            self.draft.add_frame(inner, scope)
        for joint in node.children("joint"):
            self.draft.declare(joint, scope)
        for element in node.children():
            if element.tag in (*DRAKE, "drake:joint"):
                self.constraints.append((element, scope))
            elif element.tag in UNREAD:
                self.draft.unread(
                    f"<{element.tag}> joins links but is not read: the mechanism has fewer joints "
                    "than the file",
                    element.source,
                )
            elif element.tag == "plugin":
                attachment = Attachment.of(element, self.draft)
                self.attachments += [] if attachment is None else [(attachment, scope)]
            elif element.tag not in QUIET:
                self.draft.ignore(element.tag, element)

    def attach(self) -> None:
        """Add the welds of plugins, whose second link may be in another model."""
        for plugin, scope in self.attachments:
            second = [scope.full(plugin.second)]
            if plugin.model is not None:
                second.insert(0, f"{plugin.model}::{plugin.second}")
            first = [scope.full(plugin.first)]
            plugin.close(self.draft, first, second, self.draft.frames.relative)

    def _add_link(self, node: Node, name: str) -> None:
        """Add a ``<link>`` as a body."""
        self.draft.report_repeated(node, name, "inertial", "pose")
        inertial = node.child("inertial")
        inertia = _inertia(inertial)
        computed = inertial is not None and is_true(inertial.get("auto"))
        if inertia is None and not computed:
            self.silent.append(name)
        shapes = read_shapes(
            node,
            self.draft,
            lambda shape: pose_of(shape.child("pose")),
            lambda mesh: mesh.need("uri").text(),
            _color,
            lambda shape: _density(shape, inertial) if computed else None,
            _friction,
        )
        self.draft.add_body(Body(name, inertia, shapes, node.source), node)

    def fix_static(self) -> None:
        """Fix the links of static models to the world."""
        joined = {joint.child for joint in self.draft.joints.values() if joint.kind == "fixed"}
        for name in (name for name in self.static if name not in joined):
            frames = self.draft.frames
            source = frames.entries[name].node.source
            self.draft.hold(f"{name}_static", name, frames.pose(name), source)


def find_included(uri: str, path: str) -> str | None:
    """Return the SDF file that a URI names: near the including file, or in a package."""
    name = unquote(uri.split("://", 1)[-1])
    folder, (package, _, inside) = Path(path).parent, name.partition("/")
    targets = [base / name for base in (folder, *folder.resolve().parents[:3])]
    if not any(target.exists() for target in targets) and "://" in uri:
        folder_of_package = Packages(Path(path)).find(package)
        targets += [] if folder_of_package is None else [folder_of_package / inside]
    for target in targets:
        candidates = [target, target / "model.sdf", *sorted(target.glob("*.sdf"))]
        for candidate in candidates:
            if candidate.is_file() and candidate.suffix in (".sdf", ".world", ".xml"):
                return str(candidate)
    return None


def _friction(shape: Node) -> float | None:
    """Return the coefficient of friction of a ``<collision>``, from ODE's or Bullet's element."""
    ode = shape.filled("surface", "friction", "ode", "mu")
    coefficient = ode or shape.filled("surface", "friction", "bullet", "friction")
    return None if coefficient is None else coefficient.number(None)


def _density(shape: Node, inertial: Node | None) -> float | None:
    """Return the density for computed mass properties: the shape's, the link's, or water's."""
    if shape.tag != "collision":
        return None
    density = shape.filled("density") or (inertial and inertial.filled("density"))
    return WATER if density is None else density.number(None)


def _inertia(node: Node | None) -> Inertia | None:
    """Read mass properties in the axes of the link; None where mass or inertia is not given."""
    if node is None or is_true(node.get("auto")):
        return None
    mass, inertia = node.filled("mass"), node.child("inertia")
    if mass is None or inertia is None:
        return None
    return read_inertia(mass.number(None), inertia, pose_of(node.child("pose")), 0.0)


def _color(visual: Node) -> Color | None:
    material = visual.child("material")
    color = None if material is None else material.child("diffuse", "ambient")
    if color is None:
        return None
    count = 3 if len(color.text().split()) == 3 else 4
    red, green, blue, opacity = (float(v) for v in [*color.numbers(None, count), 1.0][:4])
    return red, green, blue, opacity
