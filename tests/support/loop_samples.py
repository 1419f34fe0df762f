"""Random loops of six turns and slides, arms by Denavit-Hartenberg parameters, a dense search."""

from __future__ import annotations

import numpy as np
import screws
from scipy.spatial.transform import Rotation
from screws import joint_screws

import regularize as rg
from regularize.guests.modes.eigen_loop import distinct
from regularize.guests.modes.elementary_loop import certified, error_and_derivative, product
from regularize.guests.modes.pencil import Arrangement, Pencil, assembled, eliminated


def random_constants(rng: np.random.Generator, count: int) -> np.ndarray:
    """Constant motions between the six motions, shape (count, 6, 4, 4)."""
    C = np.zeros((count, 6, 4, 4))
    C[..., 3, 3] = 1.0
    rotations = Rotation.from_quat(rng.normal(size=(6 * count, 4)))
    C[..., :3, :3] = rotations.as_matrix().reshape(count, 6, 3, 3)
    C[..., :3, 3] = rng.normal(scale=0.4, size=(count, 6, 3))
    return C


def closed_by(kinds: str, C: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The same loops with a last constant that closes them at x."""
    T, _, _ = product(kinds, C, x)
    C = C.copy()
    C[:, 5] = C[:, 5] @ screws.inverse(T)
    return C


def pencil(kinds: str, C: np.ndarray, arrangement: Arrangement, offsets: np.ndarray) -> Pencil:
    """The matrix polynomial of one arrangement."""
    kinds, C = arrangement.arranged(kinds, C)
    return assembled(kinds, eliminated(kinds, C), arrangement, offsets)


def dh_link(length: float, twist: float, offset: float) -> np.ndarray:
    """What follows a turn in the convention of Denavit and Hartenberg; metres and degrees."""
    a = np.radians(twist)
    T = np.eye(4)
    T[1:3, 1:3] = [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
    T[0, 3], T[2, 3] = length, offset
    return T


#: Length, twist and offset of every link, metres and degrees, in rows of three numbers.
ARMS = {
    # Manseur and Doty 1989: the arm that was the first one known to have sixteen configurations.
    "Manseur and Doty": "0.3 90 0, 1 1 0, 0 90 0.2, 1.5 1 0, 0 90 0, 0 0 0",
    # Arms without a common point of the last three axes.
    "offset wrist": "0 -90 0, 0.54 180 0, 0 -90 0, 0 90 -0.54, 0 -90 0.15, 0 180 -0.16",
    "curved wrist": "0 90 0.2755, 0.41 180 0, 0 90 -0.0098, 0 60 -0.2501, 0 60 -0.0856, "
    "0 180 -0.2028",
    "orthogonal": "0.2 90 0.1, 0.3 90 0.1, 0.25 -90 0.1, 0.2 90 0.05, 0.15 -90 0.1, 0 0 0.1",
    # Nearly a common point: solutions by pairs of nearly equal angles.
    "almost spherical wrist": "0 -90 0, 0.43 0 0.15, 0.02 90 0, 1e-6 -90 0.43, 0 90 0, 0 0 0.05",
}
#: Hand of Manseur and Doty's arm in sixteen configurations, to the printed six digits.
HAND = np.array(
    [
        [-0.760117, -0.641689, 0.102262, -1.140175],
        [0.133333, 0.0, 0.991071, 0.0],
        [-0.635959, 0.766965, 0.085558, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
)


def arm_constants(name: str) -> np.ndarray:
    """Constants behind the six joints of an arm in metres, shape (6, 4, 4)."""
    rows = ARMS[name].split(",")
    return np.array([dh_link(*map(float, row.split())) for row in rows])


def arm_mechanism(name: str) -> rg.Mechanism:
    """An arm whose hand is tied to the ground by a free joint, the pose."""
    joints, before = [], np.eye(4)
    for i, link in enumerate(arm_constants(name)):
        parent = f"link {i}" if i else "ground"
        screws = joint_screws("revolute")
        joints.append(rg.Joint(f"J{i + 1}", parent, f"link {i + 1}", "revolute", screws, before))
        before = link
    # The hand's frame is that behind the last link; the joint frame on the ground is the world's.
    joints.append(
        rg.Joint("pose", "ground", "link 6", "free", joint_screws("free"), np.eye(4), before)
    )
    return rg.Mechanism.of_joints(name, joints)


def apart(kinds: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Largest difference of variables, those of turns up to whole turns, shape (...)."""
    difference = a - b
    turns = 2 * np.pi * np.round(difference / (2 * np.pi))
    turning = np.array([kind == "R" for kind in kinds])
    return np.max(np.abs(difference - np.where(turning, turns, 0.0)), axis=-1)


def dense_search(kinds: str, C: np.ndarray, rng: np.random.Generator, starts: int) -> np.ndarray:
    """Regular configurations of one loop that damped Newton finds from random starts, (k, 6)."""
    x = rng.uniform(-np.pi, np.pi, size=(starts, 6))
    Cs = np.broadcast_to(C, (starts, 6, 4, 4))
    for _ in range(60):
        F, derivative, _ = error_and_derivative(kinds, Cs, x)
        step = -(np.linalg.pinv(derivative, rcond=1e-12) @ F[..., None])[..., 0]
        x += step / np.maximum(1.0, np.max(np.abs(step), axis=1, keepdims=True) / 0.5)
    error, h = certified(kinds, Cs, x)
    good = (error < 1e-11) & np.isfinite(h)
    return distinct(kinds, C[None], np.zeros(int(good.sum()), dtype=int), x[good])[1]
