"""The layers of a stage, seen before USD composes them: it waits for pipes and makes all prims."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pxr import Sdf, Tf

from regularize.adapters.common.input_files import check_regular
from regularize.errors import ReadError

#: Prims that a stage may come to; a few lines of references of references can ask for any number.
MOST = 1_000_000


@dataclass(eq=False)
class Layers:
    """What a stage is composed of; instances count as one prim."""

    path: str  # the file as the user named it
    known: dict[tuple[str, str], int] = field(default_factory=dict)
    held: list[Any] = field(default_factory=list)

    def check(self) -> None:
        """Raise ``ReadError`` where a layer is no regular file, or there are too many prims."""
        self.held.append(Sdf.Layer.FindOrOpen(self.path))
        if self.held[0] is None:  # without an error only where there is no such file
            raise ReadError(self.path, "is gone; USD finds no file of this name")
        self._prims(self.held[0], "/")

    def _prims(self, layer: Any, path: Any) -> int:
        """How many prims one comes to, itself and copies of others below it included."""
        key = layer.identifier, str(path)
        if key in self.known:
            return self.known[key]
        self.known[key] = 1  # where it leads back here, which USD says itself
        found = [each.GetPrimAtPath(path) for each in self._stack(layer, set())]
        specs = [spec for spec in found if spec]
        inside = {str(child.path) for spec in specs for child in spec.nameChildren}
        total = 1 + sum(self._prims(layer, each) for each in sorted(inside))
        for spec in specs:
            for variants in spec.variantSets.values() if path != "/" else ():
                ways = [each.primSpec.path for each in variants.variantList]
                total += max((self._prims(layer, each) for each in ways), default=0)
            lists = (spec.referenceList, spec.payloadList) if path != "/" else ()
            for arc in (arc for each in lists for arc in each.GetAddedOrExplicitItems()):
                other = self._opened(layer, arc.assetPath) if arc.assetPath else layer
                if other is not None:
                    total += self._prims(other, arc.primPath or f"/{other.defaultPrim}")
            bases = (spec.inheritPathList, spec.specializesList) if path != "/" else ()
            for base in (base for each in bases for base in each.GetAddedOrExplicitItems()):
                total += self._prims(layer, base)
        if total > MOST:
            raise ReadError(self.path, f"comes to more than {MOST} prims", element=str(path))
        self.known[key] = 1 if path != "/" and any(spec.instanceable for spec in specs) else total
        return self.known[key]

    def _stack(self, layer: Any, seen: set[str]) -> Iterator[Any]:
        """A layer and those below it."""
        if layer is not None and layer.identifier not in seen:
            seen.add(layer.identifier)
            yield layer
            for each in layer.subLayerPaths:
                yield from self._stack(self._opened(layer, each), seen)

    def _opened(self, layer: Any, name: str) -> Any:
        """Another layer; None where USD finds or understands none and says so itself."""
        place = Sdf.ComputeAssetPathRelativeToLayer(layer, name).partition(":SDF_FORMAT_ARGS:")[0]
        if os.path.exists(place):
            check_regular(place)
        try:
            self.held.append(Sdf.Layer.FindOrOpen(place))
        except Tf.ErrorException:
            return None
        return self.held[-1]
