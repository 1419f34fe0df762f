"""How the compiled step is built: with NumPy's headers, or not at all.

With ``REGULARIZE_PURE=1`` in the environment an installation has no compiled code, and its wheel
is one for every platform. ``pyproject.toml`` names these commands; nothing else imports them.
"""

from __future__ import annotations

import os

import numpy as np
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

#: Whether compiled code is left out.
PURE = os.environ.get("REGULARIZE_PURE", "") not in ("", "0")


class BuildStep(build_ext):
    """Compiles the step, where it is wanted."""

    def finalize_options(self) -> None:
        """Add NumPy's headers."""
        if PURE:
            self.distribution.ext_modules = []
        super().finalize_options()
        self.include_dirs.append(np.get_include())


class PlainWheel(bdist_wheel):
    """A wheel, for every platform where it has no compiled code."""

    def finalize_options(self) -> None:
        """Forget the extension before the wheel is named."""
        if PURE:
            self.distribution.ext_modules = []
        super().finalize_options()
