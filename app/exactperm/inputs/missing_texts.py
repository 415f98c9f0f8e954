"""What tables write where there is no value: pandas' spellings (`na_values` of `read_csv`), and those of other tools."""

from __future__ import annotations

# In lower case.
MISSING = frozenset(
    (
        "", "na", "n/a", "nan", "-nan", "none", "null", "noanswer", "<na>", "#n/a", "#n/a n/a", "#na", "1.#ind", "-1.#ind",
        "1.#qnan", "-1.#qnan",
    )
)  # fmt: skip


def is_missing(text: str) -> bool:
    """Whether a field means that there is no value."""
    return text.strip().lower() in MISSING
