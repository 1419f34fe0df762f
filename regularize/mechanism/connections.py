"""What is connected with what: disjoint sets, and the biconnected parts of a graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

Element = TypeVar("Element", bound=Hashable)


class DisjointSets(Generic[Element]):
    """Sets without common elements, united two or more at a time; a new element is alone."""

    def __init__(self, elements: Iterable[Element] = ()) -> None:

        self._above = {element: element for element in elements}
        self._size = dict.fromkeys(self._above, 1)

    def __getitem__(self, element: Element) -> Element:
        """Return the element that stands for the set of this one."""
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
        """Unite the sets of the elements; the largest lends its name."""
        roots = dict.fromkeys(self[element] for element in elements)
        if not roots:
            return
        root, *others = sorted(roots, key=lambda r: self._size[r], reverse=True)
        for other in others:
            self._size[root] += self._size[other]
            self._above[other] = root

    def groups(self) -> list[list[Element]]:
        """Return all sets, in the order in which their first elements were met."""
        groups: dict[Element, list[Element]] = {}
        for element in list(self._above):
            groups.setdefault(self[element], []).append(element)
        return list(groups.values())


def joined(pairs: Iterable[Sequence[Element]]) -> list[list[Element]]:
    """Return the groups of elements that pairs join, directly or by way of others."""
    sets = DisjointSets[Element]()
    for pair in pairs:
        sets.union(*pair)
    return sets.groups()


def biconnected(ends: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Generate the edges of every biconnected part, by their places among pairs of vertices.

    Depth-first search: a part ends where nothing behind a vertex leads back beyond it (Hopcroft and
    Tarjan 1973). Two edges between the same vertices are a part.
    """
    incident: dict[int, list[int]] = {}
    for edge, (one, other) in enumerate(ends):
        incident.setdefault(one, []).append(edge)
        incident.setdefault(other, []).append(edge)
    entered: dict[int, int] = {}
    low: dict[int, int] = {}
    place: dict[int, int] = {}
    for start in incident:
        if start in entered:
            continue
        entered[start] = low[start] = len(entered)
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
                    if low[vertex] >= entered[before]:
                        yield waiting[place[via] :]
                        del waiting[place[via] :]
                continue
            one, other = ends[edge]
            ahead = other if one == vertex else one
            if edge == via or entered.get(ahead, -1) > entered[vertex]:
                continue  # the way it came, or met from its other end
            place[edge] = len(waiting)
            waiting.append(edge)
            if ahead in entered:
                low[vertex] = min(low[vertex], entered[ahead])
            else:
                entered[ahead] = low[ahead] = len(entered)
                path.append((ahead, edge, iter(incident[ahead])))
