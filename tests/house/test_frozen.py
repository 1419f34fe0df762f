"""What users see of every example is what it was; ``frozen.py`` writes it down."""

from __future__ import annotations

import sys

import frozen
import pytest

STORED = frozen.stored("models")
#: Models of the daily round; the others are slow.
QUICK = ("bennett", "n_fourbar_1", "slider_crank", "rhombus_stretched")


@pytest.mark.slow
def test_no_name_option_code_or_format_is_gone_without_a_word_on_what_replaces_it() -> None:
    assert not [*frozen.surface_differences(frozen.stored("surface"), frozen.surface())]


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="Pythons differ in layout")
def test_the_help_reads_as_it_did() -> None:
    texts = {verb: text.splitlines() for verb, text in frozen.help_texts().items()}
    assert texts == frozen.stored("help")


def test_every_example_is_written_down() -> None:
    assert set(STORED) == set(frozen.models())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in STORED]
)
def test_users_see_of_an_example_what_they_saw(name: str) -> None:
    found = frozen.record(frozen.models()[name])
    assert not [*frozen.differences(STORED[name], found, name)]


@pytest.mark.slow
@pytest.mark.skipif(not frozen.CORPUS.is_dir(), reason="no corpus beside the checkout")
@pytest.mark.parametrize("third", range(3))
def test_models_of_others_come_to_what_they_came_to(third: int) -> None:
    stored = dict([*sorted(frozen.stored("corpus").items())][third::3])
    assert len(stored) > 50
    assert not [*frozen.differences(stored, frozen.corpus(only=stored))]


def test_differences_are_seen() -> None:
    stored = {"class": "trivial", "kept": 2, "length": 1.5, "noise": None, "text": "at (1, 0.25)"}
    assert not [*frozen.differences(stored, stored | {"new": 1, "length": 1.5 + 1e-9, "noise": 3})]
    assert not [*frozen.differences(stored, stored | {"text": "at (1, 0.2501)"})]
    for change in ({"kept": 3}, {"length": 1.5001}, {"class": "other"}, {"text": "at (1, 0.3)"}):
        assert len([*frozen.differences(stored, stored | change)]) == 1
    assert [*frozen.differences({"a": [1, 2]}, {"a": [1]})]
    assert [*frozen.differences({"a": 1}, {})] == [".a is gone"]
