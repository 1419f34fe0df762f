"""What is connected with what: disjoint sets, and the biconnected parts of a graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

Element = TypeVar("Element", bound=Hashable)


class DisjointSets(Generic[Element]):
    """Sets without common elements that are united two or more at a time."""

    def __init__(self, elements: Iterable[Element] = ()) -> None:
        """Start with single elements."""
        self._above = {element: element for element in elements}
        self._size = dict.fromkeys(self._above, 1)

    def __getitem__(self, element: Element) -> Element:
        """The element that stands for the set of this one."""
        above = self._above
        if element not in above:
            above[element] = element
            self._size[element] = 1
            return element
        root = above[element]
        while above[root] != root:
            root = above[root]
        while above[element] != root:
            above[element], element = root, above[element]
        return root

    def union(self, *elements: Element) -> None:
        """Make one set of those of the elements; the largest lends its name."""
        found = dict.fromkeys(self[element] for element in elements)
        if len(found) < 2:
            return
        root, *others = sorted(found, key=lambda r: self._size[r], reverse=True)
        for other in others:
            self._size[root] += self._size[other]
            self._above[other] = root

    def groups(self) -> list[list[Element]]:
        """All sets, in the order in which their first elements were met."""
        found: dict[Element, list[Element]] = {}
        for element in list(self._above):
            found.setdefault(self[element], []).append(element)
        return list(found.values())


def joined(pairs: Iterable[Sequence[Element]]) -> list[list[Element]]:
    """What pairs join, directly or by way of others."""
    sets = DisjointSets[Element]()
    for pair in pairs:
        sets.union(*pair)
    return sets.groups()


def biconnected(ends: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Positions of the edges of every biconnected part, two edges between the same ends being one."""
    incident: dict[int, list[int]] = {}
    for edge, (one, other) in enumerate(ends):
        incident.setdefault(one, []).append(edge)
        incident.setdefault(other, []).append(edge)
    found: dict[int, int] = {}
    low: dict[int, int] = {}
    place: dict[int, int] = {}
    for start in incident:
        if start in found:
            continue
        found[start] = low[start] = len(found)
        waiting: list[int] = []
        path = [(start, -1, iter(incident[start]))]
        while path:
            vertex, via, edges = path[-1]
            edge = next(edges, -1)
            if edge < 0:
                path.pop()
                if path:
                    before = path[-1][0]
                    low[before] = min(low[before], low[vertex])
                    if low[vertex] >= found[before]:
                        yield waiting[place[via] :]
                        del waiting[place[via] :]
                continue
            one, other = ends[edge]
            ahead = other if one == vertex else one
            if edge == via or found.get(ahead, -1) > found[vertex]:
                continue  # the way it came, or met from its other end
            place[edge] = len(waiting)
            waiting.append(edge)
            if ahead in found:
                low[vertex] = min(low[vertex], found[ahead])
            else:
                found[ahead] = low[ahead] = len(found)
                path.append((ahead, edge, iter(incident[ahead])))
