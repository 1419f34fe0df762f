"""MJCF with plugins of MuJoCo that are not installed: read without what the plugins do."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import mujoco
from lxml import etree

from regularize.adapters.common.names import listed
from regularize.adapters.common.xml import Node

#: What MuJoCo says of a plugin that it does not find.
NOT_FOUND = "plugin"


def without_plugins(roots: Sequence[Node]) -> tuple[Any, str]:
    """The model of a file and of those that it includes, without plugins.

    Shapes that a plugin gives stay as shapes of unknown form.

    Args:
        roots: The root elements; those of included files after the file itself.

    Returns:
        The ``mujoco.MjSpec``, and what was left out, in words.
    """
    plugins: dict[str, None] = {}
    texts = []
    for root in roots:
        element = copy.deepcopy(root.element)
        _strip(element, plugins)
        texts.append(etree.tostring(element))
    names = [
        node.get("file") or "" for root in roots for node in root.walk() if node.tag == "include"
    ]
    included = dict(zip(names, texts[1:], strict=False))
    spec = mujoco.MjSpec.from_string(texts[0].decode(), include=included)
    return spec, f"plugins that are not installed ({listed(plugins)}), with all that they do,"


def _strip(root: Any, plugins: dict[str, None]) -> None:
    """Take the plugins out of a file; their names are added."""
    for plugin in [*root.iter("plugin")]:
        name = plugin.get("plugin")
        if name:
            plugins[name] = None
        holder = plugin.getparent()
        if holder.tag == "geom":
            holder.set("type", "mesh")
        if holder.tag == "mesh" and holder.get("file") is None:
            holder.set("file", f"{holder.get('name')}.stl")
        holder.remove(plugin)
    for extension in [*root.iter("extension")]:
        extension.getparent().remove(extension)
