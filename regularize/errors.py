"""Errors that a user can act on.

A fault in the *input or the call* is raised from here; a fault in the user's *model* is a
:class:`~regularize.diagnostic.Diagnostic`. Every message says what was found, what was expected
and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from regularize.escape import FileText, did_you_mean, displayed


class RegularizeError(Exception):
    """Root of every error that this package raises on purpose."""

    def __str__(self) -> str:
        """The message, fit to be shown: it may quote a file."""
        return displayed(super().__str__())

    def __reduce__(self) -> tuple[Callable[..., RegularizeError], tuple[Any, ...]]:
        """Pickle by attributes, so that another process gets the same error."""
        return _again, (type(self), self.args, self.__dict__)


def _again(
    kind: type[RegularizeError], arguments: tuple[Any, ...], attributes: dict[str, Any]
) -> RegularizeError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class ReadError(RegularizeError):
    """A file cannot be read as the format that it claims to be.

    Attributes:
        path: The file.
        line: Line number, counted from 1, or None where the format has no lines.
        element: The element at fault, as a path such as ``robot/joint[@name='j1']``.
        reason: What was found, what was expected and what to do.
    """

    def __init__(
        self, path: str, reason: str, *, line: int | None = None, element: str | None = None
    ) -> None:
        self.path, self.line, self.reason = path, line, reason
        self.element = FileText(element or "") or None
        place = path if line is None else f"{path}:{line}"
        super().__init__(": ".join(part for part in (place, element, reason) if part))


_LINK = "export it by the Simscape Multibody Link plug-in (.xml)"
_DRAWN = "holds shapes and no joints: open it in FreeCAD, join the parts in its Assembly workbench,"
#: Files of CAD systems, by their endings, with a way in.
CAD = {
    **dict.fromkeys((".sldasm", ".sldprt"), f"of SolidWorks: {_LINK}, or as URDF"),
    **dict.fromkeys((".iam", ".ipt"), f"of Inventor: {_LINK}"),
    **dict.fromkeys((".asm", ".prt"), f"of Creo or NX: from Creo {_LINK}"),
    **dict.fromkeys((".f3d", ".f3z"), "of Fusion: export it as URDF or SDF by an add-in"),
    **dict.fromkeys((".catproduct", ".catpart"), f"of CATIA: its STEP {_DRAWN} and check that"),
    **dict.fromkeys((".step", ".stp", ".iges", ".igs"), f"{_DRAWN} and check the .FCStd"),
    **dict.fromkeys((".stl", ".obj", ".dae", ".3mf"), "is a mesh: name the model that shows it"),
}


def install_words(extra: str) -> str:
    """Return how to install an extra: what works from a checkout, and what will from the index."""
    return (
        f"pip install '.[{extra}]' in a checkout (once it is published: "
        f"pip install 'pin-regularize[{extra}]')"
    )


class UnknownFormat(RegularizeError):
    """No adapter recognises the file."""

    def __init__(self, path: str, known: Sequence[str], option: str = "--format") -> None:
        self.path, self.known = path, tuple(known)
        near = did_you_mean(path, known).partition(";")[0]
        if way := CAD.get(path[path.rfind(".") :].lower()):
            super().__init__(f"{path}: {way}")
            return
        super().__init__(
            f"{path}: no known model format{near} (known: {', '.join(known)}); "
            f"name it with {option}, or see `regularize formats`"
        )


class MissingExtra(RegularizeError):
    """A format needs an optional package that is not installed."""

    def __init__(self, what: str, module: str, extra: str) -> None:
        self.module, self.extra = module, extra
        super().__init__(
            f"{what} needs the Python module {module!r}; install it with: {install_words(extra)}"
        )


class MissingPinocchio(MissingExtra):
    """What is asked for computes with Pinocchio, which this machine does not have."""

    def __init__(self, what: str) -> None:
        super().__init__(what, "pinocchio", "")
        self.args = (
            f"{what} needs Pinocchio, which is not installed: pip install pin (Linux and macOS; "
            "elsewhere from conda-forge). Reading, checking, cures, fixing, closed forms and "
            "simulation work without it",
        )


class ModelError(RegularizeError):
    """A mechanism is inconsistent in itself (unknown body, repeated name, wrong shape)."""


class NotTaken(ModelError, TypeError):
    """An object of a kind that no reader takes as a model."""


class NotFinite(ModelError):
    """A configuration, velocity or force contains NaN or infinity."""


class NotClosed(RegularizeError):
    """An operation needs an assembled mechanism and a loop cannot be closed.

    Attributes:
        loop: The closing joint of the loop that stays open.
        translation: Residual gap in metres.
        rotation: Residual angle in radians.
    """

    def __init__(self, loop: str, translation: float, rotation: float) -> None:
        self.loop, self.translation, self.rotation = loop, translation, rotation
        super().__init__(
            f"the loop through joint {loop!r} cannot be closed: "
            f"{translation * 1e3:.3g} mm and {rotation * 1e3:.3g} mrad stay open; see "
            "`regularize check`, or take the gaps up where they are idle: --absorb-gaps"
        )


class UnsupportedExport(RegularizeError):
    """The target of an export cannot express something that the model contains."""


class ClosureLost(ModelError):
    """No closed pose exists for the given independent coordinates."""


class NoInertia(ModelError):
    """The mechanism can move without moving any mass, so its accelerations are not determined."""


class SingularConfiguration(ModelError):
    """More coordinates can move at a configuration than the given ones determine.

    Attributes:
        joints: Coordinates that can move there although the given ones are locked, where known.
    """

    def __init__(self, message: str, joints: Sequence[str] = ()) -> None:
        self.joints = tuple(joints)
        super().__init__(message)


class SingularInputs(SingularConfiguration):
    """Inputs cannot be reached without passing a configuration at which they determine nothing.

    Attributes:
        inputs: Names of the actuated coordinates.
        wanted: Values that were asked for, radians or metres.
        stopped: Values at which the way to them ends.
    """

    def __init__(
        self,
        inputs: Sequence[str],
        wanted: Sequence[float],
        stopped: Sequence[float],
        joints: Sequence[str],
    ) -> None:
        self.inputs = tuple(inputs)
        self.wanted = tuple(float(value) for value in wanted)
        self.stopped = tuple(float(value) for value in stopped)
        listed = [
            ", ".join(f"{name} = {value:.6g}" for name, value in zip(inputs, values, strict=True))
            for values in (self.wanted, self.stopped)
        ]
        if self.wanted == self.stopped:
            where = f"the configuration at {listed[0]} is singular"
        else:
            where = f"{listed[0]} is out of reach: the way there is singular at {listed[1]}"
        super().__init__(
            f"{where}, where {', '.join(joints)} can move with the inputs locked; "
            "keep the inputs inside, or choose others",
            joints,
        )


class OutsideWorkspace(RegularizeError):
    """A metamodel is asked for inputs that it does not cover."""
