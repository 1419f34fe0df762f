"""Metamodels in archives and as C: what comes back is what went in."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from test_metamodel import FOUR_BAR, four_bar, orthoglide, scattered, sixteen

import regularize as rg
from regularize.cli import main

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
SCHEMA = ROOT / "regularize" / "schema" / "metamodel-1.json"

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
needs_cxx = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


@lru_cache
def model_of(lower: float, upper: float, **options: float) -> rg.Metamodel:
    return rg.metamodel(four_bar(), [lower, upper], held_out=50, **options)  # type: ignore[arg-type]


def bar() -> rg.Metamodel:
    """One input, and a part of the bounds that cannot be reached."""
    return model_of(-1.9, 1.75, tolerance=0.05, smallest=1 / 256)


@lru_cache
def glide(boxes: int) -> rg.Metamodel:
    return rg.metamodel(orthoglide(), [[-0.26, 0.06]] * 3, size=0.32 / boxes, held_out=50)


MODELS: dict[str, Callable[[], rg.Metamodel]] = {
    "bar": bar,
    "sixteen": sixteen,
    "single": lambda: model_of(-0.1, 0.1, size=1.0),
    "glide": lambda: glide(2),
}


@pytest.mark.parametrize("name", MODELS)
def test_archive_gives_the_same_model(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    model.save(tmp_path / "model.npz")
    again = rg.Metamodel.load(tmp_path / "model.npz")
    theta = inside(model, 200)
    # Products of matrices round differently where numbers lie differently in memory.
    given = model.coefficients(theta)
    np.testing.assert_allclose(again.coefficients(theta), given, rtol=1e-12, atol=1e-14)
    assert again.inputs == model.inputs and again.accuracy == model.accuracy
    assert again.operations == model.operations and again.samples == model.samples
    assert again.findings == model.findings and again.scale == model.scale
    np.testing.assert_array_equal(again.estimated, model.estimated)
    again.save(tmp_path / "again.npz")
    assert header(tmp_path / "again.npz") == header(tmp_path / "model.npz")


def header(path: Path) -> str:
    with np.load(path, allow_pickle=False) as archive:
        return str(archive["header"])


def inside(model: rg.Metamodel, count: int) -> np.ndarray:
    theta = scattered(model, count)
    return theta[model.covers(theta)]


@pytest.mark.parametrize("name", MODELS)
def test_header_fits_its_schema(name: str, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    path = tmp_path / "model.npz"
    MODELS[name]().save(path)
    with np.load(path, allow_pickle=False) as archive:
        about = json.loads(str(archive["header"]))
        for key, described in about["arrays"].items():
            assert list(archive[key].shape) == described["shape"]
            assert str(archive[key].dtype) == described["dtype"]
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(about, schema)
    assert json.dumps(about, allow_nan=False)


def test_unreadable_archives(tmp_path: Path) -> None:
    with pytest.raises(rg.ReadError, match="there is no such file"):
        rg.Metamodel.load(tmp_path / "missing.npz")
    (tmp_path / "text.npz").write_text("nothing of the kind")
    with pytest.raises(rg.ReadError, match="is no NumPy archive"):
        rg.Metamodel.load(tmp_path / "text.npz")
    bar().save(tmp_path / "whole.npz")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:-300])
    with pytest.raises(rg.ReadError, match="is no NumPy archive"):
        rg.Metamodel.load(tmp_path / "cut.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(rg.ReadError, match="lacks the entry 'header'"):
        rg.Metamodel.load(tmp_path / "other.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"header": '{"schema_version": 2}'}, "has schema version 2, and version 1 can be read"),
        ({"header": "{"}, "lacks the entry"),
        ({"weights": np.zeros((2, 3))}, "weights: has shape"),
        ({"lower": np.zeros(3)}, "lower: has shape"),
        ({"constant": None}, "lacks the entry 'constant'"),
    ],
)
def test_damaged_archives(change: dict[str, object], message: str, tmp_path: Path) -> None:
    bar().save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as archive:
        arrays = dict(archive)
    for key, value in change.items():
        if value is None:
            del arrays[key]
        else:
            arrays[key] = np.asarray(value)
    np.savez(tmp_path / "damaged.npz", **arrays)
    with pytest.raises(rg.ReadError, match=message):
        rg.Metamodel.load(tmp_path / "damaged.npz")


def compiled(source: str, folder: Path, *options: str) -> ctypes.CDLL:
    path = folder / "model.c"
    path.write_text(source)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-shared", "-fPIC"]
    library = folder / "model.so"
    command = ["cc", *flags, *options, str(path), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library))


@needs_cc
@pytest.mark.parametrize("name", MODELS)
def test_c_equals_python(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    library = compiled(model.to_c("arm"), tmp_path, "-ffp-contract=off")
    s = len(model.inputs)
    P = s * (s + 1) // 2
    theta = inside(model, 300)
    rng = np.random.default_rng(1)
    rate, acceleration = rng.normal(size=(2, *theta.shape))
    H, D, p = model.H(theta), model.D(theta), model.p(theta)
    effort = model.inverse_dynamics(theta, rate, acceleration)

    def pointer(array: np.ndarray) -> object:
        return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    c_H, c_D, c_p, c_effort = np.zeros((s, s)), np.zeros((s, P)), np.zeros(s), np.zeros(s)
    for i in range(len(theta)):
        found = library.arm_model(pointer(theta[i]), pointer(c_H), pointer(c_D), pointer(c_p))
        assert found == 0
        np.testing.assert_allclose(c_H, H[i], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(c_D, D[i], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(c_p, p[i], rtol=1e-12, atol=1e-12)
        states = [pointer(a[i]) for a in (theta, rate, acceleration)]
        assert library.arm_inverse_dynamics(*states, pointer(c_effort)) == 0
        np.testing.assert_allclose(c_effort, effort[i], rtol=1e-11, atol=1e-11)


@needs_cc
def test_c_says_when_it_is_outside(tmp_path: Path) -> None:
    library = compiled(bar().to_c("arm"), tmp_path)
    out = (ctypes.c_double * 1)(7.0)
    for value, expected in ((0.3, 0), (-1.85, -1), (1.76, -1), (float("nan"), -1)):
        one = (ctypes.c_double * 1)(value)
        out[0] = 7.0
        assert library.arm_inverse_dynamics(one, one, one, out) == expected
        assert (out[0] == 7.0) == (expected == -1)
        assert bar().covers([value]) == (expected == 0)


@needs_cc
def test_c_in_single_precision(tmp_path: Path) -> None:
    library = compiled(sixteen().to_c("arm"), tmp_path, "-DARM_REAL=float")
    one = (ctypes.c_float * 1)(0.3)
    out = (ctypes.c_float * 1)()
    assert library.arm_inverse_dynamics(one, one, one, out) == 0
    theta = np.array([np.float32(0.3)], dtype=np.float64)
    expected = sixteen().inverse_dynamics(theta, theta, theta)
    np.testing.assert_allclose(out[0], expected[0], rtol=1e-5)


COUNTING = """
struct Counted {{
    double value;
    static long operations;
    constexpr Counted(double v = 0.0) : value(v) {{}}
}};
long Counted::operations = 0;
template <class Value> static Value counted(Value value) {{ ++Counted::operations; return value; }}
static Counted operator+(Counted a, Counted b) {{ return counted(a.value + b.value); }}
static Counted operator-(Counted a, Counted b) {{ return counted(a.value - b.value); }}
static Counted operator*(Counted a, Counted b) {{ return counted(a.value * b.value); }}
static bool operator<(Counted a, Counted b) {{ return counted(a.value < b.value); }}
static bool operator>=(Counted a, Counted b) {{ return a.value >= b.value; }}
static bool operator<=(Counted a, Counted b) {{ return a.value <= b.value; }}
static Counted operator-(Counted a) {{ return -a.value; }}
#define ARM_REAL Counted
#include "model.c"
#include <cstdio>
int main() {{
    Counted theta[{s}], f[{t}];
    for (int i = 0; i < {s}; ++i) theta[i] = 0.5 * (arm_lower[i].value + arm_upper[i].value) - 0.01;
    arm_coefficients(theta, f);
    std::printf("%ld\\n", Counted::operations);
    return 0;
}}
"""


@needs_cxx
@pytest.mark.parametrize(("name", "expected"), [("sixteen", 18), ("glide", 504)])
def test_operations_are_those_of_equation_32(name: str, expected: int, tmp_path: Path) -> None:
    """The exported source itself is run with numbers that count what is done to them."""
    model = sixteen() if name == "sixteen" else glide(8)
    s, t = len(model.inputs), model.constant.shape[1]
    (tmp_path / "model.c").write_text(model.to_c("arm"))
    (tmp_path / "count.cpp").write_text(COUNTING.format(s=s, t=t))
    command = ["c++", "-std=c++17", "-w", str(tmp_path / "count.cpp"), "-o", str(tmp_path / "run")]
    subprocess.run(command, check=True, capture_output=True, text=True)
    counted = subprocess.run([tmp_path / "run"], check=True, capture_output=True, text=True).stdout
    assert int(counted) == model.operations == expected


@needs_cc
def test_header_declares_the_functions(tmp_path: Path) -> None:
    bounds = ["--inputs", "A", "--bounds", "-1.75", "1.75", "--size", "0.21875"]
    files = ["-o", str(tmp_path / "arm.npz"), "--c", str(tmp_path / "arm.c")]
    assert main(["metamodel", str(FOUR_BAR), *bounds, *files]) == 0
    (tmp_path / "main.c").write_text(
        '#include "arm.h"\n#include "arm.c"\n'
        "int main(void) { double x[1] = {0.0}, H[1][1], D[1][1], p[1], e[1];\n"
        "return arm_inside(x) - 1 + arm_model(x, H, D, p) + arm_inverse_dynamics(x, x, x, e); }\n"
    )
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = ["cc", *strict, "-o", str(tmp_path / "main"), str(tmp_path / "main.c")]
    subprocess.run(command, check=True, capture_output=True, text=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


def test_name_has_to_be_an_identifier() -> None:
    with pytest.raises(rg.UnsupportedExport, match="'four-bar' is no C identifier"):
        bar().to_c("four-bar")
    assert "#include" not in bar().to_c() and "malloc" not in bar().to_c()
