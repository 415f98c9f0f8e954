"""What an item is in a table: keys beside runs and data sets, indexes of long tables, and ids in two forms."""

from __future__ import annotations

import itertools
import random

import pytest

from exactperm.client import errors as client_errors
from exactperm.errors import InvalidTest
from exactperm.inputs.formats import catalogue
from exactperm.inputs.formats.reader import ReaderOptions, Reading, UploadedFile
from exactperm.local.run import test as paired_test
from exactperm.statistics.paired import Repeated, Scores

CELLS = list(itertools.product(range(4), (1, 2), ("de", "fr")))


def read(**files: str) -> Reading:
    given = {role: UploadedFile(f"{role}.csv", text.encode()) for role, text in files.items()}
    return catalogue.read(given, "auto", ReaderOptions())


def by_item(reading: Reading) -> dict[str, tuple[float, float]]:
    data = reading.data
    assert isinstance(data, Scores)
    assert data.pairing.ids is not None
    assert isinstance(data.u, Repeated)
    assert isinstance(data.v, Repeated)
    means = [side.values.reshape(-1, 2).mean(axis=1).tolist() for side in (data.u, data.v)]
    return dict(zip(map(str, data.pairing.ids), zip(*means, strict=True), strict=True))


def test_a_data_set_beside_runs_is_part_of_the_key() -> None:
    wide = "id,run,lang,new,old\n" + "".join(f"q{i},{run},{lang},{i + run},{i}\n" for i, run, lang in CELLS)
    found = by_item(read(file=wide))
    assert set(found) == {f"{lang}/q{i}" for i, _, lang in CELLS}

    rows = [
        (i, run, lang, name, i + run * (name == "new")) for i, run, lang in CELLS for name in ("new", "old")
    ]
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        long = "id,run,lang,system,score\n" + "".join(
            ",".join(map(str, (f"q{row[0]}", *row[1:]))) + "\n" for row in rows
        )
        reading = read(file=long)
        assert by_item(reading) == found
        assert reading.findings == ()


def test_an_index_may_be_the_key_of_a_long_table() -> None:
    text = "index,system,score\n" + "".join(
        f"{i},{name},{i % 3}\n" for name in ("new", "old") for i in range(6)
    )
    assert list(read(file=text).data.pairing.ids or ()) == list("012345")


@pytest.mark.parametrize("form", ["{}.0", "0{}"])
def test_ids_in_two_forms_are_named(form: str) -> None:
    u = "id,score\n" + "".join(f"{i},{i}\n" for i in range(1, 6))
    v = "id,score\n" + "".join(f"{form.format(i)},{i}\n" for i in range(1, 6))
    with pytest.raises(InvalidTest, match=f'"1" and "{form.format(1)}" may be one id in two forms'):
        read(u=u, v=v)


@pytest.mark.parametrize(
    "data",
    [({"b": True, "c": 5},), ([{"tp": True, "incorrect": 1}] * 2, [{"tp": 1, "incorrect": 2}] * 2)],
)
def test_true_is_no_count(data: tuple[object, ...]) -> None:
    with pytest.raises(client_errors.InvalidTest, match="whole number"):
        paired_test(*data)
