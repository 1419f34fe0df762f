"""Mechanisms written down in Python, as drawn: bodies, joints by their axes, couplings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.lie.arrays import Array
from regularize.lie.screw import cross, unit
from regularize.mechanism.body import Body, Inertia
from regularize.mechanism.joint import Joint, JointDynamics, JointLimits
from regularize.mechanism.joint_kinds import HIGHER_PAIRS, KINDS, kind_of
from regularize.mechanism.mechanism import STANDARD_GRAVITY, Coupling, Mechanism
from regularize.tolerances import VANISHING

GROUND = "ground"
ORIGIN, Z = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
#: What a joint may be given besides its place: its own attributes, its limits, and its forces.
_OWN = ("actuated", "closure", "limits", "tolerance")
_LIMITS = ("velocity", "effort")
_DYNAMICS = tuple(each.name for each in fields(JointDynamics))


def assembly(name: str, *, gravity: ArrayLike = STANDARD_GRAVITY) -> AssemblyBuilder:
    """Begin a mechanism, which is written down body by body and joint by joint.

    Everything is in SI units and in the world frame, at the pose as drawn, where all joint
    coordinates are zero. The body ``ground`` exists.

    Args:
        name: Name of the mechanism.
        gravity: Acceleration of free fall, m/s², shape (3,).
    """
    return AssemblyBuilder(name, gravity)


class AssemblyBuilder:
    """A mechanism in the making; ``mechanism()`` returns the finished value.

    Every method raises ``ModelError`` at once for a name that is taken or unknown, and for an axis
    or a mass that cannot be. Joints take these further arguments, one value or one per freedom:
    ``actuated``, ``limits`` (lower and upper coordinate, shape (freedoms, 2)), ``velocity`` and
    ``effort`` (their largest values), ``damping``, ``friction``, ``stiffness``, ``rest_position``,
    ``armature``, ``tolerance`` (a length and an angle), and ``closure`` for a joint that shall
    close a loop.

    Example:
        >>> a = assembly("four-bar")
        >>> for body in ("crank", "coupler", "rocker"):
        ...     a.body(body, mass=1.0)
        >>> a.hinge("A", "ground", "crank", at=(0, 0, 0), axis=(0, 1, 0), actuated=True)
        >>> a.hinge("B", "crank", "coupler", at=(0, 0, 1), axis=(0, 1, 0))
        >>> a.hinge("C", "coupler", "rocker", at=(2, 0, 1.5), axis=(0, 1, 0))
        >>> a.hinge("D", "rocker", "ground", at=(2, 0, 0), axis=(0, 1, 0))
        >>> a.mechanism()
        <Mechanism 'four-bar': 4 bodies, 4 joints, 0 couplings, python>
    """

    def __init__(self, name: str, gravity: ArrayLike) -> None:
        self._name = name
        self._gravity = _vector("gravity", gravity)
        self._bodies = {GROUND: Body(GROUND)}
        self._joints: dict[str, Joint] = {}
        self._couplings: dict[str, Coupling] = {}

    def body(
        self,
        name: str,
        mass: float | None = None,
        com: ArrayLike = ORIGIN,
        inertia: ArrayLike | None = None,
    ) -> None:
        """Add a rigid body.

        Args:
            name: Its name.
            mass: Mass in kilograms; None where it is not known.
            com: Centre of mass in metres, shape (3,).
            inertia: Rotational inertia about the centre of mass along the world's axes, kg m²,
                shape (3, 3); None for a point mass.
        """
        self._new("body", name, self._bodies)
        if mass is None:
            if inertia is not None or np.any(np.asarray(com)):
                raise ModelError(f"body {name!r} has a centre or an inertia and no mass")
            self._bodies[name] = Body(name)
            return
        if not (np.isfinite(mass) and mass >= 0.0):
            raise ModelError(f"body {name!r}: {mass!r} is no mass in kilograms")
        matrix = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, dtype=np.float64)
        if matrix.shape != (3, 3) or not np.allclose(matrix, matrix.T):
            raise ModelError(f"body {name!r}: an inertia is a symmetric matrix of shape (3, 3)")
        moments = np.linalg.eigvalsh(matrix)
        if moments[0] < 0.0 and not np.isclose(moments[0], 0.0, atol=VANISHING * moments[2]):
            raise ModelError(f"body {name!r}: its inertia has the negative moment {moments[0]:.6g}")
        center = _vector(f"body {name!r}: com", com)
        self._bodies[name] = Body(name, Inertia(float(mass), center, matrix))

    def part(self, part: Any, density: float, name: str | None = None) -> None:
        """Add a body with the mass properties of a part that was drawn in Python, where it stands.

        Args:
            part: A shape of build123d or CadQuery, in millimetres.
            density: Its material, kg/m³.
            name: Its name; by default the label of the part. ``ground`` needs no part.
        """
        from regularize.adapters.shapes.solids import inertia_of  # with OpenCASCADE

        name = name or str(getattr(part, "label", "") or getattr(part, "name", "") or "")
        inertia = inertia_of(name, part, density)
        self.body(name, inertia.mass, inertia.center, inertia.matrix)

    def mate(self, name: str, first: Any, second: Any, **more: Any) -> None:
        """Add the joint that two joints of build123d parts make, as ``connect_to`` takes them.

        build123d moves parts by such pairs and forgets them; loops are closed by naming all.

        Args:
            name: Its name.
            first: A joint of the part that is the parent, such as ``frame.joints["bore"]``.
            second: A joint of the other part. Parts that were not added are ground.
            more: What the class lists for all joints.
        """
        from regularize.adapters.shapes.solids import mate_of  # as above

        kind, T = mate_of(name, first, second)
        labels = (str(end.parent.label) for end in (first, second))
        parent, child = (label if label in self._bodies else GROUND for label in labels)
        self.joint(kind, name, parent, child, at=T[:3, 3], axis=T[:3, 2], **more)

    def hinge(
        self, name: str, parent: str, child: str, *, at: ArrayLike, axis: ArrayLike = Z, **more: Any
    ) -> None:
        """Add a revolute joint about the line through ``at`` along ``axis``."""
        self.joint("revolute", name, parent, child, at=at, axis=axis, **more)

    def slider(
        self,
        name: str,
        parent: str,
        child: str,
        *,
        axis: ArrayLike,
        at: ArrayLike = ORIGIN,
        **more: Any,
    ) -> None:
        """Add a prismatic joint along ``axis``; ``at`` is where it is drawn."""
        self.joint("prismatic", name, parent, child, at=at, axis=axis, **more)

    def screw(
        self,
        name: str,
        parent: str,
        child: str,
        *,
        at: ArrayLike,
        axis: ArrayLike = Z,
        pitch: float,
        **more: Any,
    ) -> None:
        """Add a helical joint about the line through ``at``; ``pitch`` in metres per radian."""
        self.joint("helical", name, parent, child, at=at, axis=axis, pitch=pitch, **more)

    def cylindrical(
        self, name: str, parent: str, child: str, *, at: ArrayLike, axis: ArrayLike = Z, **more: Any
    ) -> None:
        """Add a joint that slides along the line through ``at``, then turns about it."""
        self.joint("cylindrical", name, parent, child, at=at, axis=axis, **more)

    def universal(
        self,
        name: str,
        parent: str,
        child: str,
        *,
        at: ArrayLike,
        axes: Sequence[ArrayLike],
        **more: Any,
    ) -> None:
        """Add a universal joint at ``at``; ``axes``: one held by the parent, one by the child."""
        if len(axes) != 2:
            raise ModelError(f"joint {name!r}: a universal joint has two axes, got {len(axes)}")
        first, second = (_axis(name, each) for each in axes)
        if np.allclose(cross(first, second), 0.0):
            raise ModelError(f"joint {name!r}: the axes of a universal joint are not parallel")
        self.joint("universal", name, parent, child, at=at, axis=first, axis2=second, **more)

    def ball(self, name: str, parent: str, child: str, *, at: ArrayLike, **more: Any) -> None:
        """Add a spherical joint about the point ``at``."""
        self.joint("spherical", name, parent, child, at=at, **more)

    def planar(
        self,
        name: str,
        parent: str,
        child: str,
        *,
        at: ArrayLike = ORIGIN,
        axis: ArrayLike = Z,
        **more: Any,
    ) -> None:
        """Add a joint that moves in the plane normal to ``axis`` and turns about that normal."""
        self.joint("planar", name, parent, child, at=at, axis=axis, **more)

    def weld(
        self, name: str, parent: str, child: str, *, at: ArrayLike = ORIGIN, **more: Any
    ) -> None:
        """Join two bodies rigidly; ``at`` is where it is drawn."""
        self.joint("fixed", name, parent, child, at=at, **more)

    def locating_bearing(
        self, name: str, parent: str, child: str, *, at: ArrayLike, **more: Any
    ) -> None:
        """Add a bearing that holds the point ``at`` and tilts freely: a spherical joint."""
        self.joint("spherical", name, parent, child, at=at, **more)

    def floating_bearing(
        self, name: str, parent: str, child: str, *, at: ArrayLike, axis: ArrayLike = Z, **more: Any
    ) -> None:
        """Add a bearing that tilts freely and lets the point ``at`` slide along ``axis``."""
        self.joint("point_on_line", name, parent, child, at=at, axis=axis, **more)

    def joint(
        self,
        kind: str,
        name: str,
        parent: str,
        child: str,
        *,
        at: ArrayLike = ORIGIN,
        axis: ArrayLike = Z,
        **more: Any,
    ) -> None:
        """Add a joint of the kind named by a word, such as ``ball``.

        Args:
            kind: As ``Joint.kind``, or ``point_on_line``, ``line_in_plane``, ``parallel``,
                ``point_on_plane``, or a word of a format, such as ``ball``.
            name: Its name.
            parent: Name of one body.
            child: Name of the other, which moves by positive coordinates.
            at: A point of its axis, or its centre, in metres, shape (3,).
            axis: Its direction; of a planar joint the normal of the plane.
            more: ``axis2`` of a universal joint and of ``line_in_plane`` (its normal), ``pitch`` of
                a helical one in m/rad, and what the class lists for all joints.
        """
        self._new("joint", name, self._joints)
        for body in (parent, child):
            self._known(f"joint {name!r} names the body", body, self._bodies)
        kind = kind_of(kind)
        if kind == "composite" or kind not in (known := [*KINDS, *HIGHER_PAIRS]):
            raise ModelError(
                f"joint {name!r}: there is no kind {kind!r}{did_you_mean(kind, known)}"
            )
        place = {key: more.pop(key) for key in ("axis2", "pitch") if key in more}
        if "axis2" in place:
            place["axis2"] = _axis(name, place["axis2"])
        attributes = _attributes(name, more)
        point = _vector(f"joint {name!r}: at", at)
        self._joints[name] = Joint.in_world(
            name, parent, child, kind, _axis(name, axis), point, **place, **attributes
        )

    def coupling(
        self,
        name: str,
        terms: Mapping[str | tuple[str, int], float],
        offset: float = 0.0,
        *,
        coefficients: Sequence[float] = (),
        table: Sequence[tuple[float, float]] = (),
    ) -> None:
        """Tie joint coordinates: the sum of factor times coordinate is ``offset``.

        With a polynomial or a table p the last coordinate x counts as p(x): the terms
        ``{"slide": 1.0, "hinge": -1.0}`` say slide = p(hinge).

        Args:
            name: Its name.
            terms: Factor by the name of a joint with one freedom, or by the pair of a joint's name
                and which of its freedoms, counted from 0.
            offset: The sum, in radians or metres; 0 at the pose as drawn, where it is closed.
            coefficients: Of a polynomial, that of the power 0 first, five at most.
            table: Of a function pairs (argument, value), arguments increasing: the natural cubic
                spline through them, straight beyond.
        """
        self._new("coupling", name, self._couplings)
        factors = []
        for key, factor in terms.items():
            joint, freedom = (key, 0) if isinstance(key, str) else key
            self._known(f"coupling {name!r} names the joint", joint, self._joints)
            freedoms = self._joints[joint].freedoms
            if isinstance(key, str) and freedoms != 1:
                raise ModelError(
                    f"coupling {name!r}: joint {joint!r} has {freedoms} freedoms; "
                    f"say which, as in ({joint!r}, 0)"
                )
            if not 0 <= freedom < freedoms:
                raise ModelError(f"coupling {name!r}: joint {joint!r} has no freedom {freedom}")
            factors.append((joint, freedom, float(factor)))
        if not factors:
            raise ModelError(f"coupling {name!r} names no joint")
        self._couplings[name] = Coupling(
            name, "gear", tuple(factors), float(offset), None, tuple(coefficients), tuple(table)
        )

    def mechanism(self) -> Mechanism:
        """Return the mechanism as written down so far."""
        return Mechanism(
            self._name,
            tuple(self._bodies.values()),
            tuple(self._joints.values()),
            tuple(self._couplings.values()),
            ground=GROUND,
            gravity=self._gravity,
        )

    def _new(self, what: str, name: str, taken: Iterable[str]) -> None:
        """Raise ``ModelError`` unless a name is a nonempty text and not yet taken."""
        if not (isinstance(name, str) and name):
            raise ModelError(f"the name of a {what} is a text, got {name!r:.60}")
        if name in taken:
            raise ModelError(f"there is a {what} {name!r} already")

    def _known(self, where: str, name: str, known: Iterable[str]) -> None:
        """Raise ``ModelError`` unless a body or joint has that name."""
        if name not in known:
            guess = did_you_mean(name, [*known]) if isinstance(name, str) else ""
            raise ModelError(f"{where} {name!r}, which is not there{guess}")


def _attributes(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Turn keyword arguments of a joint into attributes of ``Joint``."""
    for key in given:
        if key not in (known := [*_OWN, *_LIMITS, *_DYNAMICS]):
            raise ModelError(f"joint {name!r} has no {key!r}{did_you_mean(key, known)}")
    attributes = {key: given[key] for key in _OWN if key in given}
    bounds = {key: np.atleast_1d(given[key]) for key in _LIMITS if key in given}
    if bounds:
        lower, upper = (None, None)
        if attributes.get("limits") is not None:
            lower, upper = np.reshape(attributes["limits"], (-1, 2)).T
        attributes["limits"] = JointLimits(lower, upper, **bounds)
    forces = {key: np.atleast_1d(given[key]) for key in _DYNAMICS if key in given}
    return attributes | ({"dynamics": JointDynamics(**forces)} if forces else {})


def _axis(name: str, axis: ArrayLike) -> Array:
    """Return a unit vector; raise ``ModelError`` for one without length."""
    try:
        return unit(_vector(f"joint {name!r}: axis", axis))
    except ValueError as error:
        raise ModelError(f"joint {name!r}: {error}") from None


def _vector(what: str, value: ArrayLike) -> Array:
    """Return three finite numbers, or raise ``ModelError``."""
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.zeros(0)
    if vector.shape != (3,) or not np.all(np.isfinite(vector)):
        raise ModelError(f"{what} is {value!r:.60}; it needs three numbers")
    return vector
