"""Assemblies inside assemblies: parts by the path of instances that leads to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from regularize.adapters.cad.draft import CadDraft
from regularize.adapters.common.draft import Side
from regularize.adapters.common.located import Located
from regularize.errors import ReadError
from regularize.escape import listed
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse

#: Deepest nesting of assemblies.
DEEPEST = 64

InstancePath: TypeAlias = tuple[str, ...]
Definition = TypeVar("Definition", bound=Located)


@dataclass(frozen=True, eq=False)
class SubAssembly(Generic[Definition]):
    """An assembly at one of its places."""

    path: InstancePath  # instances that lead to it; empty for the root
    definition: Definition  # what the file says about it
    title: str = ""

    def inner(self, step: str, name: str, definition: Definition) -> SubAssembly[Definition]:
        """The sub-assembly that one of its instances is."""
        return SubAssembly((*self.path, step), definition, f"{self.title}{name}/")


@dataclass(eq=False)
class Occurrences:
    """The instances of an assembly and of all that is in it."""

    draft: CadDraft  # the assembly
    placed: dict[InstancePath, Array] = field(default_factory=lambda: {(): np.eye(4)})
    bodies: dict[InstancePath, str] = field(default_factory=dict)  # body of every part
    rigid: dict[InstancePath, list[InstancePath]] = field(default_factory=dict)
    unread: list[tuple[str, Located]] = field(default_factory=list)

    def is_rigid(self, path: InstancePath) -> bool:
        """Whether an instance is, or lies in, a rigid sub-assembly."""
        return any(path[: len(key)] == key for key in self.rigid)

    def parts(self, path: InstancePath) -> list[InstancePath]:
        """The part itself, or the parts of a sub-assembly."""
        return [part for part in self.bodies if part[: len(path)] == path]

    def body(self, path: InstancePath, at: Located) -> str:
        """Body of an instance: the part itself, or the first part of a sub-assembly."""
        if not path:
            return self.draft.ground
        parts = self.parts(path)
        if not parts:
            raise _unknown(path, at)
        return self.bodies[parts[0]]

    def side(self, path: InstancePath, T: Array, at: Located, what: str) -> Side:
        """Body of an instance, and a frame given in the instance on that body."""
        if path not in self.placed:
            raise _unknown(path, at)
        body = self.body(path, at)
        if path and path not in self.bodies and not self.is_rigid(path):
            self.draft.unread(
                f"{what} joins the sub-assembly `{body.rpartition('/')[0]}` as a whole, whose "
                f"parts move: its first part `{body}` is taken",
                at.source,
                "join the part that is meant, or make the sub-assembly rigid",
            )
        return body, inverse(self.draft.T_ground_body[body]) @ self.placed[path] @ T

    def fasten(self, name: str, paths: Iterable[InstancePath], at: Located) -> None:
        """Fix parts to the first one at their saved placements."""
        first, *others = dict.fromkeys(self.body(path, at) for path in paths)
        for other in others:
            self.draft.fix(name, first, other, at.source)

    def fasten_groups(self, at: Located) -> None:
        """Fix the parts of rigid sub-assemblies, and the members of rigid groups, to each other."""
        for path, members in self.rigid.items():
            parts: Sequence[InstancePath] = members or self.parts(path)
            if parts:
                self.fasten(f"rigid {path[-1]}", parts, at)

    def report_unread(self, what: str) -> None:
        """Say which joints and mates, as the format calls them, are not read."""
        if self.unread:
            names = listed(name for name, _ in self.unread)
            self.draft.fewer_constraints(f"{what} not read: {names}", self.unread[0][1].source)


def _unknown(path: InstancePath, at: Located) -> ReadError:
    return at.error(f"there is no instance `{'/'.join(path)}`; export the model again")
