"""MJCF compiled by MuJoCo; meshes are opened only where they make up the mass of a body."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from regularize.adapters.common.edits import Edit
from regularize.adapters.common.input_files import read_bytes, replacement
from regularize.adapters.common.xml import Node, parse
from regularize.errors import ReadError
from regularize.escape import FileText, as_utf8, displayed, listed
from regularize.mechanism.diagnostic import Source

INCLUDES = 50  # files that one model may include
SECONDS = 60  # of the processor, for models that make others
#: Elements that make others or take models in, where MuJoCo can end the process.
MAKING = {"attach", "composite", "flexcomp"}
_STAND_IN = 1e-3  # size of what stands in for a mesh, metres
_MASSLESS = "mass and inertia of moving bodies"


#: A mesh that a geom shows, its file and its scale; None for a height field.
MeshShape = tuple[str, tuple[float, float, float]] | None


@dataclass(frozen=True, eq=False)
class Compiled:
    """An MJCF model after MuJoCo's compiler."""

    path: str  # the file as the user named it
    model: Any  # the ``mujoco.MjModel``; meshes are replaced by stand-ins
    meshes: dict[int, MeshShape] = field(default_factory=dict)  # of geoms by their numbers
    weighed: Any = None
    unknown: frozenset[int] = frozenset()
    texts: dict[tuple[str, str], Node] = field(default_factory=dict)  # elements by (tag, name)
    rows: tuple[Node, ...] = ()  # the elements of ``<equality>``, in file order
    files: tuple[str, ...] = ()  # further files that were read
    lost: tuple[str, ...] = ()  # features that were taken out before compiling, in words
    warnings: tuple[str, ...] = ()  # what MuJoCo warned of

    @property
    def unshaped(self) -> dict[int, str]:
        """Planes and height fields, which no mechanism holds, by geom number."""
        fields = {g: "hfield" for g, mesh in self.meshes.items() if mesh is None}
        planes = np.flatnonzero(self.model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)
        return {**{int(g): "plane" for g in planes}, **fields}

    def source(self, tag: str, name: str) -> Source:
        """Return the place of the element of a tag and name in the user's files."""
        node = self.texts.get((tag, name))
        return node.source if node else Source(self.path, None, FileText(f"{tag}[@name='{name}']"))


@contextmanager
def collected() -> Iterator[list[str]]:
    """Collect the warnings that MuJoCo gives within the context, in place of its log file."""
    said: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(said.append)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # those of the compiler
            yield said
    finally:
        mujoco.set_mju_user_warning(before)


def compiled(path: str) -> Compiled:
    """Compile an MJCF file."""
    root = parse(path, "mujoco")
    roots = [root, *_included(root, path)]
    attached = [each for top in roots for each in _attached(top, (path,))]
    for each in (*roots, *attached):
        check_sizes(each)
    if any(node.tag in MAKING for top in (*roots, *attached) for node in top.walk()):
        from regularize.adapters.common.worker_processes import survives  # with all that pools take

        if not survives(lambda: _weighed(roots), SECONDS):
            raise ReadError(path, f"MuJoCo ends the process that reads it, or takes {SECONDS} s")
    with collected() as said:
        model, meshes, unknown, lost, weighed = _weighed(roots)
    nodes, texts = [node for top in roots for node in top.walk()], dict[tuple[str, str], Node]()
    for node in nodes:
        tag = "joint" if node.tag == "freejoint" else node.tag
        if node.get("name"):
            texts.setdefault((tag, str(node.get("name"))), node)
    rows = tuple(row for node in nodes if node.tag == "equality" for row in node.children())
    files = tuple(dict.fromkeys(top.path for top in (*roots[1:], *attached)))
    told = tuple(dict.fromkeys(" ".join(text.split()) for text in said))
    return Compiled(path, model, meshes, weighed, unknown, texts, rows, files, tuple(lost), told)


def _weighed(
    roots: Sequence[Node],
) -> tuple[Any, dict[int, MeshShape], frozenset[int], list[str], Any]:
    """Compile without meshes, and again with the meshes that bodies take their mass from."""
    massive = False
    spec, left_out = _loaded(roots)
    try:
        model, meshes, unknown, lost = _compile(roots, spec.copy())
    except ReadError as error:
        if _MASSLESS not in error.reason:
            raise
        massive = True
        model, meshes, unknown, lost = _compile(roots, spec.copy(), massive=True)
    lost += left_out
    weighed = None
    if unknown:
        try:
            weighed, _, left, _ = _compile(roots, spec, massive=massive, opened=True)
            unknown = unknown if weighed is None else left
        except ReadError as error:
            lost.append(f"masses in meshes ({error.reason})")
    return model, meshes, unknown, lost, weighed


def _compile(
    roots: Sequence[Node], spec: Any, *, massive: bool = False, opened: bool = False
) -> tuple[Any, dict[int, MeshShape], frozenset[int], list[str]]:
    """Compile a ``mujoco.MjSpec`` in place; ``massive`` gives every body a mass."""
    path = roots[0].path
    try:
        lost = _without_files(spec)
        meshes, balls = _stand_in(spec, os.path.dirname(path) if opened else None)
        if massive:
            balls += _give_mass(spec)
        # Without a mesh that could be opened nothing would come of it.
        model = spec.compile() if not opened or len(spec.meshes) else None
    except (ValueError, mujoco.FatalError) as error:
        raise _refused(path, error) from error
    if model is None:
        return None, {}, frozenset(), lost
    _require_numbers(path, model)
    unknown = frozenset(ball.parent.id for ball in balls)
    return model, {geom.id: mesh for geom, mesh in meshes}, unknown, lost


def _require_numbers(path: str, model: Any) -> None:
    """Raise ``ReadError`` for frames that are not finite and axes of length zero."""
    for what, names, arrays in (
        ("body", model.body, (model.body_pos, model.body_quat, model.body_ipos, model.body_iquat)),
        ("geom", model.geom, (model.geom_pos, model.geom_quat, model.geom_size)),
        ("joint", model.joint, (model.jnt_pos, model.jnt_axis)),
    ):
        for array in arrays:
            wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
            if len(wrong):
                name = displayed(names(int(wrong[0])).name) or f"number {wrong[0]}"
                reason = f"{what} `{name}` holds what is no finite number; correct it"
                raise ReadError(path, reason, element=f"{what}[@name='{name}']")
    axial = np.isin(model.jnt_type, (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE))
    for number in np.flatnonzero(axial & ~model.jnt_axis.any(axis=1)):
        name = displayed(model.joint(int(number)).name)
        element = f"joint[@name='{name}']"
        raise ReadError(path, f"the axis of joint `{name}` has no length", element=element)


def loaded(path: str) -> Any:
    """Return the ``mujoco.MjSpec`` of a file, without plugins that are not installed."""
    root = parse(path, "mujoco")
    with collected():
        return _loaded([root, *_included(root, path)])[0]


def _loaded(roots: Sequence[Node]) -> tuple[Any, list[str]]:
    """Load a ``mujoco.MjSpec``; return it with the plugins left out, in words."""
    path, content = roots[0].path, dict[str, bytes]()
    # MuJoCo doubles relative names of included files' meshes, and takes names as UTF-8.
    named = as_utf8(os.path.abspath(path))
    for root in roots:
        if (data := replacement(root.path)) is not None:
            content[as_utf8(os.path.abspath(root.path))] = data
    if not path.endswith(".xml"):  # MuJoCo goes by the ending of a name
        named = f"{named}.xml"
        content[named] = read_bytes(path)
    try:
        try:
            return mujoco.MjSpec.from_file(named, include=content or None), []
        except ValueError as error:
            if NOT_FOUND not in str(error):
                raise
            spec, left_out = without_plugins(roots)
            return spec, [left_out]
    except (ValueError, mujoco.FatalError) as error:
        raise _refused(path, error) from error


def _included(root: Node, path: str) -> list[Node]:
    """Return root elements of all files that a model includes; they know their lines."""
    includes: list[Node] = []
    pending = [(root, name) for name in _names(root)]
    while pending:
        by, file = pending.pop(0)
        beside = [os.path.join(os.path.dirname(each), file) for each in (path, by.path)]
        name = next((each for each in beside if Path(each).is_file()), None)
        if name is None:
            raise by.error(f"includes {beside[0]}, which does not exist; correct the path")
        if name in [path, *(node.path for node in includes)]:
            raise by.error(f"includes {name} twice, or in a circle; include each file once")
        if len(includes) == INCLUDES:
            raise by.error(f"includes more than {INCLUDES} files; merge some of them")
        includes.append(parse(name))
        pending += [(includes[-1], each) for each in _names(includes[-1])]
    return includes


def _attached(root: Node, above: tuple[str, ...]) -> list[Node]:
    """Return root elements of all models that a file attaches; refuse a circle of files."""
    models: list[Node] = []
    for node in root.walk():
        if node.tag != "model" or node.get("file") is None:
            continue
        name = os.path.join(os.path.dirname(root.path), node.text("file"))
        if not os.path.exists(name):  # MuJoCo says so, if it does not find it either
            continue
        if any(os.path.realpath(name) == os.path.realpath(each) for each in above):
            raise node.error(f"attaches {name} to itself, in a circle; attach another file")
        top = parse(name)
        models += [top, *_attached(top, (*above, name))]
        if len(models) > INCLUDES:
            raise node.error(f"attaches more than {INCLUDES} models; merge some of them")
    return models


def _names(root: Node) -> list[str]:
    return [node.text("file") for node in root.walk() if node.tag == "include"]


def _refused(path: str, error: Exception) -> ReadError:
    reason = " ".join(str(error).split()).replace(os.path.abspath(path), path)
    return ReadError(path, f"MuJoCo refuses the model: {reason}")


def _without_files(spec: Any) -> list[str]:
    """Remove textures, skins and other files from a specification; name the lost elements."""
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    lost = []
    for texture in spec.textures:
        if not texture.file and not any(texture.cubefiles):
            continue
        texture.name = texture.name or Path(texture.file).stem
        texture.file, texture.cubefiles, texture.content_type = "", [], ""
        texture.builtin, texture.width, texture.height = mujoco.mjtBuiltin.mjBUILTIN_FLAT, 1, 1
        texture.type = mujoco.mjtTexture.mjTEXTURE_2D
    for skin in [*spec.skins]:
        spec.delete(skin)
    if spec.flexes:
        lost.append("deformable bodies (<flex>)")
        for flex in [*spec.flexes]:
            spec.delete(flex)
    return lost


def _stand_in(spec: Any, folder: str | None) -> tuple[list[tuple[Any, MeshShape]], list[Any]]:
    """Replace meshes by 1 mm spheres; return geoms with their meshes, and spheres with mass."""
    files = {mesh.name: mesh for mesh in spec.meshes}
    pairs, weighing, kept = list[tuple[Any, MeshShape]](), [], set[str]()
    low, high = spec.compiler.inertiagrouprange
    always = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    never = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    for geom in spec.geoms:
        if not geom.meshname and not geom.hfieldname:
            continue
        shown: MeshShape = None
        if geom.meshname:
            mesh = files.get(geom.meshname)
            file = "" if mesh is None else mesh.file
            uri = os.path.join(spec.meshdir, file) if file else geom.meshname
            x, y, z = (1.0, 1.0, 1.0) if mesh is None else (float(s) for s in mesh.scale)
            shown = uri, (x, y, z)
        pairs.append((geom, shown))
        body = geom.parent
        weighs = not (geom.mass == 0.0 or (math.isnan(geom.mass) and geom.density == 0.0))
        counts = always or not (never or body.explicitinertial)
        mass = 0.0
        if weighs and counts and low <= geom.group <= high and body.name != "world":
            opened = folder is not None and _find(spec, files.get(geom.meshname), folder)
            if opened:
                kept.add(geom.meshname)
                continue
            weighing.append(geom)
            mass = 1.0
        geom.type, geom.meshname, geom.hfieldname = mujoco.mjtGeom.mjGEOM_SPHERE, "", ""
        geom.size, geom.mass = [_STAND_IN, 0.0, 0.0], mass
        geom.fromto = [math.nan] * 6
        geom.typeinertia = mujoco.mjtGeomInertia.mjINERTIA_VOLUME
    for asset in [*spec.meshes, *spec.hfields]:
        if asset.name not in kept:
            spec.delete(asset)
    if weighing:
        spec.compiler.settotalmass = -1.0
    return pairs, weighing


def _find(spec: Any, mesh: Any, folder: str) -> bool:
    """Return whether MuJoCo can open a mesh file, and make the file's path absolute."""
    if mesh is None or mesh.plugin.active:
        return False
    if not mesh.file:
        return True
    name = Path(mesh.file).name if spec.strippath else mesh.file
    file = Path(folder, spec.meshdir or spec.compiler.meshdir or "", name)
    if not file.is_file() or file.suffix.lower() not in (".stl", ".obj", ".msh"):
        return False
    mesh.file = os.path.abspath(file)
    return True


def _give_mass(spec: Any) -> list[Any]:
    """Add a sphere of 1 kg to every moving body without mass, which the compiler refuses."""
    ball = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [_STAND_IN, 0, 0], "mass": 1.0}
    return [
        body.add_geom(**ball)
        for body in spec.bodies
        if body.name != "world" and body.joints and not body.explicitinertial
        if all(geom.mass == 0.0 or geom.density == 0.0 for geom in body.geoms)
    ]


#: Elements that copies may come to, and numbers in one grid, texture or table.
MOST_ELEMENTS = 100_000
MOST_NUMBERS = 30_000_000
#: Attributes of grids whose product counts, by element.
GRIDS = {
    "texture": ("width", "height"),
    "hfield": ("nrow", "ncol"),
    "composite": ("count",),
    "flexcomp": ("count",),
    "layer": ("width", "height"),
}
#: Elements that make bodies, of which fewer are borne.
MADE = ("composite", "flexcomp")
#: What MuJoCo says of a plugin that it does not find.
NOT_FOUND = "plugin"


def check_sizes(root: Node) -> None:
    """Raise ``ReadError`` for elements that would need too much memory."""
    _count_elements(root, 1.0)
    for node in root.walk():
        if node.tag in GRIDS:
            asked = math.prod(_size(node, name) for name in GRIDS[node.tag])
            most = MOST_ELEMENTS if node.tag in MADE else MOST_NUMBERS
            if asked > most:
                raise node.error(f"asks for {asked:.3g} numbers, more than {most}; make it coarser")
        elif node.tag == "size":
            for name in node.spans:
                if name != "memory" and _size(node, name) > MOST_NUMBERS:
                    raise node.error(f"{name} is more than {MOST_NUMBERS}; lower it")


def _count_elements(node: Node, times: float) -> float:
    """Count the elements below a node, so many ``times``, with copies; refuse too many copies."""
    inside = times * (max(1.0, _size(node, "count")) if node.tag == "replicate" else 1.0)
    total = sum(inside + _count_elements(child, inside) for child in node.children())
    if node.tag == "replicate" and total > MOST_ELEMENTS:
        raise node.error(f"comes to {total:.3g} elements, more than {MOST_ELEMENTS}; copy fewer")
    return total


def _size(node: Node, name: str) -> float:
    """Return the product of the numbers of an attribute; 1 if it is missing or no number."""
    words = (node.get(name) or "").split()
    try:
        return math.prod(max(1.0, float(word)) for word in words)
    except ValueError:
        return 1.0


def without_plugins(roots: Sequence[Node]) -> tuple[Any, str]:
    """Return the ``mujoco.MjSpec`` of some files without plugins, and what was left out."""
    plugins: dict[str, None] = {}
    texts = []
    for root in roots:
        edits = dict.fromkeys(_without_plugins(root, plugins))
        texts.append(root.document.source.with_edits(edits).text)
    names = [name for root in roots for name in _names(root)]
    included = {name: text.encode() for name, text in zip(names, texts[1:], strict=False)}
    spec = mujoco.MjSpec.from_string(texts[0], include=included)
    return spec, f"plugins that are not installed ({listed(plugins)}), with all that they do,"


def _without_plugins(root: Node, plugins: dict[str, None]) -> Iterator[Edit]:
    """Yield edits that remove plugins from a file; add their names to ``plugins``."""
    for node in root.walk():
        holder = node.parent
        if node.tag == "plugin" and node.get("plugin") is not None:
            plugins[str(node.get("plugin"))] = None
        if node.tag == "extension":
            yield node.removed()
        elif node.tag == "plugin" and holder is not None and holder.tag != "extension":
            if holder.tag == "geom":
                yield holder.with_attribute("type", "mesh")
            if holder.tag == "mesh" and holder.get("file") is None:
                yield holder.with_attribute("file", f"{holder.get('name')}.stl")
            yield node.removed()
