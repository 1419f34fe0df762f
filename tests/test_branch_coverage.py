"""What counts as a branch, and which are noted when code runs."""

from __future__ import annotations

from branch_coverage import TAKEN, marked

SOURCE = b'''"""Documented."""
from __future__ import annotations

if TYPE_CHECKING:
    import nothing


def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    return 0


def first(values):
    for value in values:
        if value:
            break
    else:
        value = None
    while True:
        return value


def worded(x):
    match x:
        case 0:
            return "none"
        case _:
            return "some"
'''


def test_each_way_out_is_noted_once_it_is_taken() -> None:
    taken: dict[str, None] = {}
    tree, names = marked(SOURCE)
    space = {TAKEN: taken, "TYPE_CHECKING": False}
    exec(compile(tree, "source.py", "exec"), space)
    assert not taken and space["__doc__"] == "Documented."
    assert set(names) == {
        *("9 true", "9 false", "11 true", "11 false"),
        *("17 next", "17 end", "18 true", "18 false"),
        *("28 case", "30 case"),
    }
    assert space["sign"](2) == 1 and taken.keys() == {"9 true"}
    assert space["sign"](0) == 0 and taken.keys() == {"9 true", "9 false", "11 false"}
    taken.clear()
    assert space["first"]([0, 3]) == 3 and taken.keys() == {"17 next", "18 false", "18 true"}
    assert space["first"]([]) is None and "17 end" in taken
    taken.clear()
    assert space["worded"](3) == "some" and taken.keys() == {"30 case"}
