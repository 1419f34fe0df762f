"""Equality constraints of MJCF: closing joints and couplings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from regularize.adapters.common.precision import length_off
from regularize.adapters.common.quantities import rotation_between
from regularize.adapters.common.values import FilePlace
from regularize.adapters.common.write import numbers
from regularize.adapters.mjcf.model import Model
from regularize.escape import listed
from regularize.lie.arrays import Array
from regularize.lie.curve import TERMS, Curve
from regularize.lie.screw import inverse, transform
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint import joint_position
from regularize.mechanism.joint_kinds import perpendiculars

SAME_POINT = 1e-9  # metres between two anchors that are one
BARS = (int(mujoco.mjtGeom.mjGEOM_CAPSULE), int(mujoco.mjtGeom.mjGEOM_CYLINDER))
SAME_DISTANCE = 1e-4  # relative: two anchors as far apart on one body as on the other


@dataclass(frozen=True, eq=False)
class Connect:
    """One ``<connect>``: a point of one body is a point of the other."""

    name: str
    bodies: tuple[int, int]
    points: tuple[Array, Array]
    source: Source


def read_equalities(model: Model) -> None:
    """Add every active equality constraint; say which are not read."""
    connects: dict[tuple[int, int], list[Connect]] = {}
    for i in range(model.m.neq):
        kind, source = int(model.m.eq_type[i]), model.equality_source(i)
        what = f"equality constraint `{model.equality_name(i)}`"
        if not model.m.eq_active0[i]:
            model.skip(f"{what} is not active: not read", source)
        elif kind == mujoco.mjtEq.mjEQ_CONNECT:
            connect = _connect(model, i)
            if model.m.eq_objtype[i] != mujoco.mjtObj.mjOBJ_SITE:
                _report_far_anchor(model, connect)
            first, second = connect.bodies
            key = (min(first, second), max(first, second))
            connects.setdefault(key, []).append(connect)
        elif kind == mujoco.mjtEq.mjEQ_WELD:
            _weld(model, i)
        elif kind in (mujoco.mjtEq.mjEQ_JOINT, mujoco.mjtEq.mjEQ_TENDON):
            _couple(model, i)
        else:
            model.unread(f"{what} is of a type that is not read", source)
    for group in connects.values():
        for part in _consistent(model, group):
            _close(model, part)


def _end(model: Model, i: int, which: int, point: Array) -> tuple[int, Array]:
    """Return body number and frame of one end of constraint i: of a site, or at a point."""
    number = int((model.m.eq_obj1id, model.m.eq_obj2id)[which][i])
    if model.m.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE:
        return int(model.m.site_bodyid[number]), model.site_frame(number)
    return number, transform(translation=point)


def _connect(model: Model, i: int) -> Connect:
    """Return the <connect> with number i."""
    data = model.m.eq_data[i]
    (first, T_first), (second, T_second) = (
        _end(model, i, which, data[3 * which : 3 * which + 3]) for which in (0, 1)
    )
    points, source = (T_first[:3, 3], T_second[:3, 3]), model.equality_source(i)
    return Connect(model.equality_name(i), (first, second), points, source)


def _off(model: Model, body: int, point: Array) -> float:
    """Return how far a point lies from all geoms and origins on a body, in metres."""
    m = model.m
    geoms, inner = np.flatnonzero(m.geom_bodyid == body), np.flatnonzero(m.body_parentid == body)
    gaps = np.linalg.norm(m.geom_pos[geoms] - point, axis=1) - m.geom_rbound[geoms]
    places = np.vstack([np.zeros(3), m.body_pos[inner[inner > 0]]])
    return max(0.0, float(min([*gaps, *np.linalg.norm(places - point, axis=1)])))


def _report_far_anchor(model: Model, connect: Connect) -> None:
    """Note an anchor far off its bodies that would meet in the world, or at the end of a bar."""
    ends = [*zip(connect.bodies, connect.points, strict=True)]
    meant = [(inverse(model.start[b]) @ [*connect.points[0], 1.0])[:3] for b in connect.bodies]
    near = max(_off(model, b, p) for b, p in zip(connect.bodies, meant, strict=True))
    off = [_off(model, *end) for end in ends]
    name, (one, other) = connect.name, (model.body_names[body] for body in connect.bodies)
    way = f'if it was meant in the world, write anchor="{numbers(np.round(meant[0], 9))}"'
    if 4 * near >= min(off):
        free, size = _free_ends(model, connect.bodies[1])
        if len(free) != 1 or off[1] < max(0.25 * size, 4 * off[0]):
            return
        off[1] = float(np.linalg.norm(free[0] - connect.points[1]))
        points = [numbers(np.round(point, 9)) for point in (connect.points[0], free[0])]
        way = (
            f'if the free end of `{other}` is to meet it, write <site name="{name}_1" '
            f'pos="{points[0]}"/> in `{one}`, <site name="{name}_2" pos="{points[1]}"/> in '
            f'`{other}`, and <connect name="{name}" site1="{name}_1" site2="{name}_2"/>'
        )
    model.note(
        "REG015",
        f"the anchor of `{name}` lies {1e3 * off[0]:.3g} mm from `{one}` and "
        f"{1e3 * off[1]:.3g} mm from `{other}` as they are drawn: it is a point in `{one}`",
        connect.source,
        way,
        joints=(name,),
    )


def _free_ends(model: Model, body: int) -> tuple[list[Array], float]:
    """Return the ends of bars and centres of balls of a body at which no joint is, and its size."""
    m, found, size = model.m, list[Array](), 0.0
    inner = np.flatnonzero((m.body_parentid == body) & (m.body_dofnum > 0))
    joints = np.vstack([m.jnt_pos[m.jnt_bodyid == body], m.body_pos[inner]])
    for geom in np.flatnonzero(m.geom_bodyid == body):
        if m.geom_type[geom] not in (*BARS, int(mujoco.mjtGeom.mjGEOM_SPHERE)):
            return [], 0.0
        size = max(size, 2.0 * float(m.geom_rbound[geom]))
        half = float(m.geom_size[geom, 1]) if m.geom_type[geom] in BARS else 0.0
        along = half * model.rotation(m.geom_quat[geom])[:, 2]
        for end in {*map(tuple, np.round([m.geom_pos[geom] + k * along for k in (-1, 1)], 6))}:
            if all(np.linalg.norm(end - place) > 0.05 * size for place in [*joints, *found]):
                found.append(np.array(end))
    return found, size


def _weld(model: Model, i: int) -> None:
    """Add the closing joint of the <weld> with number i."""
    # Engine: the point on the second body comes first, then that on the first body, then the
    # orientation of the second body in the first one.
    data = model.m.eq_data[i]
    first, T_first = _end(model, i, 0, data[3:6])
    second = _end(model, i, 1, data[0:3])
    if model.m.eq_objtype[i] != mujoco.mjtObj.mjOBJ_SITE:
        T_first = transform(model.rotation(data[6:10]), data[3:6])
    # Without a scale of torques, MuJoCo holds the points together and no orientation.
    kind = "fixed" if data[10] != 0.0 else "spherical"
    _add(model, model.equality_name(i), kind, (first, T_first), second, model.equality_source(i))


def _add(
    model: Model,
    name: str,
    kind: str,
    one: tuple[int, Array],
    other: tuple[int, Array],
    source: Source,
) -> None:
    """Add a closing joint between frames on bodies, unless it joins a body to itself."""
    (first, T_first), (second, T_second) = one, other
    if first == second:
        model.unread(
            f"equality constraint `{name}` joins body `{model.body_names[first]}` to itself: "
            "not read",
            source,
        )
        return
    joint = model.close(
        FilePlace(source.path, source.element, source.line),
        model.joint_name(name),
        kind,
        (model.body_names[first], T_first),
        (model.body_names[second], T_second),
        actuated=False if model.has_actuators else None,
    )
    T_relative = inverse(model.reference[first] @ T_first) @ model.reference[second] @ T_second
    position = joint_position(joint, T_relative)
    model.joints[joint.name] = replace(joint, position=position)


def _consistent(model: Model, group: Sequence[Connect]) -> Iterator[list[Connect]]:
    """Yield connects of one body pair as one group if their points can coincide, else singly."""
    first, second = group[0].bodies
    turned = [
        connect
        if connect.bodies == (first, second)
        else Connect(connect.name, (first, second), connect.points[::-1], connect.source)
        for connect in group
    ]
    one, other = (np.array([connect.points[side] for connect in turned]) for side in (0, 1))
    distances = [np.linalg.norm(points[:, None] - points[None], axis=-1) for points in (one, other)]
    # Of two rounded points both ends are off.
    rounding = 4.0 * np.sqrt(3.0) * length_off()
    allowed = SAME_DISTANCE * float(np.max(distances[0])) + SAME_POINT + rounding
    if len(group) == 1 or np.max(np.abs(distances[0] - distances[1])) <= allowed:
        yield turned
        return
    model.warn(
        "REG013",
        f"connects {listed(c.name for c in turned)} of bodies `{model.body_names[first]}` and "
        f"`{model.body_names[second]}` have their points at different distances on the two bodies: "
        "they cannot all hold",
        turned[1].source,
        "move the sites so that the points are equally far apart on both bodies",
    )
    for connect in turned:
        yield [connect]


def _close(model: Model, connects: Sequence[Connect]) -> None:
    """Add one closing joint for all connects of a body pair: ball, hinge or weld."""
    (first, second), points = connects[0].bodies, [np.array(c.points) for c in connects]
    arms = np.array([p - points[0] for p in points])  # (connects, 2, 3)
    size = float(np.max(np.linalg.norm(arms[:, 0], axis=-1)))
    rank = 0
    if size > SAME_POINT:
        values = np.linalg.svd(arms[:, 0], compute_uv=False)
        rank = int(np.sum(values > 1e-6 * values[0]))
    kind = ("spherical", "revolute", "fixed", "fixed")[rank]
    R_first, R_second = (model.start[body][:3, :3] for body in (first, second))
    R = R_second.T @ R_first  # turns directions of the first body into the second
    T_first, T_second = transform(translation=points[0][0]), transform(R, points[0][1])
    if kind == "revolute":
        far = arms[int(np.argmax(np.linalg.norm(arms[:, 0], axis=-1)))]
        x, y = perpendiculars(far[0])
        basis = np.column_stack([x, y, far[0] / np.linalg.norm(far[0])])
        T_first = transform(basis, points[0][0])
        T_second = transform(rotation_between(R @ far[0], far[1]) @ R @ basis, points[0][1])
    elif kind == "fixed":
        # The rotation that turns the arms on one body into those on the other best.
        u, _, vt = np.linalg.svd(arms[:, 1].T @ arms[:, 0])
        fit = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
        T_second = transform(fit, points[0][1])
    if len(connects) > 1 and first != second:
        _report_doubled(model, connects, kind)
    ends = (first, T_first), (second, T_second)
    _add(model, connects[0].name, kind, *ends, connects[0].source)


def _report_doubled(model: Model, connects: Sequence[Connect], kind: str) -> None:
    """Report connects of one body pair that write more rows than their joint needs (REG211)."""
    first, second = (model.body_names[body] for body in connects[0].bodies)
    kinds = {"spherical": (3, "ball joint"), "revolute": (5, "hinge"), "fixed": (6, "rigid joint")}
    (needed, what), written = kinds[kind], 3 * len(connects)
    names, extra = listed(c.name for c in connects), written - needed
    which = "the sixth row is redundant" if extra == 1 else f"{extra} rows are redundant"
    model.warn(
        "REG211",
        f"doubled closure: connects {names} close one {what} between `{first}` and `{second}`: "
        f"they write {written} rows where it has {needed}, so {which}",
        connects[1].source,
        f"read as one {what}; engines with ball and weld closures only need the doubled rows, "
        "exporters to others do not",
        joints=(connects[0].name,),
    )


def _couple(model: Model, i: int) -> None:
    r"""Add :math:`y - y_0 = \sum_k a_k (x - x_0)^k` of two joints or fixed tendons."""
    tendon = int(model.m.eq_type[i]) == mujoco.mjtEq.mjEQ_TENDON
    name, data = model.equality_name(i), model.m.eq_data[i]
    numbers = [int(model.m.eq_obj1id[i]), int(model.m.eq_obj2id[i])]
    found = [_linear(model, n, tendon) if n >= 0 else ([], 0.0) for n in numbers]
    sides = [side for side in found if side is not None]
    curved = numbers[1] >= 0 and bool(np.any(data[2:5] != 0.0))
    if len(sides) == 2 and curved and _couple_by_polynomial(model, i, name, sides):
        return
    if len(sides) < 2 or curved:
        model.unread(
            f"equality constraint `{name}` is not linear in joint coordinates, nor a polynomial "
            "of one: not read, so the mobility may be counted one too high",
            model.equality_source(i),
            "replace a tendon that runs through space by joints or fixed tendons, and a "
            "polynomial of a tendon of several joints by one of a joint",
        )
        return
    terms: dict[str, float] = {}
    offset = float(data[0])
    for (coefficients, start), factor in zip(sides, (1.0, -float(data[1])), strict=True):
        for joint, coefficient in coefficients:
            terms[joint] = terms.get(joint, 0.0) + factor * coefficient
        offset += factor * start
    kept = tuple((joint, 0, value) for joint, value in terms.items() if value != 0.0)
    model.couple(name, "gear" if tendon else "mimic", kept, offset, model.equality_source(i))


def _couple_by_polynomial(
    model: Model, i: int, name: str, sides: Sequence[tuple[list[tuple[str, float]], float]]
) -> bool:
    """Add a coupling y = p(x) of one joint's coordinate x; return whether there is one."""
    (own, start), (others, first) = sides
    if len(others) != 1 or others[0][0] in {joint for joint, _ in own}:
        return False
    argument, scale = others[0]
    polynomial = Curve.polynomial(model.m.eq_data[i][:TERMS]).along(scale, -first)
    coefficients = polynomial.about(0.0)
    coefficients[0] += start
    terms = (*((joint, 0, value) for joint, value in own), (argument, 0, -1.0))
    model.couple(name, "gear", terms, 0.0, model.equality_source(i), coefficients.tolist())
    return True


def _linear(
    model: Model, number: int, tendon: bool
) -> tuple[list[tuple[str, float]], float] | None:
    """Return (joint, coefficient) pairs and initial value of a joint or tendon, if linear."""
    m = model.m
    if not tendon:
        return [(model.joint_names[number], 1.0)], float(m.qpos0[m.jnt_qposadr[number]])
    start, count = int(m.tendon_adr[number]), int(m.tendon_num[number])
    wraps = range(start, start + count)
    if any(m.wrap_type[w] != mujoco.mjtWrap.mjWRAP_JOINT for w in wraps):
        return None
    terms = [(model.joint_names[int(m.wrap_objid[w])], float(m.wrap_prm[w])) for w in wraps]
    return terms, float(m.tendon_length0[number])
