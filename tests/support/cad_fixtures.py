"""Small assemblies, written as files of the CAD formats.

A skeleton gives placed parts and joints with a frame in the world each; the builders turn it into
a FreeCAD document, an ASMT file, an Onshape assembly definition and a Simscape import file. The
placements of the parts are arbitrary, so that a wrong transform shows.
"""

import io
import json
import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy.spatial.transform import Rotation
from screws import inverse, transform, unit

BASE = "base"


@dataclass(frozen=True)
class Link:
    """A joint of a skeleton: ``T_world_joint`` is its frame, Z its axis."""

    name: str
    kind: str
    parent: str
    child: str
    T_world_joint: np.ndarray


@dataclass(frozen=True)
class Skeleton:
    """An assembly: parts in order, the first one grounded, and joints."""

    name: str
    parts: dict[str, np.ndarray]
    joints: tuple[Link, ...]
    extra: dict[str, Any] = field(default_factory=dict)

    def on_part(self, part: str, T_world: np.ndarray) -> np.ndarray:
        return inverse(self.parts[part]) @ T_world

    def frames(self, joint: Link) -> list[tuple[str, np.ndarray]]:
        """The bodies of a joint with its frame on them, the parent first."""
        ends = (joint.parent, joint.child)
        return [(part, self.on_part(part, joint.T_world_joint)) for part in ends]


def frame(point: Any, axis: Any = (0, 0, 1)) -> np.ndarray:
    """A frame at a point whose Z is the axis."""
    z = unit(axis)
    x = unit(np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z))
    return transform(np.column_stack([x, np.cross(z, x), z]), point)


def placements(*names: str, seed: int = 7) -> dict[str, np.ndarray]:
    """Arbitrary placements, in metres; the base stays at the origin."""
    rng = np.random.default_rng(seed)
    poses = {BASE: np.eye(4)}
    for name in names:
        R = Rotation.random(random_state=rng).as_matrix()
        poses[name] = transform(R, rng.uniform(-0.2, 0.2, size=3))
    return poses


def planar_four_bar() -> Skeleton:
    """Four hinges about Z; redundant 3, mobility 1."""
    a, b, d = np.zeros(3), np.array([0.05, 0.0866, 0.0]), np.array([0.4, 0.0, 0.0])
    c = _third_point(b, d, 0.35, 0.3)
    joints = [
        Link("A", "revolute", BASE, "crank", frame(a)),
        Link("B", "revolute", "crank", "coupler", frame((b[0], b[1], 0.01))),
        Link("C", "revolute", "coupler", "rocker", frame((c[0], c[1], 0.02))),
        Link("D", "revolute", "rocker", BASE, frame(d)),
    ]
    return Skeleton("planar four-bar", placements("crank", "coupler", "rocker"), tuple(joints))


def slider_crank() -> Skeleton:
    """Three hinges about Z and a slider along X; redundant 3, mobility 1."""
    b = np.array([0.06, 0.08, 0.0])
    c = np.array([b[0] + math.sqrt(0.25**2 - 0.08**2), 0.0, 0.0])
    joints = [
        Link("A", "revolute", BASE, "crank", frame(np.zeros(3))),
        Link("B", "revolute", "crank", "rod", frame(b)),
        Link("C", "revolute", "rod", "slider", frame(c)),
        Link("D", "prismatic", "slider", BASE, frame(c, (1, 0, 0))),
    ]
    return Skeleton("slider-crank", placements("crank", "rod", "slider"), tuple(joints))


def spherical_four_bar() -> Skeleton:
    """Four hinges whose axes meet at one point; redundant 3, mobility 1."""
    center = np.array([0.05, -0.02, 0.1])
    axes = [unit(v) for v in ([0, 0, 1], [0.5, 0, 1], [0.6, 0.9, 1], [0, 1.0, 0.6])]
    names = [BASE, "crank", "coupler", "rocker", BASE]
    joints = [
        Link(name, "revolute", names[k], names[k + 1], frame(center + 0.1 * axes[k], axes[k]))
        for k, name in enumerate("ABCD")
    ]
    return Skeleton("spherical four-bar", placements("crank", "coupler", "rocker"), tuple(joints))


SKELETONS: dict[str, Callable[[], Skeleton]] = {
    "planar_four_bar": planar_four_bar,
    "slider_crank": slider_crank,
    "spherical_four_bar": spherical_four_bar,
}


def _third_point(p: np.ndarray, q: np.ndarray, a: float, b: float) -> np.ndarray:
    """The upper point at distances a from p and b from q, in the plane z = 0."""
    d = float(np.linalg.norm(q - p))
    x = (d**2 + a**2 - b**2) / (2 * d)
    e = (q - p) / d
    return p + x * e + math.sqrt(a**2 - x**2) * np.array([-e[1], e[0], 0.0])


FREECAD_TYPES = (
    *("Fixed", "Revolute", "Cylindrical", "Slider", "Ball", "Distance", "Parallel"),
    *("Perpendicular", "Angle", "RackPinion", "Screw", "Gears", "Belt"),
)
FREECAD_KINDS = {"revolute": "Revolute", "prismatic": "Slider"}


def freecad_placement(T: np.ndarray) -> str:
    names = (*("Px", "Py", "Pz"), *(f"Q{k}" for k in range(4)))
    values = [*1e3 * T[:3, 3], *Rotation.from_matrix(T[:3, :3]).as_quat()]
    words = (f'{name}="{float(v)!r}"' for name, v in zip(names, values, strict=True))
    return f"<PropertyPlacement {' '.join(words)}/>"


def freecad_property(name: str, kind: str, inner: str) -> str:
    return f'<Property name="{name}" type="App::Property{kind}">{inner}</Property>'


def freecad_links(name: str, targets: list[str]) -> str:
    inner = "".join(f'<Link value="{target}"/>' for target in targets)
    return freecad_property(
        name, "LinkList", f'<LinkList count="{len(targets)}">{inner}</LinkList>'
    )


def freecad_object(name: str, label: str, *properties: str) -> str:
    text = freecad_property("Label", "String", f"<String value={quoteattr(label)}/>")
    return f'<Object name="{name}"><Properties>{text}{"".join(properties)}</Properties></Object>'


def freecad_joint(
    name: str,
    kind: str,
    ends: tuple[tuple[str, np.ndarray], tuple[str, np.ndarray]],
    *properties: str,
    modern: bool = False,
    label: str | None = None,
    target: str = "Assembly",
) -> str:
    """A joint object; ``ends`` are paths below the assembly and frames on what they name."""
    entries = "".join(f'<Enum value="{entry}"/>' for entry in FREECAD_TYPES)
    listed = f'<CustomEnumList count="13">{entries}</CustomEnumList>'
    number = f'<Integer value="{FREECAD_TYPES.index(kind)}" CustomEnum="true"/>'
    active, value = ("Suppressed", "false") if modern else ("Activated", "true")
    found = [freecad_property("JointType", "Enumeration", number + listed)]
    found.append(freecad_property(active, "Bool", f'<Bool value="{value}"/>'))
    for k, (path, T) in enumerate(ends, start=1):
        sub = f'<Sub value="{path}"/>'
        link = f'<XLink file="" stamp="" name="{target}" count="2">{sub}{sub}</XLink>'
        if modern:
            link = f'<XLink file="" stamp="" name="{target}" sub="{path}"/>'
        found.append(freecad_property(f"Reference{k}", "XLinkSubHidden", link))
        found.append(freecad_property(f"Placement{k}", "Placement", freecad_placement(T)))
    return freecad_object(name, label or name, *found, *properties)


def freecad_document(types: dict[str, str], data: list[str]) -> bytes:
    """A document archive from its objects' types and data."""
    objects = "".join(
        f'<Object type="{t}" name="{n}" id="{k}"/>' for k, (n, t) in enumerate(types.items())
    )
    text = (
        "<?xml version='1.0' encoding='utf-8'?>\n<!--\n FreeCAD Document\n-->\n"
        f'<Document SchemaVersion="4" ProgramVersion="1.0"><Objects Count="{len(types)}">{objects}'
        f'</Objects>\n<ObjectData Count="{len(types)}">'
        + "\n".join(data)
        + "</ObjectData></Document>"
    )
    return archive({"Document.xml": text})


def archive(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in members.items():
            file.writestr(name, text)
    return buffer.getvalue()


def freecad(skeleton: Skeleton, *, modern: bool = False) -> bytes:
    """The skeleton as a FreeCAD document, spelled as 1.0 or, if ``modern``, as 1.1 does."""
    types = {"Assembly": "Assembly::AssemblyObject", "Joints": "Assembly::JointGroup"}
    joints = [f"Joint{k:03d}" for k in range(len(skeleton.joints))]
    whole = freecad_links("Group", ["Joints", *skeleton.parts])
    group = freecad_links("Group", ["GroundedJoint", *joints])
    data = [freecad_object("Assembly", skeleton.name, whole)]
    data.append(freecad_object("Joints", "Joints", group))
    for name, T in skeleton.parts.items():
        types[name] = "Part::Feature"
        placed = freecad_property("Placement", "Placement", freecad_placement(T))
        data.append(freecad_object(name, name, placed))
    types["GroundedJoint"] = "App::FeaturePython"
    ground = freecad_property("ObjectToGround", "Link", f'<Link value="{BASE}"/>')
    data.append(freecad_object("GroundedJoint", "GroundedJoint", ground))
    for name, joint in zip(joints, skeleton.joints, strict=True):
        types[name] = "App::FeaturePython"
        (one, T_one), (two, T_two) = skeleton.frames(joint)
        ends = ((f"{one}.Edge1", T_one), (f"{two}.Edge1", T_two))
        kind = FREECAD_KINDS[joint.kind]
        data.append(freecad_joint(name, kind, ends, modern=modern, label=joint.name))
    return freecad_document(types, data)


ASMT_KINDS = {
    "revolute": "RevoluteJoint",
    "prismatic": "TranslationalJoint",
    "spherical": "SphericalJoint",
}


def asmt_pose(T: np.ndarray, depth: int, scale: float) -> list[str]:
    tabs = "\t" * depth
    rows = ["\t".join(repr(float(v)) for v in row) for row in T[:3, :3]]
    position = "\t".join(repr(float(v)) for v in T[:3, 3] / scale)
    place = [f"{tabs}Position3D", f"{tabs}\t{position}", f"{tabs}RotationMatrix"]
    return place + [f"{tabs}\t{row}" for row in rows]


def asmt_markers(markers: dict[str, np.ndarray], depth: int, scale: float) -> list[str]:
    tabs = "\t" * depth
    lines = [f"{tabs}RefPoints"]
    for name, T in markers.items():
        lines += [f"{tabs}\tRefPoint", *asmt_pose(np.eye(4), depth + 2, scale)]
        lines += [f"{tabs}\t\tMarkers", f"{tabs}\t\t\tMarker", f"{tabs}\t\t\t\tName"]
        lines += [f"{tabs}\t\t\t\t\t{name}", *asmt_pose(T, depth + 4, scale)]
    return [*lines, f"{tabs}RefCurves", f"{tabs}RefSurfaces"]


def asmt_rest(depth: int) -> list[str]:
    tabs = "\t" * depth
    zero = f"{tabs}\t0.0\t0.0\t0.0"
    return [f"{tabs}Velocity3D", zero, f"{tabs}Omega3D", zero]


def asmt_text(
    name: str,
    ground: dict[str, np.ndarray],
    parts: dict[str, tuple[np.ndarray, dict[str, np.ndarray]]],
    joints: list[tuple[str, str, str, str, dict[str, float]]],
    *,
    scale: float = 1.0,
    mass: tuple[float, tuple[float, float, float]] = (1.0, (1.0, 1.0, 1.0)),
    more: tuple[str, ...] = (),
) -> str:
    """An ASMT file: marked frames of the ground and of placed parts; joints between markers."""
    lines = ["OndselSolver", "Assembly", "\tNotes", "\t\t(none)", "\tName", f"\t\t{name}"]
    lines += asmt_pose(np.eye(4), 1, scale) + asmt_rest(1) + asmt_markers(ground, 1, scale)
    lines.append("\tParts")
    for part, (T, markers) in parts.items():
        lines += ["\t\tPart", "\t\t\tName", f"\t\t\t\t{part}", *asmt_pose(T, 3, scale)]
        lines += [*asmt_rest(3), "\t\t\tFeatureOrder"]
        lines += ["\t\t\tPrincipalMassMarker", "\t\t\t\tName", "\t\t\t\t\tMassMarker"]
        lines += asmt_pose(transform(None, [0.01, 0.02, 0.03]), 4, scale)
        moments = "\t".join(map(repr, mass[1]))
        lines += ["\t\t\t\tMass", f"\t\t\t\t\t{mass[0]!r}"]
        lines += ["\t\t\t\tMomentOfInertias", f"\t\t\t\t\t{moments}"]
        lines += ["\t\t\t\tDensity", "\t\t\t\t\t1.0"]
        lines += asmt_markers(markers, 3, scale)
    lines += ["\tKinematicIJs", "\tConstraintSets", "\t\tJoints"]
    for kind, title, i, j, values in joints:
        lines += [f"\t\t\t{kind}", "\t\t\t\tName", f"\t\t\t\t\t{title}"]
        lines += ["\t\t\t\tMarkerI", f"\t\t\t\t\t/{name}/{i}"]
        lines += ["\t\t\t\tMarkerJ", f"\t\t\t\t\t/{name}/{j}"]
        for key, value in values.items():
            lines += [f"\t\t\t\t{key}", f"\t\t\t\t\t{value!r}"]
    lines += [*more] or ["\t\tMotions"]
    lines += ["\t\tGeneralConstraintSets", "\tForceTorques", "\tConstantGravity"]
    lines += ["\t\t0.0\t-9.81\t0.0"]
    return "\n".join(lines) + "\n"


def asmt(skeleton: Skeleton, *, scale: float = 1.0) -> str:
    """The skeleton as an ASMT file; the base is fixed to the assembly."""
    name = "OndselAssembly" if scale != 1.0 else "Assembly1"
    markers: dict[str, dict[str, np.ndarray]] = {part: {} for part in skeleton.parts}
    markers[BASE]["Ground"] = np.eye(4)
    joints: list[tuple[str, str, str, str, dict[str, float]]] = [
        ("FixedJoint", "GroundedJoint", "Ground", f"{BASE}/Ground", {})
    ]
    for joint in skeleton.joints:
        for part, T in skeleton.frames(joint):
            markers[part][joint.name] = T
        ends = (f"{joint.parent}/{joint.name}", f"{joint.child}/{joint.name}")
        joints.append((ASMT_KINDS[joint.kind], joint.name, *ends, {}))
    parts = {part: (T, markers[part]) for part, T in skeleton.parts.items()}
    return asmt_text(name, {"Ground": skeleton.parts[BASE]}, parts, joints, scale=scale)


def mbdyn_turn(T: np.ndarray) -> str:
    return f"matr, {', '.join(repr(float(v)) for v in T[:3, :3].reshape(-1))}"


def mbdyn_point(T: np.ndarray) -> str:
    return ", ".join(repr(float(v)) for v in T[:3, 3])


def mbdyn(skeleton: Skeleton) -> str:
    """The skeleton as an MBDyn model: clamped base, hinges, and sliders as total joints."""
    lines = ["begin: data;", "    problem: initial value;", "end: data;", "begin: nodes;"]
    for part, T in skeleton.parts.items():
        place = f"{mbdyn_point(T)}, {mbdyn_turn(T)}, null, null"
        lines.append(f"    structural: {part}, dynamic, {place};")
    lines += ["end: nodes;", "begin: elements;", f"    joint: ground, clamp, {BASE}, null, eye;"]
    for joint in skeleton.joints:
        frames = skeleton.frames(joint)
        if joint.kind == "revolute":
            ends = [f"{part}, {mbdyn_point(T)}, hinge, {mbdyn_turn(T)}" for part, T in frames]
            lines.append(f"    joint: {joint.name}, revolute hinge, {', '.join(ends)};")
            continue
        ends = [
            f"{part}, position, {mbdyn_point(T)}, position orientation, {mbdyn_turn(T)}, "
            f"rotation orientation, {mbdyn_turn(T)}"
            for part, T in frames
        ]
        held = (
            "position constraint, active, active, inactive, null, "
            "orientation constraint, active, active, active, null"
        )
        lines.append(f"    joint: {joint.name}, total joint, {', '.join(ends)}, {held};")
    return "\n".join([*lines, "end: elements;"]) + "\n"


ONSHAPE_KINDS = {"revolute": "REVOLUTE", "prismatic": "SLIDER"}


def onshape_cs(T: np.ndarray) -> dict[str, list[float]]:
    x, y, z, origin = (T[:3, k].tolist() for k in range(4))
    return {"xAxis": x, "yAxis": y, "zAxis": z, "origin": origin}


def onshape_mate(
    name: str, kind: str, ends: list[tuple[list[str], np.ndarray]], id: str | None = None
) -> dict[str, Any]:
    entities = [{"matedOccurrence": path, "matedCS": onshape_cs(T)} for path, T in ends]
    data = {"name": name, "mateType": kind, "matedEntities": entities}
    return {"id": id or name, "featureType": "mate", "suppressed": False, "featureData": data}


def onshape_document(
    name: str,
    parts: dict[str, np.ndarray],
    features: list[dict[str, Any]],
    fixed: tuple[str, ...] = (BASE,),
) -> dict[str, Any]:
    instances = [{"id": part, "name": part, "type": "Part", "suppressed": False} for part in parts]
    occurrences = [
        {"path": [part], "transform": T.reshape(-1).tolist(), "fixed": part in fixed}
        for part, T in parts.items()
    ]
    root = {"name": name, "instances": instances, "occurrences": occurrences}
    root |= {"features": features, "patterns": []}
    return {"rootAssembly": root, "subAssemblies": [], "parts": []}


def onshape(skeleton: Skeleton) -> str:
    features = []
    for joint in skeleton.joints:
        ends = [([part], T) for part, T in reversed(skeleton.frames(joint))]
        features.append(onshape_mate(joint.name, ONSHAPE_KINDS[joint.kind], ends))
    return json.dumps(onshape_document(skeleton.name, skeleton.parts, features))


def simscape_transform(T: np.ndarray, scale: float = 1e-3) -> str:
    rotation = " ".join(repr(float(v)) for v in T[:3, :3].reshape(-1))
    translation = " ".join(repr(float(v)) for v in T[:3, 3] / scale)
    return (
        f"<Transform><Rotation>{rotation}</Rotation>"
        f"<Translation>{translation}</Translation></Transform>"
    )


def simscape_path(path: list[str]) -> str:
    return "<InstancePath>" + "".join(f"<Uid>{uid}</Uid>" for uid in path) + "</InstancePath>"


def simscape_joint(name: str, kind: str, ends: list[tuple[list[str], np.ndarray]]) -> str:
    tags = ("BaseFrame", "FollowerFrame")
    frames = "".join(
        f"<{tag}>{simscape_path(path)}{simscape_transform(T)}</{tag}>"
        for tag, (path, T) in zip(tags, ends, strict=True)
    )
    return f'<{kind} name="{name}">{frames}</{kind}>\n'


def simscape_mate(name: str, kind: str, ends: list[tuple[str, list[str], np.ndarray]]) -> str:
    """A mate; each end is a kind of geometry, an instance path and a frame on it."""
    geometries = ""
    for geometry, path, T in ends:
        position = " ".join(repr(float(v)) for v in 1e3 * T[:3, 3])
        axis = " ".join(repr(float(v)) for v in T[:3, 2])
        geometries += (
            f'<ConstraintGeometry geomType="{geometry}">{simscape_path(path)}'
            f"<Position>{position}</Position><Axis>{axis}</Axis></ConstraintGeometry>"
        )
    return f'<{kind} name="{name}">{geometries}</{kind}>\n'


def simscape_instance(
    name: str, T: np.ndarray, entity: str = "part", inner: str = "", attributes: str = ""
) -> str:
    return (
        f'<Instance name="{name}" uid="{name}" entityUid="{entity}" {attributes}>'
        f"{simscape_transform(T)}{inner}</Instance>\n"
    )


def simscape_document(
    name: str, instances: str, joints: str = "", constraints: str = "", assemblies: str = ""
) -> str:
    """A Simscape import file in millimetres and kilograms, with one part, ``part``."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<SimscapeMultibodyImportXML version="2.0" '
        'xmlns="urn:mathworks:SimscapeMultibody:import">\n'
        '<ModelUnits mass="kg" length="m"/><DataUnits mass="kg" length="mm"/>\n'
        f'<RootAssembly name="{name}" uid="root" version="1">'
        f"<InstanceTree>{instances}</InstanceTree>"
        f"<Constraints>{constraints}</Constraints><Joints>{joints}</Joints></RootAssembly>\n"
        f"<Assemblies>{assemblies}</Assemblies>\n"
        '<Parts><Part name="part" uid="part"><ModelUnits mass="kg" length="m"/>'
        "<MassProperties><Mass>0.5</Mass><CenterOfMass>10 20 30</CenterOfMass>"
        "<Inertia>100 200 250 3 2 1</Inertia></MassProperties></Part></Parts>\n"
        "</SimscapeMultibodyImportXML>\n"
    )


def simscape(skeleton: Skeleton) -> str:
    instances = "".join(
        simscape_instance(part, T, attributes='grounded="true"' if part == BASE else "")
        for part, T in skeleton.parts.items()
    )
    joints = ""
    for joint in skeleton.joints:
        ends = [([part], T) for part, T in skeleton.frames(joint)]
        joints += simscape_joint(joint.name, joint.kind.title(), ends)
    return simscape_document(skeleton.name, instances, joints)


#: File name ending and builder of each format.
BUILDERS: dict[str, tuple[str, Callable[[Skeleton], str | bytes]]] = {
    "freecad": (".FCStd", freecad),
    "asmt": (".asmt", asmt),
    "mbdyn": (".mbd", mbdyn),
    "onshape": (".json", onshape),
    "simscape": (".xml", simscape),
}
