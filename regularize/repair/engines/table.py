"""The table of engines: which kinds their trees and loops hold, and on which version it was seen.

``tests/campaigns/engines_table.py`` measures it. Engines that it could not measure say so.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from regularize.errors import ModelError, RegularizeError
from regularize.mechanism.joint import Joint
from regularize.words import listed


@dataclass(frozen=True)
class PhysicsEngine:
    """One engine: what it holds, and how models are handed to it."""

    name: str
    title: str
    #: Python module that is imported, and the distribution that states its version.
    module: str
    distribution: str
    #: Version on which the kinds were measured; empty: taken from its documentation.
    measured: str
    #: Formats whose first engine this may be, and those that it reads itself.
    formats: tuple[str, ...]
    reads: tuple[str, ...]
    #: The format in which models of other formats are handed to it.
    carrier: str
    #: Kinds of joints that its tree, and its loops, hold.
    tree: frozenset[str]
    loops: frozenset[str]
    #: What else its users meet, in one phrase.
    says: str
    #: Whether its tree is an articulation, whose joints change after those that close loops.
    articulated: bool = False

    @property
    def installed(self) -> bool:
        """Whether its Python module is there."""
        try:
            return find_spec(self.module) is not None
        except ModuleNotFoundError:  # a parent package of a dotted name is absent
            return False

    @property
    def version(self) -> str | None:
        """The version that is installed, or None."""
        from importlib import metadata  # slow to load, and for engines alone

        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None

    def held(self, joint: Joint, kinds: Collection[str]) -> tuple[str, ...]:
        """Return those of some kinds that the engine holds in the place of a joint."""
        return tuple(kind for kind in kinds if kind in self._kinds(joint))

    def closes(self, joint: Joint) -> bool:
        """Say whether the engine holds a loop that a joint closes; other formats split bodies."""
        return not self.articulated or joint.kind in self.loops

    def _kinds(self, joint: Joint) -> frozenset[str]:  # that the engine holds in its place
        return self.loops if joint.closure else self.tree

    def refuse(self, joint: Joint, kind: str, possible: Collection[str]) -> ModelError:
        """Make the error about a kind that the engine does not hold, with those that it does."""
        where = "its loops hold" if joint.closure else "its tree holds"
        nearest = listed(sorted({joint.kind, *possible}))
        return ModelError(
            f"joint {joint.name!r} cannot become {kind} for {self.title}: {where} "
            f"{listed(sorted(self._kinds(joint)))}; in this file it can be {nearest}"
        )


#: Stands for the first engine of a format that is installed.
FIRST = "first"


@cache
def engines() -> dict[str, PhysicsEngine]:
    """Return all engines by name, in the order in which formats ask for them."""
    entries = json.loads(Path(__file__).with_name("table.json").read_text("utf-8"))
    found = {}
    for entry in entries:
        sets = {key: frozenset(entry[key]) for key in ("tree", "loops")}
        rows = {key: tuple(entry[key]) for key in ("formats", "reads")}
        found[entry["name"]] = PhysicsEngine(**{**entry, **sets, **rows})
    return found


def engine_for(format: str, name: str | None = None) -> PhysicsEngine | None:
    """Return the engine of a name, else the first installed one of a format, else its first one."""
    if name not in (None, FIRST):
        if name not in engines():
            raise RegularizeError(f"no engine is called {name!r}; known are {listed([*engines()])}")
        return engines()[name]
    own = [engine for engine in engines().values() if format in engine.formats]
    return next((engine for engine in own if engine.installed), own[0] if own else None)
