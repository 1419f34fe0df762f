"""Objects of other libraries: the counts of their files, their names, and new objects of fix."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg

mujoco = pytest.importorskip("mujoco")
Usd = pytest.importorskip("pxr.Usd")
etree = pytest.importorskip("lxml.etree")
ASSETS = Path(__file__).resolve().parents[2] / "assets"


def file_of(name: str, suffix: str, folder: Path) -> Path:
    """A model of the assets in some format."""
    source = ASSETS / f"{name}.urdf"
    if suffix == ".urdf":
        return source
    path = folder / f"{name}{suffix}"
    rg.save(rg.load(source), path)
    return path


def spec_of(path: Path) -> Any:
    return mujoco.MjSpec.from_file(str(path))


def stage_of(path: Path) -> Any:
    return Usd.Stage.Open(str(path))


def tree_of(path: Path) -> Any:
    return etree.parse(str(path))


KINDS: dict[str, tuple[str, Any, type]] = {
    "MjSpec": (".xml", spec_of, mujoco.MjSpec),
    "Stage": (".usda", stage_of, Usd.Stage),
    "text": (".urdf", Path.read_text, str),
    "bytes": (".sdf", Path.read_bytes, bytes),
    "lxml tree": (".urdf", tree_of, etree._ElementTree),
    "lxml element": (".xml", lambda path: tree_of(path).getroot(), etree._Element),
}


def counts(model: Any) -> tuple[int, ...]:
    found = rg.reduce(model)
    return found.constraints, found.kept, found.redundant, found.mobility


def rank(spec: Any) -> tuple[int, int]:
    """Rows of MuJoCo's own constraint Jacobian where the model stands, and their rank."""
    model = spec.compile()
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    mujoco.mj_forward(model, data)
    rows = np.reshape(data.efc_J, (-1, model.nv))[: data.ne]
    return data.ne, int(np.linalg.matrix_rank(rows, 1e-6))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["planar_fourbar", "gripper"])
def test_an_object_is_what_its_file_is_before_and_after_fix(
    kind: str, name: str, tmp_path: Path
) -> None:
    suffix, made, of_type = KINDS[kind]
    path = file_of(name, suffix, tmp_path)
    value = made(path)
    assert counts(value) == counts(path)
    fixed = rg.fix(value)
    assert type(fixed.object) is of_type and fixed.object is not value
    other = rg.fix(path)
    assert sorted(map(repr, fixed.changes)) == sorted(map(repr, other.changes))
    after = other.write(tmp_path / f"fixed{path.suffix}")
    assert counts(fixed.object) == counts(after)
    assert rg.reduce(fixed.object).redundant == 0
    assert counts(value) == counts(path)  # the object itself has not been touched
    written = fixed.write(tmp_path / f"written{path.suffix}")  # and it can be saved as well
    assert counts(written) == counts(after)
    if kind == "MjSpec":
        assert rank(fixed.object) == rank(spec_of(after))
        rows, independent = rank(fixed.object)
        assert rows == independent < rank(value)[0]


@pytest.mark.slow
def test_a_specification_that_was_never_a_file() -> None:
    spec = mujoco.MjSpec()
    spec.modelname = "in memory"
    parent = spec.worldbody
    for name, place in (("crank", (0, 0, 0)), ("coupler", (0.1, 0, 0.35)), ("rocker", (1, 0, 0))):
        parent = (spec.worldbody if name == "rocker" else parent).add_body(name=name, pos=place)
        parent.add_joint(name=f"j_{name}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=(0, 1, 0))
        parent.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=[0, 0, 0, 0.1, 0, 0.1], size=[0.01] * 3
        )
    for k, y in enumerate((-0.05, 0.05)):
        connect = spec.add_equality(
            name=f"close{k}",
            type=mujoco.mjtEq.mjEQ_CONNECT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1="coupler",
            name2="rocker",
        )
        connect.data[:3] = (0.6, y, 0)
    report = rg.check(spec)
    assert report.reduction.redundant == 3 and report.reduction.mobility == 1
    found = [d for d in report.diagnostics if d.code == "REG201"]
    assert found and all(d.source is not None for d in found)
    assert {d.source.path for d in found if d.source} == {"<MjSpec in memory>"}
    assert "close0" in str(found[0].source and found[0].source.element)
    fixed = rg.fix(spec)
    assert rank(spec)[0] == 6 and rank(fixed.object) == (3, 3)
    assert fixed.diff and "<MjSpec in memory>" in fixed.diff
    model = spec.compile()
    assert counts(model) == counts(spec)
    with pytest.raises(rg.UnsupportedExport, match="compiled"):
        rg.fix(model)


@pytest.mark.slow
def test_assets_in_memory_stay_with_the_specification(tmp_path: Path) -> None:
    tetrahedron = "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    path = file_of("planar_fourbar", ".xml", tmp_path)
    spec = spec_of(path)
    spec.assets = {"tetra.obj": tetrahedron.encode()}
    spec.add_mesh(name="tetra", file="tetra.obj")
    spec.bodies[1].add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="tetra", mass=0.1)
    fixed = rg.fix(spec)
    assert dict(fixed.object.assets) == dict(spec.assets)
    assert fixed.object.compile().nmesh == 1 and rg.reduce(fixed.object).redundant == 0


@pytest.mark.slow
def test_findings_of_a_stage_name_its_prims(tmp_path: Path) -> None:
    stage = stage_of(file_of("planar_fourbar", ".usda", tmp_path))
    (found,) = [d for d in rg.check(stage).diagnostics if d.code == "REG201"]
    assert found.source is not None and found.source.element is not None
    assert stage.GetPrimAtPath(found.source.element).IsValid()


def test_findings_of_a_tree_name_the_lines_of_its_file() -> None:
    path = ASSETS / "planar_fourbar.urdf"
    text = path.read_text().replace("<joint name", "<joint\n  name", 1)  # lxml would write one line
    tree, read = etree.fromstring(text), rg.load(text)
    known = {each.get("name"): each.sourceline for each in tree.iter("joint", "loop")}
    lines = {j.name: j.source and j.source.line for j in rg.load(tree).joints}
    assert lines == known
    written = {j.name: j.source and j.source.line for j in read.joints}
    # The tag of A has two lines.
    assert {name for name in known if known[name] != written[name]} == {"A"}
    tree.append(etree.fromstring("<link name='new'/>"))  # made in memory: it has no line
    assert rg.load(tree).body("new") is not None


@pytest.mark.slow
def test_text_says_what_it_is_or_is_told(tmp_path: Path) -> None:
    path = ASSETS / "planar_fourbar.urdf"
    text = path.read_text()
    for verb in (rg.check, rg.reduce, rg.to_pinocchio, rg.load, rg.fix):
        assert verb(text, format="urdf") is not None
        assert verb(text.encode(), format="urdf") is not None
    assert rg.reduce(text).redundant == 3
    with pytest.raises(rg.UnknownFormat, match="format="):
        rg.load("no model at all\n")
    with pytest.raises(rg.UnknownFormat, match="nix"):
        rg.load(text, format="nix")
    with pytest.raises(rg.ReadError, match="<text>:1"):
        rg.load("<robot", format="urdf")
    with pytest.raises(rg.RegularizeError, match="leave out format="):
        rg.load(etree.fromstring(text), format="urdf")
    with pytest.raises(rg.ReadError, match="there is no such file"):
        rg.load("absent.urdf", format="urdf")


@pytest.mark.parametrize("verb", ["load", "check", "reduce", "fix", "to_pinocchio"])
@pytest.mark.parametrize("wrong", [3, None, {}, [], object()])
def test_what_is_no_model_is_one_line_that_lists_what_is(verb: str, wrong: object) -> None:
    with pytest.raises(rg.ModelError, match="a model is a path, a Mechanism") as error:
        getattr(rg, verb)(wrong)
    words = str(error.value)
    assert isinstance(error.value, TypeError) and "\n" not in words
    assert words.endswith(f"got an object of type {type(wrong).__name__!r}")
    for known in ("MjSpec", "MjModel", "Usd.Stage", "ModelBuilder", "MultibodyPlant", "yourdfpy"):
        assert known in words
    for known in ("urchin", "lxml", "bytes", "pinocchio.Model"):
        assert known in words


@pytest.mark.parametrize("wrong", [3, None, object(), "robot.urdf"])
def test_what_is_no_model_of_pinocchio_is_one_line_as_well(wrong: object) -> None:
    pytest.importorskip("pinocchio")
    for verb in (rg.from_pinocchio, lambda model: rg.augment(model, [])):
        with pytest.raises(rg.NotTaken, match=r"takes a pinocchio\.Model.* got an object of type"):
            verb(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yourdfpy", "urchin"])
@pytest.mark.filterwarnings("ignore")
def test_objects_of_urdf_parsers(name: str, tmp_path: Path) -> None:
    path = Path(__file__).with_name("two_parents.urdf")
    parser = pytest.importorskip(name).URDF
    more = {"load_meshes": False, "build_scene_graph": False} if name == "yourdfpy" else {}
    value = parser.load(str(path), **more)
    assert counts(value) == counts(path) == (5, 2, 3, 1)
    report = rg.check(value)
    assert report.reduction.redundant == 3
    (found,) = [d.source for d in report.diagnostics if d.code == "REG201"]
    assert found is not None and (found.path, found.line) == ("<URDF loop>", None)
    assert found.element is not None and found.element.startswith("joint[@name=")
    if name == "urchin":  # it refuses types that are not URDF's own
        with pytest.raises(rg.UnsupportedExport, match="no other kind of joint"):
            rg.fix(value)
        return
    fixed = rg.fix(value)
    assert type(fixed.object) is parser and len(fixed.changes) == 2
    assert counts(fixed.object)[2:] == (0, 1) and counts(value)[2:] == (3, 1)
    assert "becomes" in fixed.diff
    with pytest.raises(rg.ModelError, match=r"take `\.object`"):
        fixed.write(tmp_path / "fixed.urdf")


def test_adapters_of_other_packages_take_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    from regularize.adapters import Adapter, adapters

    class Sticks:
        hinges = (("A", "ground", "crank"), ("B", "crank", "ground"))

    def read_sticks(sticks: Sticks) -> rg.Mechanism:
        a = rg.assembly("sticks")
        a.body("crank")
        for x, (name, parent, child) in enumerate(sticks.hinges):
            a.hinge(name, parent, child, at=(x, 0, 0))
        return a.mechanism()

    record = Adapter(
        name="sticks-object",
        title="Sticks",
        reader="sticks_in_memory:read_sticks",
        accepts=lambda value: isinstance(value, Sticks),
    )
    import sys
    from types import SimpleNamespace

    monkeypatch.setitem(sys.modules, "sticks_in_memory", SimpleNamespace(read_sticks=read_sticks))
    entry = SimpleNamespace(name="sticks", value="sticks", load=lambda: record)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    adapters.cache_clear()
    try:
        assert rg.reduce(Sticks()).graph.loops == 1
        with pytest.raises(rg.NotTaken, match="Sticks"):
            rg.load(3)
        with pytest.raises(rg.UnsupportedExport, match="Sticks"):
            rg.fix(Sticks())
    finally:
        adapters.cache_clear()


def test_a_path_may_have_lines(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines.urdf"
    path.write_bytes((ASSETS / "planar_fourbar.urdf").read_bytes())
    assert rg.check(str(path)).as_dict()["mobility"]["actual"] == 1
