"""The order of items by their ids, which NumPy finds for many: the same as Python's `sorted`."""

import random

import pytest
from hypothesis import given, settings, strategies as st

from exactperm.statistics import item_ids
from exactperm.statistics.columns import taken_pairing
from exactperm.statistics.item_ids import distinct_and_order, order_of_items
from exactperm.statistics.paired import Pairing

CHARACTERS = st.sampled_from(
    ["a", "b", "0", "1", "9", "Z", " ", "ä", "٣", "\uffff", "😀", "\ud800", "\0", "\n"]
)
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=20), st.text("01", max_size=12), st.text("q1", min_size=60, max_size=70)
)
IDS = st.lists(st.one_of(TEXTS, st.integers(-3, 30)) | TEXTS, min_size=1, max_size=40)


def sorted_positions(ids: list[str | int]) -> list[int]:
    """Whole numbers of at most 18 digits as numbers, all else as text."""
    texts = [str(key) for key in ids]
    if all(len(key) <= 18 and key.isdecimal() and key.isascii() for key in texts):
        return sorted(range(len(ids)), key=lambda at: (int(texts[at]), texts[at]))
    return sorted(range(len(ids)), key=lambda at: texts[at])


@pytest.mark.parametrize("many", [0, 1_000])
@settings(max_examples=400)
@given(IDS)
def test_ids_are_sorted_as_python_sorts_them(many: int, ids: list[str | int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item_ids, "_MANY_IDS", many)
        wanted = sorted_positions(ids)
        order = order_of_items(Pairing(ids=ids))
        assert (list(range(len(ids))) if order is None else order.tolist()) == wanted
        distinct, known = distinct_and_order(ids)
        assert distinct == (len(set(ids)) == len(ids))
        if distinct and known is not None:
            assert known.tolist() == wanted


@pytest.mark.parametrize("name", ["{}", "q{}", "q{:06}", "task-of-a-long-name/{}"])
def test_thousands_of_ids_in_any_order(name: str) -> None:
    ids = [name.format(index) for index in range(5_000)]
    random.Random(1).shuffle(ids)
    order = order_of_items(Pairing(ids=ids))
    assert order is not None
    assert order.tolist() == sorted_positions(list(ids))
    pairing = taken_pairing(Pairing(ids=ids), order)
    assert pairing.ids is not None
    assert list(pairing.ids) == [ids[index] for index in order.tolist()]
    assert (len(pairing.ids), pairing.ids[3]) == (5_000, ids[order[3]])
    assert order_of_items(pairing) is None
    assert distinct_and_order([*ids, ids[7]])[0] is False
    distinct, again = distinct_and_order(ids)
    assert distinct
    assert again is not None
    assert again.tolist() == order.tolist()
