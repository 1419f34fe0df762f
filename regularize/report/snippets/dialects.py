"""Pieces of models written in the dialects that people use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from regularize.report.snippets.elements import (
    BodyPiece,
    Command,
    DialectText,
    JointPiece,
    Piece,
    Python,
)

#: The dialect in which snippets for a format are written.
DIALECT_OF = {
    "urdf": "urdf",
    "urdf+": "urdf",
    "xacro": "urdf",
    "sdf": "sdf",
    "mjcf": "mjcf",
    "usd": "usd",
    "freecad": "cad",
    "asmt": "cad",
    "mbdyn": "cad",
    "onshape": "cad",
    "simscape": "cad",
    "json": "json",
}
#: What is said above a snippet.
TITLES = {
    "urdf": "URDF",
    "sdf": "SDF",
    "mjcf": "MJCF",
    "usd": "USD",
    "cad": "the CAD assembly",
    "json": "JSON",
    "shell": "the terminal",
    "python": "Python",
}


def written(pieces: tuple[Piece, ...], dialect: str) -> tuple[str, str]:
    """The pieces as text, and the dialect that it is in.

    What belongs to another dialect stays in that, and commands are the same for all.
    """
    used, lines = dialect, list[str]()
    for piece in pieces:
        if isinstance(piece, Command):
            used, text = "shell", piece.line
        elif isinstance(piece, Python):
            used, text = "python", piece.lines
        elif isinstance(piece, DialectText):
            used = dialect if dialect in piece.texts else next(iter(piece.texts))
            text = piece.texts[used]
        else:
            text = "\n".join(_WRITERS[dialect](piece))
        lines += text.split("\n")
    return "\n".join(lines), used


def _urdf(piece: JointPiece | BodyPiece) -> Iterator[str]:
    if isinstance(piece, BodyPiece):
        yield f'<link name="{piece.name}">'
        if piece.mass is not None:
            own = " ".join(f'i{a}{a}="{piece.inertia}"' for a in "xyz")
            zero = 'ixy="0" ixz="0" iyz="0"'
            yield f'  <inertial><mass value="{piece.mass}"/><inertia {own} {zero}/></inertial>'
        if piece.shape is not None:
            yield f"  <visual><geometry>{piece.shape}</geometry></visual>"
        yield "</link>"
        return
    more = piece.attributes
    if piece.loop:
        turned = f' rpy="{more["turned"]}"' if "turned" in more else ""
        yield f'<loop name="{piece.name}" type="{piece.kind}">'
        yield f'  <predecessor link="{piece.parent}">'
        yield f'    <origin xyz="{piece.at}"/>'
        yield "  </predecessor>"
        yield f'  <successor link="{piece.child}">'
        yield f'    <origin xyz="0 0 0"{turned}/>'
        yield "  </successor>"
        yield from _axis(piece)
        yield "</loop>"
        return
    kind = "continuous" if piece.kind == "revolute" and "limit" not in more else piece.kind
    yield f'<joint name="{piece.name}" type="{kind}">'
    yield f'  <parent link="{piece.parent}"/><child link="{piece.child}"/>'
    yield from _axis(piece)
    if "limit" in more:
        low, high = more["limit"].split()
        yield f'  <limit lower="{low}" upper="{high}" effort="10" velocity="5"/>'
    yield "</joint>"


def _axis(piece: JointPiece) -> Iterator[str]:
    if piece.kind in ("revolute", "prismatic", "cylindrical", "planar", "helical"):
        yield f'  <axis xyz="{piece.axis}"/>'


def _sdf(piece: JointPiece | BodyPiece) -> Iterator[str]:
    if isinstance(piece, BodyPiece):
        yield f'<link name="{piece.name}">'
        if piece.mass is not None:
            own = "".join(f"<i{a}{a}>{piece.inertia}</i{a}{a}>" for a in "xyz")
            yield f"  <inertial><mass>{piece.mass}</mass><inertia>{own}</inertia></inertial>"
        if piece.shape is not None:
            yield f'  <visual name="shape"><geometry>{piece.shape}</geometry></visual>'
        yield "</link>"
        return
    words = {"spherical": "ball", "helical": "screw"}
    more = piece.attributes
    yield f'<joint name="{piece.name}" type="{words.get(piece.kind, piece.kind)}">'
    yield f"  <parent>{piece.parent}</parent><child>{piece.child}</child>"
    if piece.at != "0 0 0" or "turned" in more:
        yield f"  <pose>{piece.at} {more.get('turned', '0 0 0')}</pose>"
    if piece.kind not in ("spherical", "fixed"):
        yield f"  <axis><xyz>{piece.axis}</xyz>"
        if "limit" in more:
            low, high = more["limit"].split()
            yield f"    <limit><lower>{low}</lower><upper>{high}</upper></limit>"
        yield "  </axis>"
    yield "</joint>"


def _mjcf(piece: JointPiece | BodyPiece) -> Iterator[str]:
    if isinstance(piece, BodyPiece):
        yield f'<body name="{piece.name}">'
        if piece.mass is not None:
            three = " ".join([piece.inertia] * 3)
            yield f'  <inertial pos="0 0 0" mass="{piece.mass}" diaginertia="{three}"/>'
        if piece.shape is not None:
            yield f"  <!-- its geom: {piece.shape} -->"
        yield "</body>"
        return
    more = piece.attributes
    ends = f'body1="{piece.parent}" body2="{piece.child}"'
    if piece.loop:
        if piece.kind == "fixed" or "turned" in more:
            own = f' relpose="0 0 0 {_quaternion(more["turned"])}"' if "turned" in more else ""
            yield f'<weld name="{piece.name}" {ends}{own}/>'
            return
        yield f'<connect name="{piece.name}" {ends} anchor="{piece.at}"/>'
        if piece.kind != "spherical":
            yield f'<connect name="{piece.name}2" {ends} anchor="{piece.at[:-1]}0.1"/>'
            yield f"<!-- two points make a closure with the axis {piece.axis} -->"
        return
    if piece.kind == "fixed":
        yield f'<body name="{piece.child}"/>  <!-- in {piece.parent}, without a joint -->'
        return
    words = {"revolute": "hinge", "prismatic": "slide", "spherical": "ball"}
    own = f' range="{more["limit"]}"' if "limit" in more else ""
    axis = "" if piece.kind == "spherical" else f' axis="{piece.axis}"'
    yield f'<body name="{piece.child}">'
    yield f'  <joint name="{piece.name}" type="{words.get(piece.kind, "hinge")}"{axis}{own}/>'
    yield "</body>"


def _quaternion(angles: str, between: str = " ") -> str:
    """A turn about one of the axes X, Y, Z as a quaternion, its real part first."""
    halves = [0.5 * float(angle) for angle in angles.split()]
    return between.join(f"{x:.7g}" for x in (math.cos(sum(halves)), *map(math.sin, halves)))


def _usd(piece: JointPiece | BodyPiece) -> Iterator[str]:
    if isinstance(piece, BodyPiece):
        yield f'def Xform "{piece.name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])'
        yield "{"
        if piece.mass is not None:
            yield f"    float physics:mass = {piece.mass}"
            three = ", ".join([piece.inertia] * 3)
            yield f"    float3 physics:diagonalInertia = ({three})"
        if piece.shape is not None:
            yield f"    # shape: {piece.shape}"
        yield "}"
        return
    words = {"fixed": "Fixed", "prismatic": "Prismatic", "revolute": "Revolute"}
    kind = "Spherical" if piece.kind == "spherical" else words.get(piece.kind, "")
    yield f'def Physics{kind}Joint "{piece.name}"'
    yield "{"
    yield f"    rel physics:body0 = </robot/{piece.parent}>"
    yield f"    rel physics:body1 = </robot/{piece.child}>"
    if piece.kind in ("revolute", "prismatic"):
        letters = dict(zip(piece.axis.split(), "XYZ", strict=True))
        yield f'    uniform token physics:axis = "{letters.get("1", "Y")}"'
        if set(piece.axis.split()) != {"0", "1"}:
            yield f"    # and frames that turn it to ({piece.axis})"
    more = piece.attributes
    yield f"    point3f physics:localPos0 = ({piece.at.replace(' ', ', ')})"
    if "turned" in more:
        yield f"    quatf physics:localRot1 = ({_quaternion(more['turned'], ', ')})"
    if "limit" in more:
        low, high = more["limit"].split()
        yield f"    float physics:lowerLimit = {low}"
        yield f"    float physics:upperLimit = {high}"
    if piece.loop:
        yield "    bool physics:excludeFromArticulation = true"
    yield "}"


def _cad(piece: JointPiece | BodyPiece) -> Iterator[str]:
    if isinstance(piece, BodyPiece):
        mass = "no mass" if piece.mass is None else f"{piece.mass} kg, {piece.inertia} kg m²"
        shape = f", {piece.shape}" if piece.shape is not None else ""
        yield f"part {piece.name}: {mass}{shape}"
        return
    more = "".join(f", {key} {value}" for key, value in piece.attributes.items())
    axis = "" if piece.kind in ("spherical", "fixed") else f", axis ({piece.axis})"
    place = f" at ({piece.at}) m" if piece.loop else ""
    yield f"{piece.kind} joint {piece.name}: {piece.parent} - {piece.child}{axis}{place}{more}"


def _json(piece: JointPiece | BodyPiece) -> Iterator[str]:
    if isinstance(piece, BodyPiece):
        own = f'"mass": {piece.mass}, "moment": {piece.inertia}'
        mass = "null" if piece.mass is None else f"{{{own}}}"
        shape = "" if piece.shape is None else f', "geometry": ["{piece.shape}"]'
        yield f'{{"name": "{piece.name}", "inertia": {mass}{shape}}}'
        return
    values: Mapping[str, str] = {
        "name": piece.name,
        "kind": piece.kind,
        "parent": piece.parent,
        "child": piece.child,
        **piece.attributes,
    }
    held = ", ".join(f'"{key}": "{value}"' for key, value in values.items())
    place, axis = (text.replace(" ", ", ") for text in (piece.at, piece.axis))
    yield f'{{{held}, "at": [{place}], "axis": [{axis}]}}'


_WRITERS: dict[str, Callable[[JointPiece | BodyPiece], Iterator[str]]] = {
    "urdf": _urdf,
    "sdf": _sdf,
    "mjcf": _mjcf,
    "usd": _usd,
    "cad": _cad,
    "json": _json,
}
