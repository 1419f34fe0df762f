"""Motors that move joints."""

from __future__ import annotations

from dataclasses import dataclass

from regularize.model.diagnostic import Source


@dataclass(frozen=True)
class ActuatorGains:
    """Coefficients of a motor's force, before its gear; None where the model is silent.

    The force is ``control * u - position * gear * q - velocity * gear * v`` for the control u, the
    joint's coordinate q and its rate v.

    Attributes:
        control: Force per unit of control.
        position: Force per unit of position, of a servo.
        velocity: Force per unit of rate, of a servo, or the motor's own damping.
    """

    control: float | None = None
    position: float | None = None
    velocity: float | None = None


@dataclass(frozen=True)
class Actuator:
    """A motor; the mechanism's own analysis does not use it, simulations are given torques.

    Attributes:
        name: Name in the user's model.
        joint: Name of the joint that it moves.
        freedom: Which of the joint's freedoms, counted from 0.
        kind: What it is controlled by: ``motor`` (a force), ``position``, ``velocity``, or
            ``general``.
        gear: Joint force per force of the motor.
        control_range: Least and largest control, or None.
        force_range: Least and largest force of the motor before its gear, N m or N, or None.
        gains: Coefficients of its force, or None.
        source: Where it stands in the user's files.
    """

    name: str
    joint: str
    freedom: int = 0
    kind: str = "motor"
    gear: float = 1.0
    control_range: tuple[float, float] | None = None
    force_range: tuple[float, float] | None = None
    gains: ActuatorGains | None = None
    source: Source | None = None
