"""Every datum that a file or an object can state comes in, or a finding names it."""

from pathlib import Path

import doors
import pytest


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", doors.DOORS)
def test_no_datum_is_lost_in_silence(name: str, tmp_path: Path) -> None:
    found = {datum: doors.cell(name, datum, tmp_path) for datum in doors.data_of(name)}
    told = {datum: doors.outcome(name, datum) for datum in doors.data_of(name)}
    assert found == told


def test_the_page_of_the_handbook_is_this_table() -> None:
    """``python tests/support/doors.py`` writes it anew."""
    assert doors.PAGE.read_text(encoding="utf-8") == doors.page()
