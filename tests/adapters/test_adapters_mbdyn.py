"""MBDyn models, as the solver of FreeCAD reads them."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from test_adapter_contract import write_fixture

import regularize as rg
from regularize.adapters.mbdyn.read import TOTAL

TEXTS = yaml.safe_load(Path(__file__).with_name("crank_slider.yaml").read_text())
HEAD, TAIL, HINGES, SLIDE, FLAT = (
    TEXTS[part] for part in ("head", "tail", "hinges", "slide", "flat")
)


def read(folder: Path, text: str) -> rg.Mechanism:
    path = folder / "model.mbd"
    path.write_text(text)
    return rg.load(path)


@pytest.mark.slow
@pytest.mark.parametrize(("slide", "redundant"), [(SLIDE, 0), (FLAT, 3)])
def test_crank_slider(slide: str, redundant: int, tmp_path: Path) -> None:
    mechanism = read(tmp_path, HEAD + HINGES + slide + TAIL)
    assert mechanism.format == "mbdyn"
    report = rg.check(mechanism).as_dict()
    assert report["assembly"]["closed"]
    assert report["mobility"]["actual"] == 1
    assert report["mobility"]["redundant"] == redundant
    assert mechanism.joint("A").actuated
    np.testing.assert_allclose(mechanism.gravity, [0, -9.807, 0])
    motion = rg.simulate(mechanism, duration=0.2)
    assert motion.energy_drift < 1e-9


def test_places_and_masses(tmp_path: Path) -> None:
    mechanism = read(tmp_path, HEAD + HINGES + FLAT + TAIL)
    angle = math.asin(0.125)
    hinge = mechanism.joint("B")
    np.testing.assert_allclose(hinge.T_parent_joint[:3, 3], [0.1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(hinge.T_child_joint[:3, 3], [-0.2, 0, 0], atol=1e-15)
    turned = hinge.T_parent_joint[:3, :3]
    np.testing.assert_allclose(turned[:, 0], [math.cos(angle), math.sin(angle), 0], atol=1e-15)
    crank, rod = (mechanism.body(name).inertia for name in ("crank", "rod"))
    assert crank is not None and rod is not None
    assert crank.matrix[2, 2] == pytest.approx(0.2**2 / 12)
    np.testing.assert_allclose(rod.center, [0.1, 0, 0])
    np.testing.assert_allclose(np.diag(rod.matrix), [2, 1, 3], atol=1e-15)


def test_what_is_not_read_is_named(tmp_path: Path) -> None:
    more = " joint: R, rod, crank, null, slider, null, 0.3; force: F, absolute, rod, null;\n"
    mechanism = read(tmp_path, HEAD + HINGES + SLIDE + more + TAIL)
    messages = [finding.message for finding in mechanism.findings]
    assert any("`R` of type rod is not read: the mechanism has fewer" in m for m in messages)
    assert any("<force>" in m for m in messages)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("rod, 1.", "nowhere, 1.", "there is no node `nowhere`"),
        ("2.*Crank", "2.*Crnk", r"`2\.\*Crnk` is not a number"),
        ("Offset/Rod", "__import__('os')", "is not a number"),
        ("reference: Ref, Crank", "reference: Other, Crank", "no reference `Ref`"),
        ("1., 0., 0., 2, 0., 1., 0.,", "0., 0., 0., 2, 0., 1., 0.,", "length"),
        ("diag, 0.1, 0.2, Crank^2./12.", "diag, 0.1", "too few arguments"),
        (" structural:", " modal:", "no structural node"),
        (TAIL, "", "ends inside the block `elements`"),
    ],
)
def test_damaged_files_are_refused(old: str, new: str, reason: str, tmp_path: Path) -> None:
    text = HEAD + HINGES + FLAT + TAIL
    assert old in text
    with pytest.raises(rg.ReadError, match=reason):
        read(tmp_path, text.replace(old, new))


NODES = """begin: data; problem: initial value; end: data;
/* places of two nodes:
   the second one is turned */
begin: nodes;
    structural: one, dynamic, null, eye, null, null;
    structural: two, dynamic, 1., 2., 3., matr, 0., -1., 0., 1., 0., 0., 0., 0., 1., null, null;
"""


def between(folder: Path, elements: str, nodes: str = "") -> rg.Mechanism:
    """Two bodies and what is said of them."""
    return read(
        folder, f"{NODES}{nodes}end: nodes;\nbegin: elements;\n{elements}\nend: elements;\n"
    )


ONE_ROW = "joint: T, total joint, one, two, position constraint, 1, 0, 0, null;"
POINTS = ("point_on_line", "point_in_plane")


def row(held: tuple[int, ...]) -> str:
    return ", ".join(("inactive", "active")[each] for each in held)


@pytest.mark.parametrize(("held", "kind"), TOTAL.items())
def test_total_joints(held: tuple[tuple[int, ...], ...], kind: str, tmp_path: Path) -> None:
    joint = "joint: T, total joint, one, position, 1., 2., 3., two, position, null, "
    joint += f"position constraint, {row(held[0])}, null, orientation constraint, {row(held[1])}"
    mechanism = between(tmp_path, f"joint: G, clamp, one, null, eye;\n{joint}, null;")
    assert rg.reduce(mechanism).mobility == sum(3 - sum(each) for each in held)
    assert kind in {joint.kind for joint in mechanism.joints} | {"no_rotation", *POINTS}


@pytest.mark.parametrize(
    ("element", "mobility"),
    [
        ("joint: P, revolute pin, two, 0., 0., 1., hinge, eye, 1., 2., 4., hinge, matr, "
         "0., -1., 0., 1., 0., 0., 0., 0., 1.;", 1),
        ("joint: P, revolute pin, two, null, 1., 2., 3.;", 1),
        ("joint: P, in plane, one, null, 0., 0., 2., two, offset, null;", 5),
        ("joint: P, spherical hinge, one, 1., 2., 3., two, null;", 3),
        ("joint: P, prismatic, one, hinge, eye, two, hinge, matr, "
         "0., 1., 0., -1., 0., 0., 0., 0., 1.;", 3),
        ("joint: P, total joint, one, position, 1., 2., 3., two, position, null, "
         "position constraint, 1, 1, 1, null, orientation constraint, 1, 1, ramp, 1., 0., 1.;", 1),
    ],
)  # fmt: skip
def test_joints_between_two_nodes(element: str, mobility: int, tmp_path: Path) -> None:
    mechanism = between(tmp_path, f"joint: G, clamp, one, null, eye;\n{element}")
    assert rg.reduce(mechanism).mobility == mobility
    assert any(joint.actuated for joint in mechanism.joints) == ("ramp" in element)


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ("null", np.zeros((3, 3))),
        ("eye", np.eye(3)),
        ("diag, 1., 2., 3.", np.diag([1.0, 2, 3])),
        ("sym, 3., 0.1, 0.2, 4., 0.3, 5.", [[3, 0.1, 0.2], [0.1, 4, 0.3], [0.2, 0.3, 5]]),
        ("matr, 3., 0.1, 0., 0.1, 4., 0., 0., 0., 5.", [[3, 0.1, 0], [0.1, 4, 0], [0, 0, 5]]),
        ("3., 0.1, 0., 0.1, 4., 0., 0., 0., +5.", [[3, 0.1, 0], [0.1, 4, 0], [0, 0, 5]]),
    ],
)
def test_inertias(matrix: str, expected: object, tmp_path: Path) -> None:
    inertia = between(tmp_path, f"body: b, two, 2., null, {matrix};").body("two").inertia
    assert inertia is not None and inertia.mass == 2.0
    np.testing.assert_allclose(inertia.matrix, np.asarray(expected))


SECTION = "diag, 1e6, 1e6, 1e6, 40., 30., 20."
LINE = "begin: nodes;\n" + "".join(
    f"structural: n{k}, {'dynamic' if k else 'static'}, 0., {0.4 * k}, 0., eye, null, null;\n"
    for k in range(3)
)
ELEMENTS = "end: nodes;\nbegin: elements;\njoint: G, clamp, n0, null, eye;\n" + "".join(
    f"body: b{k}, n{k}, 1., null, eye;\n" for k in (1, 2)
)
ALONG_Y = "1, 0., 1., 0., 3, 0., 0., 1."
BEAM3 = f"n0, null, n1, null, n2, null, {ALONG_Y}, linear elastic generic, {SECTION}, same, same;"
BEAM2 = (
    f"beam2: B, n0, null, n1, position, null, {ALONG_Y}, linear viscoelastic generic, {SECTION}, "
    f"proportional, 0.01; beam2: C, n1, null, n2, null, reference, global, {ALONG_Y}, "
    f"linear elastic generic, {SECTION};"
)


@pytest.mark.slow
@pytest.mark.parametrize(("beams", "part"), [(f"beam3: B, {BEAM3}", 16 / 48), (BEAM2, 15 / 48)])
def test_beams_are_springs(beams: str, part: float, tmp_path: Path) -> None:
    """A cantilever of 0.8 m sags by F L³ / 3 E I; two halves of one point each, by a 16th less."""
    mechanism = read(tmp_path, LINE + ELEMENTS + beams + TAIL)
    model = rg.reduced_model(
        mechanism,
        [f"{name}[{k}]" for name in (j.name for j in mechanism.joints[1:]) for k in range(6)],
        loads={"n2": rg.BodyLoad(force=(0, 0, -1e-3))},
    )
    zero, step = np.zeros(12), 1e-6
    K = [(model.p(step * d) - model.p(zero)) / step for d in np.eye(12)]
    bent = model.configuration(-np.linalg.solve(np.transpose(K), model.p(zero)))
    loops = model.equations.loops
    tip = loops.state(bent[None]).T_world_node[0, loops.row(loops.graph.node_of["n2"]), 2, 3]
    wanted = 1e-3 * 0.8**3 * part / 30.0 + 1e-3 * 0.8 / 1e6
    assert tip == pytest.approx(-wanted, rel=1e-4)
    assert np.any(mechanism.joints[1].dynamics.damping) == ("visco" in beams)


@pytest.mark.parametrize(
    "law",
    [
        "linear elastic bistop, 1., eye",
        "double linear elastic, 1.",
        "linear elastic generic, sym, 1., 0.1, " + ", ".join(19 * ["1."]),
    ],
)
def test_beams_of_other_laws_are_named(law: str, tmp_path: Path) -> None:
    text = f"beam3: B, n0, null, n1, null, n2, null, from nodes, {law}, same, same;\n"
    found = read(tmp_path, LINE + ELEMENTS + text + TAIL)
    messages = [finding.message for finding in found.findings]
    assert any(m.startswith(f"`B`, a beam3 of a law `{law[:13]}") for m in messages)


def test_bodies_of_one_node_are_one(tmp_path: Path) -> None:
    elements = "body: a, two, 1., 0.5, 0., 0., null; body: b, two, 1., -0.5, 0., 0., null;"
    inertia = between(tmp_path, elements).body("two").inertia
    assert inertia is not None and inertia.mass == 2.0
    np.testing.assert_allclose(inertia.matrix, np.diag([0, 0.5, 0.5]), atol=1e-15)


@pytest.mark.parametrize(
    ("elements", "nodes", "words"),
    [
        ("body: b, two, condense, 2, 1., null, eye;", "", "several masses is not read"),
        ("gravity: central, null;", "", "not uniform is not read"),
        ("body: b, two, 1., null, eye;", "structural: q, modal, m;", "structural, modal"),
        (ONE_ROW, "", r"holds \(1, 0, 0\) and \(0, 0, 0\), is not read"),
    ],
)
def test_what_else_is_not_read(elements: str, nodes: str, words: str, tmp_path: Path) -> None:
    found = between(tmp_path, elements, nodes).findings
    assert any(re.search(words, finding.message) for finding in found)


FAULTS = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_bytes())["mbdyn"]


@pytest.mark.parametrize(("element", "words"), [[*fault.values()] for fault in FAULTS])
def test_elements_at_fault_are_named(element: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(rg.ReadError, match=words) as caught:
        between(tmp_path, element)
    assert caught.value.line == 9


def test_places_in_the_global_frame(tmp_path: Path) -> None:
    element = "body: b, two, 1., reference, global, 1., 4., 3., eye;"
    inertia = between(tmp_path, element).body("two").inertia
    np.testing.assert_allclose(inertia.center, [2, 0, 0], atol=1e-15)


def test_models_of_the_solver_are_not_edited(tmp_path: Path) -> None:
    solver = write_fixture("mbdyn", "planar_four_bar", tmp_path)
    with pytest.raises(rg.UnsupportedExport, match="cannot be edited in place; write it anew"):
        rg.fix(solver)
