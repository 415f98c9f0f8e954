"""What the reader of a board should know: warnings with a code and a sentence."""

from __future__ import annotations

import numpy as np

from ...answers.board import LEFT_OUT, Adjust
from ...answers.test import WarningRecord
from .adjusted import Adjusted
from .pair_tests import PairTests


def left_out(size: int, most: int) -> list[WarningRecord]:
    """Of a board that lists `most` of its pairs, unless the request asks for more."""
    if size <= most:
        return []
    detail = (
        f"{size - most:,} of {_pairs(size)} are not listed in JSON and CSV, but those of the best systems are. They are tested, and part of "
        "the adjustment, ranks and groups. The option pairs lists them: all, or significant for those that differ."
    )
    return [WarningRecord(LEFT_OUT, detail)]


def test_warnings(tests: PairTests, adjusted: Adjusted, adjust: Adjust, alpha: float) -> list[WarningRecord]:
    """Of the tests: those that could not be significant, those left open, those sampled."""
    warnings = []
    hopeless, open_, sampled = (
        int(np.count_nonzero(of)) for of in (adjusted.hopeless, adjusted.open, tests.sampled)
    )
    if hopeless:
        warnings.append(
            WarningRecord(
                "family_untestable",
                f"{hopeless:,} of {_pairs(len(tests))} could not have become significant at alpha = {alpha} after adjustment "
                f"({adjust}, {_tests(adjusted.size)}), whatever the outcome: too few items on which their systems differ. "
                "Compare fewer systems, or more items.",
            )
        )
    if sampled:
        warnings.append(
            WarningRecord(
                "sampled",
                f"{sampled:,} of {_pairs(len(tests))} have a Monte Carlo estimate: their true p-value lies inside "
                "p_value_bounds with 99 % confidence each.",
            )
        )
    estimated = 0 if adjusted.sampled is None else int(np.count_nonzero(adjusted.sampled))
    if adjust == "max_t" and estimated:
        warnings.append(
            WarningRecord(
                "max_t_sampled",
                f"{estimated:,} of {_pairs(len(tests))} have a sampled p_adjusted: it lies inside p_adjusted_bounds with 99 % "
                "confidence each (p_adjusted_bounds_kind is confidence). Their p_value is not sampled for that.",
            )
        )
    if open_:
        warnings.append(
            WarningRecord(
                "alpha_within_bounds",
                f"{open_:,} of {_pairs(len(tests))} are undecided: alpha = {alpha} lies inside p_adjusted_bounds. They count "
                "as not significant; ask for more precision or samples to decide.",
            )
        )
    return warnings


def letters_too_many(limit: int) -> WarningRecord:
    """No letters."""
    return WarningRecord(
        "letters_too_many",
        f"There are more than {limit} maximal groups of systems without a significant difference: letters are null. "
        "Clusters, tiers and rank ranges are not affected.",
    )


def pairwise_circular(against: int, *, circle: bool) -> WarningRecord:
    """Pairs tested on other items than the scores are of."""
    also = " There are even circles, each system better than the next." if circle else ""
    return WarningRecord(
        "pairwise_circular",
        f"In {_pairs(against)} the system with the worse score is significantly better: a score is over all items that a "
        f"system has, a test over the items that both have.{also} Ranks follow the scores, tiers the direction of "
        "each test, clusters significance alone; the best set may be empty.",
    )


def combined_against_scores(against: int) -> WarningRecord:
    """Pairs whose p-values, combined, are for the system with the worse mean score."""
    return WarningRecord(
        "combined_against_scores",
        f"In {_pairs(against)} the system with the worse mean score is significantly better by the p-values of the data sets "
        "together: a few data sets of large numbers outweigh the others in the mean. Ranks follow the scores, tiers the "
        "direction of each test, clusters significance alone.",
    )


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count:,} pairs"


def _tests(count: int) -> str:
    return "1 test" if count == 1 else f"{count:,} tests"
