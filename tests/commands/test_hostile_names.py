"""Names are never code: a sample of the table in ``hostile_names.py``, which can try all of it."""

from __future__ import annotations

import shutil

import hostile_names
import pytest

pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler that says what it reads"),
    pytest.mark.slow,
]

#: Of every kind one: C, Python, pages, XML, terminals, workflow commands, USD.
SAMPLE = [hostile_names.NAMES[i] for i in (0, 3, 9, 18, 22, 27, 34, 40)]


@pytest.mark.parametrize("name", SAMPLE, ids=ascii)
def test_a_name_is_no_code(name: str) -> None:
    place = hostile_names.PLACES[SAMPLE.index(name) % len(hostile_names.PLACES)]
    count, wrong = hostile_names.failures(name, place)
    assert count > 50
    assert not wrong, "\n".join(wrong)
