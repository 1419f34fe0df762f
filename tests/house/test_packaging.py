"""What is installed, and what it takes to start."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distributions, version
from pathlib import Path

import pytest
import yaml
from test_guests import GUESTS

import regularize
from regularize.adapters import adapters

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
#: Wheels are built from checkouts with all packages that ``pyproject.toml`` names.
WHOLE = pytest.mark.skipif(
    not all((ROOT / guest).is_dir() for guest in GUESTS), reason="not a whole checkout"
)


def test_the_version_is_that_of_the_distribution():
    assert regularize.__version__ == version("pin-regularize")


def test_the_adapters_folder_is_linked_into_the_package():
    link = ROOT / "regularize" / "adapters"
    if not link.exists():
        pytest.skip("not a checkout")
    assert link.is_symlink() and link.resolve() == (ROOT / "adapters").resolve()


def test_nothing_named_adapters_is_installed_at_the_top():
    # What a build leaves in a checkout lists its sources, not what is installed.
    found = [d for d in distributions(name="pin-regularize") if d.read_text("RECORD")]
    names = {str(file).split("/")[0] for each in found for file in each.files or ()}
    assert "adapters" not in names


def test_typing_and_schema_files_are_installed():
    package = Path(regularize.__file__).parent
    assert (package / "py.typed").exists()
    assert len([*(package / "report" / "rules").glob("REG*.md")]) > 70


def test_the_version_is_printed_without_heavy_imports():
    heavy = {"numpy", "scipy", "pinocchio", "rich", "lxml", "trimesh"}
    code = (
        "import sys; from regularize.cli import main; main(['--version']);"
        f"sys.exit(', '.join({heavy!r} & {{*sys.modules}}) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not done.returncode, f"loaded: {done.stderr}"
    assert done.stdout.startswith("regularize ")


def loaded_by(code: str, heavy: set[str]) -> set[str]:
    """Which of some modules a process loads, beyond those that this Python begins with."""
    code = (
        f"import sys; heavy = {heavy!r} - {{*sys.modules}}; {code}; "
        "sys.stderr.write('|'.join(heavy & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {*done.stderr.split("|")} - {""}


@pytest.mark.slow
def test_a_check_loads_no_library_that_only_few_mechanisms_need() -> None:
    heavy = {
        *("scipy", "networkx", "pinocchio", "trimesh", "numpy.ma", "yaml", "difflib", "email"),
        *("concurrent.futures", "importlib.metadata", "zipfile", "logging", "tempfile"),
        *("regularize.proofs.verifier", "regularize.adapters.urdf.objects"),
        *("regularize.adapters.shapes.solids", "regularize.adapters.sdf"),
        "regularize.reduction.many_loops",
    }
    model = Path(__file__).parents[2] / "assets" / "planar_fourbar.urdf"
    # What a report advises is tried on a copy of the file, as `fix` does it.
    code = f"import regularize as rg; rg.check({str(model)!r}).reduction.redundant"
    assert loaded_by(code, heavy) == set()


@pytest.mark.slow
def test_a_simulation_of_one_loop_loads_no_library_that_only_few_mechanisms_need() -> None:
    heavy = {
        *("scipy", "networkx", "trimesh", "lxml", "yaml", "importlib.metadata", "email"),
        *("difflib", "concurrent.futures", "logging", "tempfile", "zipfile"),
        *("regularize.adapters.shapes.solids", "regularize.reduction.virtual_joints"),
        *("regularize.reduction.many_loops", "regularize.adapters.urdf"),
        *("regularize.dynamics.pinocchio.forces", "regularize.repair.statics.welds"),
    }
    if os.environ.get("REGULARIZE_EXPECTED") == "Python":  # its steps are SciPy's
        heavy = {name for name in heavy if name.startswith("regularize.")}
    model = Path(__file__).parents[2] / "assets" / "benchmarks" / "bricard.json"
    code = f"import regularize; regularize.simulate({str(model)!r}, duration=0.01)"
    assert loaded_by(code, heavy) == set()


@pytest.mark.slow
def test_a_page_of_a_model_without_shapes_loads_no_library_of_shapes() -> None:
    heavy = {"scipy", "networkx", "trimesh", "pinocchio", "regularize.adapters.shapes.solids"}
    model = Path(__file__).parents[2] / "assets" / "benchmarks" / "bricard.json"
    code = f"import regularize; regularize.show({str(model)!r})._repr_html_()"
    assert loaded_by(code, heavy) == set()


def test_unknown_public_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="nonsense"):
        regularize.nonsense  # noqa: B018
    assert {"check", "load", "reduce", "to_pinocchio"} <= set(dir(regularize))


def declared() -> set[str]:
    """The packages that the build is told of."""
    text = (ROOT / "pyproject.toml").read_text()
    listed = text[text.index("\npackages = [") :].split("]")[0]
    return {line.strip(' ",') for line in listed.splitlines() if line.startswith('    "')}


@pytest.mark.skipif(not (ROOT / "adapters").is_dir(), reason="not a checkout")
def test_every_package_is_declared():
    found = {"regularize.schema"}
    for folder, name in (
        (ROOT / "regularize", "regularize"),
        (ROOT / "adapters", "regularize.adapters"),
    ):
        for path in folder.rglob("__init__.py"):
            parts = path.parent.relative_to(folder).parts
            if name != "regularize" or parts[:1] != ("adapters",):
                found.add(".".join([name, *parts]))
    guests = tuple(f"{guest.replace('adapters/', 'regularize/adapters/')}/" for guest in GUESTS)
    absent = tuple(guest for guest in guests if not (ROOT / guest).is_dir())
    assert {
        name for name in declared() if not f"{name.replace('.', '/')}/".startswith(absent)
    } == found


def wheel_of(source: Path, folder: Path, archive: bool = False, **environment: str) -> Path:
    """Build a wheel from a copy of the checkout; an archive has files in the place of links."""
    pytest.importorskip("setuptools", minversion="77")
    skipped = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "*.so", "tests")
    shutil.copytree(ROOT, source, symlinks=True, ignore=skipped)
    if archive:  # as a zip of the repository is unpacked
        (source / "regularize" / "adapters").unlink()
        (source / "regularize" / "adapters").write_text("../adapters")
    code = "from setuptools.build_meta import build_wheel; import sys; build_wheel(sys.argv[1])"
    around = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", code, str(folder)]
    subprocess.run(
        command, cwd=source, check=True, capture_output=True, env={**around, **environment}
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.slow
@WHOLE
def test_wheels_from_an_archive_without_links_hold_the_same_files_and_are_reproducible(
    tmp_path: Path,
):
    contents = []
    for name in ("links", "archive", "again"):
        made = {"SOURCE_DATE_EPOCH": "1700000000", "CC": "/bin/false"}
        wheel = wheel_of(tmp_path / name, tmp_path, name == "archive", **made)
        with zipfile.ZipFile(wheel) as archive:
            names = {n for n in archive.namelist() if not n.endswith("RECORD")}
            contents.append({n: archive.read(n) for n in names if not n.endswith(".so")})
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        wheel.rename(tmp_path / f"{name}-{digest}.built")
    assert contents[0].keys() == contents[1].keys()
    assert contents[0] == contents[1] == contents[2]
    digests = {
        path.stem.split("-")[1] for path in tmp_path.glob("*.built") if "arch" not in path.name
    }
    assert len(digests) == 1


@pytest.mark.slow
def test_a_package_is_published_with_the_address_of_its_repository(tmp_path: Path):
    for file in ("pyproject.toml", "CITATION.cff"):
        shutil.copy(ROOT / file, tmp_path)
    script = ROOT / "assets" / "name_repository.py"

    def name(url: str) -> int:
        return subprocess.run([sys.executable, script, "--folder", tmp_path, url]).returncode

    assert name("not an address") == 2
    assert name("https://example.org/robots/loops") == 0
    assert name("https://example.org/robots/other") == 2, "there is one address"
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Issues"] == "https://example.org/robots/loops/issues"
    cited = yaml.safe_load((tmp_path / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["repository-code"] == "https://example.org/robots/loops"


@pytest.mark.slow
@WHOLE
def test_a_pure_wheel_is_for_every_platform_and_has_no_compiled_code(tmp_path: Path):
    wheel = wheel_of(tmp_path / "source", tmp_path, REGULARIZE_PURE="1")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if name.endswith((".so", ".pyd"))]


WITHOUT = """
import sys
sys.modules["pinocchio"] = None
import regularize as rg
from regularize.cli import main
for path in sys.argv[1:]:
    reduction = rg.reduce(rg.load(path))
    rg.reactions(reduction), rg.cures(reduction)
    robot = rg.to_pinocchio(reduction)
    for coordinates in ("all", "minimal"):
        motion = rg.simulate(reduction, duration=0.01, solver=rg.Solver(coordinates))
        assert motion.closure.max() < 1e-9
assert main(["check", *sys.argv[1:], "--jobs", "1", "--fail-on", "never"]) == 0
assert main(["fix", sys.argv[1], "--diff"]) == 0
try:
    robot.model
except rg.MissingPinocchio as error:
    assert "pip install pin" in str(error)
sys.exit(main(["simulate", sys.argv[1], "--engine", "legacy"]))
"""


@pytest.mark.slow
def test_without_pinocchio_all_works_that_does_not_need_it(tmp_path: Path):
    models = [str(ROOT / "assets" / f"{name}.urdf") for name in ("planar_fourbar", "three_prrr")]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *models], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        "regularize: this computation needs Pinocchio, which is not installed"
    )
    assert list(tmp_path.iterdir()) == []


BARE = """
import sys
sys.modules["pinocchio"] = None
from regularize.cli import main
sys.exit(main(["check", *sys.argv[1:], "--jobs", "1", "--fail-on", "never"]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="has no folder that not even root may write")
def test_every_asset_is_checked_where_nothing_is_at_hand(tmp_path: Path):
    """No Pinocchio, a terminal of ASCII, and a home and a folder that cannot be written."""
    assets = ROOT / "assets"
    cad = [*assets.glob("*.FCStd")] if "freecad" in adapters() else []
    models = [str(path) for path in sorted([*assets.glob("*.urdf"), *cad])]
    environment = {**os.environ, "HOME": "/proc", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", BARE, *models], capture_output=True, cwd="/proc", env=environment
    )
    assert (done.returncode, done.stderr) == (0, b"")
    said = done.stdout.decode("ascii")
    assert f"{len(models)} models checked" in said
    assert "cannot be read" not in said
