"""Points of a curve of configurations at which it meets other curves."""

from __future__ import annotations

import numpy as np

from regularize.dynamics.one_freedom.collocation_nodes import Nodes
from regularize.dynamics.one_freedom.curve import Curve
from regularize.dynamics.one_freedom.table import ROUND
from regularize.lie.screw import Array
from regularize.manifold.continuation import same_side

#: Clearance below which the surroundings of a point are searched for a bifurcation.
NARROW = 0.1


def bifurcations(curve: Curve, nodes: Nodes) -> Array:
    """Configurations at which a closed curve branches, shape (B, n).

    Where a single further direction opens, the rows along with the tangent change the sign of their
    determinant; wherever any opens, the clearance falls to zero between two points.
    """
    if curve.n == 1:
        return np.zeros((0, 1))
    points = nodes.points
    clearance, following = points.clearance, np.roll(points.clearance, -1)
    flips = ~same_side(
        points.extended, np.roll(points.extended, -1, axis=0), curve.tolerances.singular
    )
    lowest = (clearance < NARROW) & (clearance <= np.roll(clearance, 1)) & (clearance < following)
    # A sign that flips says that one of two neighbours is the nearest to the bifurcation.
    lowest |= (flips & (clearance <= following)) | np.roll(flips & (clearance > following), 1)
    step = ROUND / len(clearance)
    found = []
    for k in np.flatnonzero(lowest):
        middle, half = step * k, step
        while half > curve.tolerances.singular * step:
            s = middle + half * np.linspace(-1.0, 1.0, 9)
            q = curve.restored(nodes.shape(s))
            near = curve.points(q, np.repeat(points.tangent[[k]], len(s), axis=0))
            best = int(np.argmin(near.clearance))
            middle, half = s[best], 0.25 * half
        if near.clearance[best] < curve.tolerances.same or flips[[k - 1, k]].any():
            found.append(q[best])
    return np.array(found).reshape(-1, curve.n)
