"""Two mechanisms compared as machines: what of the one is not in the other, datum by datum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from regularize.lie.screw import Array
from regularize.model.body import Inertia
from regularize.model.diagnostic import Diagnostic, Severity
from regularize.model.mechanism import Coupling, Joint, Mechanism
from regularize.reduction.reduce import Reduction
from regularize.verification.motions import motion_differences
from regularize.verification.pairing import Pairing, pair
from regularize.verification.places import Placement


def differences(
    before: Mechanism,
    after: Mechanism,
    *,
    target: str = "the file",
    reduction: Reduction | None = None,
    rtol: float = 1e-9,
) -> list[Diagnostic]:
    """What a mechanism has lost or changed on its way, one finding for each datum.

    Bodies and joints are compared by name, through the rows and halves that writers make of them;
    places and masses in the world at the reference pose, so that frames may lie elsewhere. Loops,
    mobility and redundancy are compared last: where all joints stand where they stood, they are
    the same, and are not computed again.

    Args:
        before: What was meant.
        after: What was read back.
        target: What the findings call ``after``, such as ``URDF``.
        reduction: That of ``before``, if it is known.
        rtol: Differences that count as none: radians, lengths by the size of the mechanism, masses
            and other numbers relative to themselves.

    Returns:
        Findings REG320 (errors: another machine) to REG329.
    """
    pairing = pair(before, after)
    places = Placement.of(pairing)
    forgotten = replace(places, before=type(places.before).of(_at_zero(before)))
    zeroed = places.worst() > rtol and forgotten.worst() < places.worst()
    comparison = Comparison(pairing, forgotten if zeroed else places, target, rtol, zeroed)
    found = [*comparison.findings()]
    return [*motion_differences(pairing, found, target, reduction), *found]


def _at_zero(mechanism: Mechanism) -> Mechanism:
    return mechanism.with_positions({j.name: np.zeros(j.freedoms) for j in mechanism.joints})


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison of two paired mechanisms.

    Attributes:
        pairing: Their bodies and joints.
        places: Where these are.
        target: What findings call the second one.
        rtol: Differences that count as none.
        zeroed: Whether the second one has forgotten the stored coordinates of the first one.
    """

    pairing: Pairing
    places: Placement
    target: str
    rtol: float
    zeroed: bool

    def findings(self) -> Iterator[Diagnostic]:
        """All findings about single data, in the order of their codes."""
        yield from self._names()
        yield from self._masses()
        yield from self._places()
        yield from self._coordinates()
        yield from self._actuators()
        yield from self._couplings()
        yield from self._settings()

    def _find(
        self, code: str, message: str, *joints: str, severity: Severity = "warning"
    ) -> Diagnostic:
        return Diagnostic(code, severity, f"{self.target}: {message}", joints=joints)

    # -- names

    def _names(self) -> Iterator[Diagnostic]:
        before, after = self.pairing.before, self.pairing.after
        for name in self.pairing.lost_bodies():
            yield self._find("REG321", f"body `{name}` is not there")
        for name in self.pairing.added_bodies():
            yield self._find("REG321", f"body `{name}` is there as well")
        if before.ground not in {body.name for body in after.bodies}:
            message = f"the ground `{before.ground}` is called `{after.ground}`"
            yield self._find("REG321", message, severity="note")
        for joint in before.joints:
            parts = self.pairing.joints[joint.name]
            if not parts:
                yield self._find("REG321", f"joint `{joint.name}` is not there", joint.name)
            elif len(parts) == 1 and parts[0].name != joint.name:
                message = f"joint `{joint.name}` is called `{parts[0].name}`"
                yield self._find("REG321", message, joint.name, severity="note")
        for joint in self.pairing.added:
            yield self._find("REG321", f"joint `{joint.name}` is there as well", joint.name)

    # -- masses

    def _masses(self) -> Iterator[Diagnostic]:
        pairing, places = self.pairing, self.places
        for body in pairing.before.bodies:
            names = [name for name, of in pairing.bodies.items() if of == body.name]
            if not names:
                continue
            one = places.before.inertia(body.name)
            parts = [part for name in names if (part := places.after.inertia(name)) is not None]
            two = Inertia.total(parts) if parts else None
            still = body.name == pairing.before.ground
            for message in self._inertia(one, two):
                message = f"body `{body.name}`{', the ground,' if still else ''} {message}"
                yield self._find("REG322", message, severity="note" if still else "warning")

    def _inertia(self, one: Inertia | None, two: Inertia | None) -> Iterator[str]:
        if one is None or two is None:
            # No mass and unknown mass are the same to every engine.
            if one is not None and (one.mass or np.any(one.matrix)):
                yield f"has no mass properties there (mass {one.mass:g} kg)"
            elif two is not None and (two.mass or np.any(two.matrix)):
                yield f"has mass properties there that nobody stated (mass {two.mass:g} kg)"
            return
        size = self.places.size
        if abs(one.mass - two.mass) > self.rtol * abs(one.mass):
            yield f"has mass {two.mass:.9g} kg instead of {one.mass:.9g} kg"
        if one.mass and np.max(np.abs(one.center - two.center)) > self.rtol * size:
            yield f"has its centre of mass {_span(one.center - two.center)} elsewhere"
        largest = float(np.max(np.abs(one.matrix)))
        if np.max(np.abs(one.matrix - two.matrix)) > self.rtol * (largest + one.mass * size**2):
            yield "has another rotational inertia"

    # -- places

    def _places(self) -> Iterator[Diagnostic]:
        for joint in self.pairing.before.joints:
            if self.pairing.joints[joint.name]:
                yield from self._place(joint)
        for joint in self.pairing.before.joints:
            if self.zeroed and np.any(joint.position):
                shown = _numbers(joint.position)
                message = f"the stored coordinate of `{joint.name}` is lost ({shown})"
                yield self._find("REG323", message, joint.name)

    def _place(self, joint: Joint) -> Iterator[Diagnostic]:
        parts, slides = self.pairing.joints[joint.name], self.pairing.slides
        of = self.pairing.bodies
        ends = [parts[0].parent, parts[-1].child]
        if parts[-1].name in slides:
            slide = slides[parts[-1].name]
            ends[1] = slide.child if slide.parent == ends[1] else slide.parent
        ends = [of.get(end, end) for end in ends]
        if ends != [joint.parent, joint.child]:
            message = f"joint `{joint.name}` joins {_pair(ends)} instead of "
            message += _pair([joint.parent, joint.child])
            yield self._find("REG323", message, joint.name)
            return
        freedoms = len(self.pairing.freedoms(joint))
        if freedoms != joint.freedoms:
            message = f"joint `{joint.name}` has {freedoms} freedoms instead of {joint.freedoms}"
            yield self._find("REG323", message, joint.name)
            return
        off = self.places.off(joint)
        if off > self.rtol:
            message = f"joint `{joint.name}` stands or points elsewhere, by {off:.2g} of the size"
            yield self._find("REG323", message, joint.name)

    # -- what belongs to a freedom

    def _coordinates(self) -> Iterator[Diagnostic]:
        for joint in self._comparable():
            parts = self.pairing.freedoms(joint)
            factors, shifts = self.places.factors(joint), self._shifts(joint)
            if np.any(shifts):
                message = f"zero of `{joint.name}` is where the model counts {_numbers(shifts)}"
                yield self._find("REG323", message, joint.name)
            bounds = np.array(
                [
                    [-np.inf, np.inf] if part.limits is None else part.limits[k] / factor + shift
                    for (part, k), factor, shift in zip(parts, factors, shifts, strict=True)
                ]
            ).reshape(-1, 2)
            wanted = np.tile([-np.inf, np.inf], (joint.freedoms, 1))
            wanted = wanted if joint.limits is None else np.asarray(joint.limits)
            for k, (one, two) in enumerate(zip(wanted, bounds, strict=True)):
                if not self._same(one, two):
                    message = f"bounds of {_freedom(joint, k)} {_instead(one, two)}"
                    yield self._find("REG324", message, joint.name)

    def _comparable(self) -> Iterator[Joint]:
        """Joints whose freedoms correspond to those of the file one to one."""
        for joint in self.pairing.before.joints:
            if joint.freedoms and len(self.pairing.freedoms(joint)) == joint.freedoms:
                yield joint

    def _shifts(self, joint: Joint) -> Array:
        """By how much the zero of each coordinate has moved."""
        if joint.name in self.places.before.closures or joint.group:
            return np.zeros(joint.freedoms)
        shifts = self.places.shifts(joint)
        return np.asarray(np.where(np.abs(shifts) > self.rtol, shifts, 0.0))

    def _same(self, one: Array, two: Array) -> bool:
        """Whether numbers agree; infinite ones, and those as large as numbers get, are open."""
        open_ones, open_twos = (np.abs(v) > np.finfo(np.float64).max / 2 for v in (one, two))
        if np.any(open_ones != open_twos):
            return False
        kept = ~open_ones
        return bool(np.allclose(two[kept], one[kept], rtol=self.rtol, atol=self.rtol))

    def _actuators(self) -> Iterator[Diagnostic]:
        for joint in self.pairing.before.joints:
            parts = self.pairing.joints[joint.name]
            driven = any(part.actuated for part in parts)
            if parts and driven != bool(joint.actuated):
                verb = "is not marked as driven" if joint.actuated else "is driven"
                yield self._find("REG326", f"joint `{joint.name}` {verb}", joint.name)

    # -- what belongs to the whole

    def _couplings(self) -> Iterator[Diagnostic]:
        there = [_row(coupling) for coupling in self.pairing.after.couplings]
        for coupling in self.pairing.before.couplings:
            row = self._expected(coupling)
            match = next((r for r in there if row is not None and _alike(r, row, self.rtol)), None)
            if match is None:
                names = [name for name, _, _ in coupling.terms]
                yield self._find("REG327", f"coupling `{coupling.name}` is lost", *names)
            else:
                there.remove(match)
        slides = {slide.name for slide in self.pairing.slides.values()}
        for row in there:
            names = [name for name, _ in row]
            if not slides & {*names}:
                shown = _pair(names)
                yield self._find("REG327", f"couples {shown}, which the model does not", *names)
        kept = {motion.name for motion in self.pairing.after.motions}
        for motion in self.pairing.before.motions:
            if motion.name not in kept:
                message = f"prescribed motion `{motion.name}` is lost ({motion.expression})"
                yield self._find("REG327", message, motion.joint)

    def _expected(self, coupling: Coupling) -> dict[tuple[str, int], float] | None:
        """A coupling in the coordinates of the file; None where it has not all of them."""
        joints = {joint.name: joint for joint in self._comparable()}
        terms, offset = [], coupling.offset
        for name, index, coefficient in coupling.terms:
            if name not in joints:
                return None
            joint = joints[name]
            part, k = self.pairing.freedoms(joint)[index]
            k = part.freedoms - 1 - k if part is not self._original(part) and not part.group else k
            terms.append((part.name, k, coefficient / self.places.factors(joint)[index]))
            offset -= coefficient * self._shifts(joint)[index]
        return _row(replace(coupling, terms=tuple(terms), offset=float(offset)))

    def _original(self, part: Joint) -> Joint:
        return self.pairing.after.joint(part.name)

    def _settings(self) -> Iterator[Diagnostic]:
        one, two = self.pairing.before.gravity, self.pairing.after.gravity
        if not self._same(one, two):
            yield self._find("REG329", f"gravity {_instead(one, two)}")


def _row(coupling: Coupling) -> dict[tuple[str, int], float]:
    """Coefficients by coordinate, the largest one 1, and the offset under no coordinate."""
    row: dict[tuple[str, int], float] = {}
    for name, index, coefficient in coupling.terms:
        row[name, index] = row.get((name, index), 0.0) + coefficient
    largest = max(sorted(row), key=lambda key: abs(row[key])) if row else ("", 0)
    scale = row.get(largest) or 1.0
    return {key: value / scale for key, value in {**row, ("", 0): coupling.offset}.items()}


def _alike(
    one: dict[tuple[str, int], float], two: dict[tuple[str, int], float], rtol: float
) -> bool:
    # Which of two coefficients is the larger may depend on rounding, and their signs with it.
    if one.keys() != two.keys():
        return False
    a, b = (np.array([row[key] for key in sorted(row)]) for row in (one, two))
    return bool(np.allclose(a, b, rtol=0, atol=rtol) or np.allclose(a, -b, rtol=0, atol=rtol))


def _freedom(joint: Joint, index: int) -> str:
    return f"`{joint.name}`" if joint.freedoms == 1 else f"freedom {index + 1} of `{joint.name}`"


def _numbers(values: Array) -> str:
    return " ".join(f"{value:g}" for value in np.atleast_1d(values))


def _instead(one: Array, two: Array) -> str:
    return f"became {_numbers(two)} instead of {_numbers(one)}"


def _pair(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _span(delta: Array) -> str:
    return f"{1e3 * float(np.linalg.norm(delta)):.3g} mm"
