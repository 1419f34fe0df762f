"""Many models at once, wherever the work is done."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mechanisms import planar_fourbar

import regularize as rg
from regularize.cli import main

ASSETS = Path(__file__).parents[1] / "assets"
FILES = [ASSETS / "planar_fourbar.urdf", ASSETS / "bennett.urdf"]


@pytest.mark.slow
def test_results_come_with_their_sources(tmp_path: Path) -> None:
    absent = tmp_path / "absent.urdf"
    mechanism = planar_fourbar()
    with ThreadPoolExecutor(2) as executor:
        found = dict(rg.check_each([*FILES, absent, mechanism], executor=executor))
    assert isinstance(found[absent], rg.RegularizeError)
    redundant = {FILES[0]: 3, FILES[1]: 3, mechanism: 3}
    for source, count in redundant.items():
        report = found[source]
        assert isinstance(report, rg.Report) and report.reduction.redundant == count
    alone = dict(rg.check_each(FILES[:1], configurations=8))
    assert repr(alone[FILES[0]]) == repr(found[FILES[0]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = dict(rg.check_each(map(str, FILES), executor=client.get_executor()))
    assert {Path(source) for source in found} == set(FILES)


@pytest.mark.slow
def test_lines_are_written_as_they_come(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", *map(str, FILES), "--output", "jsonl"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all(line.startswith("{") for line in lines)
