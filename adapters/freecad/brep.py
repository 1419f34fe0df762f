"""Faces and edges of a shape in OpenCASCADE's text format (``.brp``): what they are, and radii.

The file lists curves, surfaces and topological shapes; the elements of a shape are numbered in
the order in which a walk from its root, depth first, meets them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType

#: Kind of a simple surface by its number in the file, and how many numbers follow that one.
SURFACES = MappingProxyType(
    {1: ("plane", 12), 2: ("cylinder", 13), 3: ("cone", 14), 4: ("sphere", 13), 5: ("torus", 14)}
)
#: The same for curves.
CURVES = MappingProxyType(
    {1: ("line", 6), 2: ("circle", 13), 3: ("other", 14), 4: ("other", 13), 5: ("other", 14)}
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
        curves = _geometry(text, "Curves", _curve)
        surfaces = _geometry(text, "Surfaces", _surface)
        shapes, root = _shapes(text, curves, surfaces)
        return _numbered(shapes, root)
    except (IndexError, StopIteration, RecursionError) as error:
        raise ValueError("the shape is cut off") from error


def _geometry(
    text: str, title: str, read: Callable[[Iterator[str]], ShapeElement]
) -> list[ShapeElement]:
    """The curves or the surfaces of a file."""
    found = re.search(rf"^{title} (\d+)$", text, re.M)
    if found is None:
        raise ValueError(f"has no section {title}")
    words = iter(_words(text, found.end()))
    return [read(words) for _ in range(int(found[1]))]


def _words(text: str, start: int) -> Iterator[str]:
    for word in re.finditer(r"\S+", text[start:]):
        yield word[0]


def _skip(words: Iterator[str], count: int) -> list[str]:
    return [next(words) for _ in range(count)]


def _simple(words: Iterator[str], kind: str, count: int) -> ShapeElement:
    values = _skip(words, count)
    return ShapeElement(kind, float(values[12]) if kind in ROUND else 0.0)


def _surface(words: Iterator[str]) -> ShapeElement:
    number = int(next(words))
    if number in SURFACES:
        return _simple(words, *SURFACES[number])
    if number in (6, 7):  # swept: a direction or an axis, and a curve
        _skip(words, 3 if number == 6 else 6)
        _curve(words)
    elif number in (8, 9):
        _poles(words, bspline=number == 9)
    elif number in (10, 11):  # a part of a surface, or one beside it
        _skip(words, 4 if number == 10 else 1)
        basis = _surface(words)
        return basis if number == 10 else OTHER
    else:
        raise ValueError(f"surface of the unknown type {number}")
    return OTHER


def _poles(words: Iterator[str], *, bspline: bool) -> None:
    rational = "1" in _skip(words, 2)
    if bspline:
        _skip(words, 4)  # whether it is periodic, and its degrees
        u, v, knots_u, knots_v = map(int, _skip(words, 4))
    else:
        u, v = (int(degree) + 1 for degree in _skip(words, 2))
        knots_u = knots_v = 0
    _skip(words, u * v * (4 if rational else 3) + 2 * (knots_u + knots_v))


def _curve(words: Iterator[str]) -> ShapeElement:
    number = int(next(words))
    if number in CURVES:
        return _simple(words, *CURVES[number])
    if number in (6, 7):
        rational = next(words) == "1"
        if number == 6:
            poles, knots = int(next(words)) + 1, 0
        else:
            _skip(words, 2)  # whether it is periodic, and its degree
            poles, knots = map(int, _skip(words, 2))
        _skip(words, poles * (4 if rational else 3) + 2 * knots)
    elif number in (8, 9):  # a part of a curve, or one beside it
        _skip(words, 2 if number == 8 else 4)
        basis = _curve(words)
        return basis if number == 8 else OTHER
    else:
        raise ValueError(f"curve of the unknown type {number}")
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
