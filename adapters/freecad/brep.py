"""Faces and edges of a shape in OpenCASCADE's text format (``.brp``): what they are, and radii.

The file lists curves, surfaces and topological shapes; the elements of a shape are numbered in
the order in which a walk from its root, depth first, meets them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

#: Kinds of simple curves and surfaces by their numbers in the file, and how many numbers follow.
SIMPLE: Mapping[tuple[str, int], tuple[str, int]] = MappingProxyType(
    {
        **{("curve", 1): ("line", 6), ("curve", 2): ("circle", 13), ("curve", 3): ("other", 14)},
        **{("curve", 4): ("other", 13), ("curve", 5): ("other", 14)},
        **{("surface", 1): ("plane", 12), ("surface", 2): ("cylinder", 13)},
        **{("surface", 3): ("cone", 14), ("surface", 4): ("sphere", 13)},
        ("surface", 5): ("torus", 14),
    }
)
#: Those that are made of another one: how many numbers come first, what it is made of, and whether
#: it is a part of that, rather than swept from it or beside it.
DERIVED: Mapping[tuple[str, int], tuple[int, str, bool]] = MappingProxyType(
    {
        **{("curve", 8): (2, "curve", True), ("curve", 9): (4, "curve", False)},
        **{("surface", 6): (3, "curve", False), ("surface", 7): (6, "curve", False)},
        **{("surface", 10): (4, "surface", True), ("surface", 11): (1, "surface", False)},
    }
)
#: Those with poles: along how many parameters, and whether they have knots.
POLES: Mapping[tuple[str, int], tuple[int, bool]] = MappingProxyType(
    {
        **{("curve", 6): (1, False), ("curve", 7): (1, True)},
        **{("surface", 8): (2, False), ("surface", 9): (2, True)},
    }
)
#: Kinds that have a radius, the last of their numbers.
ROUND = ("cylinder", "sphere", "circle")
FLAGS = re.compile(r"[01]{7,8}")
#: Most places at which the shapes of a file are looked at.
MOST = 1_000_000
NAMES = MappingProxyType({"Fa": "Face", "Ed": "Edge", "Ve": "Vertex"})


@dataclass(frozen=True)
class ShapeElement:
    """A face, an edge or a vertex.

    Attributes:
        kind: ``plane``, ``cylinder``, ``cone``, ``sphere``, ``torus``, ``line``, ``circle``,
            ``point`` or ``other``.
        radius: Radius of a cylinder, sphere or circle in the file's unit; 0 for the others.
    """

    kind: str
    radius: float = 0.0


OTHER = ShapeElement("other")


@dataclass
class _Shape:
    """An entry of the list of shapes."""

    type: str
    element: ShapeElement
    parts: list[tuple[int, int]] = field(default_factory=list)


def elements(text: str) -> dict[str, ShapeElement]:
    """What each ``Face3``, ``Edge1`` and ``Vertex2`` of a shape is.

    Args:
        text: The file.

    Raises:
        ValueError: The file is not of this format, or cut off.
    """
    try:
        curves = _geometry(text, "curve")
        surfaces = _geometry(text, "surface")
        shapes, root = _shapes(text, curves, surfaces)
        return _numbered(shapes, root)
    except (IndexError, StopIteration, RecursionError) as error:
        raise ValueError("the shape is cut off") from error


def _geometry(text: str, what: str) -> list[ShapeElement]:
    """The curves or the surfaces of a file."""
    found = re.search(rf"^{what.title()}s (\d+)$", text, re.M)
    if found is None:
        raise ValueError(f"has no section {what.title()}s")
    words = (word[0] for word in re.finditer(r"\S+", text[found.end() :]))
    return [_one(words, what) for _ in range(int(found[1]))]


def _skip(words: Iterator[str], count: int) -> list[str]:
    return [next(words) for _ in range(count)]


def _one(words: Iterator[str], what: str) -> ShapeElement:
    """The curve or the surface that comes next."""
    type_ = what, int(next(words))
    if type_ in SIMPLE:
        kind, count = SIMPLE[type_]
        values = _skip(words, count)
        return ShapeElement(kind, float(values[12]) if kind in ROUND else 0.0)
    if type_ in DERIVED:
        count, basis, is_part = DERIVED[type_]
        _skip(words, count)
        found = _one(words, basis)
        return found if is_part else OTHER
    if type_ not in POLES:
        raise ValueError(f"{what} of the unknown type {type_[1]}")
    parameters, bspline = POLES[type_]
    rational = "1" in _skip(words, parameters)
    if bspline:
        _skip(words, 2 * parameters)  # whether it is periodic, and its degrees
        poles = [int(word) for word in _skip(words, parameters)]
        knots = [int(word) for word in _skip(words, parameters)]
    else:
        poles, knots = [int(degree) + 1 for degree in _skip(words, parameters)], []
    _skip(words, math.prod(poles) * (4 if rational else 3) + 2 * sum(knots))
    return OTHER


def _shapes(
    text: str, curves: list[ShapeElement], surfaces: list[ShapeElement]
) -> tuple[list[_Shape], tuple[int, int]]:
    """The list of shapes, and the root as a number with a location."""
    found = re.search(r"^TShapes (\d+)$", text, re.M)
    if found is None:
        raise ValueError("has no section TShapes")
    lines = iter(line.strip() for line in text[found.end() :].splitlines() if line.strip())
    shapes = []
    for _ in range(int(found[1])):
        type_, geometry, line = next(lines), [], next(lines)
        while not FLAGS.fullmatch(line):
            geometry.append(line.split())
            line = next(lines)
        shape = _Shape(type_, _element(type_, geometry, curves, surfaces))
        words: list[str] = []
        while not words or words[-1] != "*":
            words += next(lines).split()
        pairs = zip(words[:-1:2], words[1:-1:2], strict=True)
        shape.parts = [(abs(int(number.lstrip("+ie"))), int(place)) for number, place in pairs]
        shapes.append(shape)
    number, place = next(lines).split()[:2]
    return shapes, (abs(int(number.lstrip("+ie"))), int(place))


def _element(
    type_: str, geometry: list[list[str]], curves: list[ShapeElement], surfaces: list[ShapeElement]
) -> ShapeElement:
    if type_ == "Fa":
        return surfaces[int(geometry[0][2]) - 1]
    if type_ == "Ed":
        curve = next((words for words in geometry[1:] if words[0] == "1"), None)
        return OTHER if curve is None else curves[int(curve[1]) - 1]
    return ShapeElement("point") if type_ == "Ve" else OTHER


def _numbered(shapes: list[_Shape], root: tuple[int, int]) -> dict[str, ShapeElement]:
    """Elements by name; one that several others share is met once at each of its places."""
    found: dict[str, ShapeElement] = {}
    met: set[tuple[int, tuple[int, ...]]] = set()
    counts = dict.fromkeys(NAMES.values(), 0)
    number, place = root
    pending = [(number, (place,) if place else ())]
    while pending:
        number, places = pending.pop()
        if (number, places) in met:
            continue
        met.add((number, places))
        if len(met) > MOST:
            raise ValueError(f"has more than {MOST} places of shapes; not read for safety")
        shape = shapes[len(shapes) - number]
        name = NAMES.get(shape.type)
        if name is not None:
            counts[name] += 1
            found[f"{name}{counts[name]}"] = shape.element
        if any(not number < part <= len(shapes) for part, _ in shape.parts):
            raise ValueError("a shape has parts that are not listed before it")
        pending += [
            (part, (*places, inner) if inner else places) for part, inner in reversed(shape.parts)
        ]
    return found
