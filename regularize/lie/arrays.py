"""Names for arrays: each says what the numbers are, in which unit and frame, and in which shape.

All are arrays of float64 but masks and indices. A leading ``...`` means that any number of axes may
come before, one entry each; where a function takes one alone, it says so. Unless a name says
otherwise: SI units, the world frame at the reference pose, and screws with the linear part first.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Numbers of any meaning and shape.
Array: TypeAlias = NDArray[np.float64]
#: True or False for each entry of another array.
Mask: TypeAlias = NDArray[np.bool_]
#: Places in another array.
Indices: TypeAlias = NDArray[np.intp]

#: Shape (..., 3): a place, in metres.
Point: TypeAlias = Array
#: Shape (..., 3): a vector of length one.
Direction: TypeAlias = Array
#: Shape (..., 3, 3): a rotation matrix.
Rotation: TypeAlias = Array
#: Shape (..., 4, 4): a homogeneous transform; ``T_a_b`` expresses frame b in frame a.
Transform: TypeAlias = Array

#: Shape (..., 6): a screw (v, ω), for one a freedom of a joint.
Screw: TypeAlias = Array
#: Shape (..., 6): velocity of a body, (v, ω) in m/s and rad/s.
Twist: TypeAlias = Array
#: Shape (..., 6): force on a body, (f, m) in N and N m.
Wrench: TypeAlias = Array
#: Shape (6, d): screws as columns, which span a space.
Space: TypeAlias = Array
#: Shape (m, 6): covectors; each times a relative twist is an equation that must vanish.
Rows: TypeAlias = Array

#: Shape (..., n): coordinates of all joints, in rad and m, measured from the reference pose.
Coordinates: TypeAlias = Array
#: Shape (..., n): their rates, in rad/s and m/s.
Rates: TypeAlias = Array
#: Shape (..., m): what is missing for constraints to hold, in m and rad.
Residual: TypeAlias = Array
#: Shape (..., m, n): derivatives of m numbers by n coordinates or velocities.
Jacobian: TypeAlias = Array

#: Shape (..., nq): a configuration as Pinocchio has it, quaternions included.
Configuration: TypeAlias = Array
#: Shape (..., nv): velocities as Pinocchio has them.
Velocity: TypeAlias = Array
#: Shape (..., nv): accelerations as Pinocchio has them.
Acceleration: TypeAlias = Array
#: Shape (..., nv): forces and torques along velocities, in N and N m.
Torque: TypeAlias = Array
#: Shape (..., nv, nv) or (..., n, n): joint-space inertia.
MassMatrix: TypeAlias = Array


def read_only(values: ArrayLike) -> Array:
    """Return a float64 copy of some numbers that cannot be written to."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
