"""How distributions are built: the step with NumPy's headers or not at all, the sources whole.

With ``REGULARIZE_PURE=1`` in the environment an installation has no compiled code, and its wheel
is one for every platform. ``pyproject.toml`` names these commands; nothing else imports them.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

#: Whether compiled code is left out.
PURE = os.environ.get("REGULARIZE_PURE", "") not in ("", "0")


class BuildStep(build_ext):
    """Compiles the step, unless compiled code is left out."""

    def finalize_options(self) -> None:
        """Add NumPy's headers."""
        if PURE:
            self.distribution.ext_modules = []
        super().finalize_options()
        self.include_dirs.append(np.get_include())

    def build_extensions(self) -> None:
        """Replace options that Microsoft's compiler does not know."""
        if self.compiler.compiler_type == "msvc":
            for extension in self.extensions:
                extension.extra_compile_args = ["/std:c11", "/O2"]
                extension.extra_link_args = []
        super().build_extensions()


class PlainWheel(bdist_wheel):
    """A wheel, for every platform where it has no compiled code."""

    def finalize_options(self) -> None:
        """Forget the extension before the wheel is named."""
        if PURE:
            self.distribution.ext_modules = []
        super().finalize_options()


class WholeSources(sdist):
    """Source distribution with the tests and the models that those read."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Add the files that no package holds."""
        found = [path for top in ("assets", "tests") for path in sorted(Path(top).rglob("*"))]
        written = [str(p) for p in found if p.is_file() and "__pycache__" not in p.parts]
        whole = [*files, *written, "CHANGELOG.md", "CITATION.cff", "tox.ini"]
        super().make_release_tree(base_dir, [*dict.fromkeys(whole)])
