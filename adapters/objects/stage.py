"""USD stages in memory: flattened to one layer, and opened from one again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pxr import Sdf, Usd

from regularize.adapters.objects.document import ObjectDocument
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.mechanism import Mechanism


def read(stage: Any, **options: Any) -> Mechanism:
    """Read a ``pxr.Usd.Stage`` as it is composed; findings name its prims."""
    return StageDocument(stage).read(**options)


class StageDocument(ObjectDocument):
    """A stage, with what it is composed of in one layer."""

    format = "usd"

    def __init__(self, stage: Any) -> None:
        self._stage = stage
        layer = stage.GetRootLayer()
        self.label = layer.realPath or f"<stage {layer.GetDisplayName() or layer.identifier}>"

    def write(self, folder: Path) -> Path:
        """One layer of text; references to other files become absolute."""
        path = folder / "stage.usda"
        self._stage.Flatten().Export(str(path))
        return path

    def parse(self, path: Path) -> Any:
        """A stage on an anonymous layer."""
        layer = Sdf.Layer.CreateAnonymous(path.name)
        layer.ImportFromString(path.read_text(encoding="utf-8"))
        return Usd.Stage.Open(layer)

    def source(self, source: Source | None) -> Source | None:
        """The path of the prim."""
        return source and Source(self.label, None, source.element)
