"""What metamodels share: bounds, coverage, errors at points not seen; and polynomials on boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import OutsideWorkspace
from regularize.guests.design.equation_of_motion import EquationOfMotion, count, groups
from regularize.guests.design.tree import Scale
from regularize.lie.arrays import Array, Mask
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.named_columns import ShortRepr


@dataclass(frozen=True)
class Accuracy:
    """Relative errors at random points that no fit has seen.

    Errors of H, D and p are relative to their norm at the point, or to their median norm over the
    workspace where they are smaller than that.

    Attributes:
        points: Number of points inside the workspace.
        covered: Fraction of them that the metamodel covers.
        maximal: Largest relative error of H, D and p, by name.
        mean: Mean relative error, by name.
    """

    points: int
    covered: float
    maximal: dict[str, float]
    mean: dict[str, float]

    @classmethod
    def of(cls, errors: Array, truth: Array) -> Accuracy:
        """Summarise relative errors (N, groups) over the points of the workspace."""
        inside = np.isfinite(truth[:, 0])
        covered = np.isfinite(errors[:, 0])
        some = errors[covered] if covered.any() else np.zeros((1, errors.shape[1]))
        names = list(groups(1, count(1, motors=1)))[: errors.shape[1]]
        return cls(
            points=int(inside.sum()),
            covered=float(covered.sum() / max(1, inside.sum())),
            maximal=dict(zip(names, some.max(axis=0).tolist(), strict=True)),
            mean=dict(zip(names, some.mean(axis=0).tolist(), strict=True)),
        )

    @property
    def worst(self) -> float:
        """Largest relative error of all."""
        return max(self.maximal.values())


@dataclass(frozen=True, eq=False, repr=False)
class Interpolation(ShortRepr, EquationOfMotion):
    """What all metamodels have in common.

    Attributes:
        inputs: Names of the actuated coordinates, in the order of the inputs.
        lower: Lower bounds of the inputs, radians or metres, shape (s,).
        upper: Upper bounds, shape (s,).
        samples: Number of samples of the reduced model that the fit uses.
        scale: Sizes that errors are relative to.
        accuracy: Errors at points that the fit has not seen.
        findings: What should be known about the metamodel.
    """

    inputs: tuple[str, ...]
    lower: Array
    upper: Array
    samples: int
    scale: Scale
    accuracy: Accuracy
    findings: tuple[Diagnostic, ...]

    def covers(self, theta: ArrayLike) -> Mask:
        """Whether the metamodel answers at inputs of shape (..., s), shape (...)."""
        return self._like(theta, self._covered(self._table(theta)))

    def checked(self, theta: Array, errors: Array, truth: Array, tolerance: float) -> Self:
        """Add accuracy and findings from errors (N, groups) at random points (N, s)."""
        accuracy, largest = Accuracy.of(errors, truth), np.nan_to_num(errors).max(axis=1)
        if largest.max(initial=0.0) <= tolerance:
            return replace(self, accuracy=accuracy, findings=())
        i = int(np.argmax(largest))
        place = ", ".join(f"{n} = {v:.4g}" for n, v in zip(self.inputs, theta[i], strict=True))
        missed = Diagnostic(
            "REG312",
            "warning",
            f"the metamodel errs by {100 * largest[i]:.3g} % at {place}, and "
            f"{100 * tolerance:.3g} % were wanted",
            joints=self.inputs,
            help=(
                "keep away from singularities: clearance=0.01, or narrower bounds",
                "allow smaller boxes and more samples: smallest=, max_samples=",
            ),
        )
        return replace(self, accuracy=accuracy, findings=(missed,))

    def relative_errors(self, theta: Array, truth: Array) -> Array:
        """Relative errors of H, D, p and C at inputs (N, s), shape (N, groups).

        The truth, shape (N, t), is NaN outside the workspace; errors are NaN where nothing is
        known.
        """
        known = np.isfinite(truth[:, 0]) & self._covered(theta)
        places = groups(theta.shape[1], truth.shape[1])
        result = np.full((len(theta), len(places)), np.nan)
        if known.any():
            missed = self.coefficients(theta[known]) - truth[known]
            result[known] = self.scale.relative(missed, truth[known], theta.shape[1])
        return result

    def _covered(self, theta: Array) -> Mask:
        """Tell whether inputs (N, s) lie within the bounds."""
        return np.asarray(np.all((theta >= self.lower) & (theta <= self.upper), axis=1))

    def _outside(self, theta: Array) -> OutsideWorkspace:
        """Make the error that says which inputs are not covered."""
        values = ", ".join(
            f"{name} = {value:.6g}" for name, value in zip(self.inputs, theta, strict=True)
        )
        return OutsideWorkspace(
            f"the metamodel does not cover {values}; its bounds are {self.lower.tolist()} to "
            f"{self.upper.tolist()}, without what cannot be reached"
        )


if TYPE_CHECKING:
    from typing_extensions import Self
