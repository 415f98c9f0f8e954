"""The options of `power`: a design, what is known, and what is asked for."""

from __future__ import annotations

from typing import get_args

import click

from ..answers.power import Solve
from ..reports.picture.canvas import Theme
from ..reports.representations import OF_POWER
from .options import FILES, SERVER, STORE, in_section, of_fields

_asked, _design, _output = in_section("Power"), in_section("Design"), in_section("Output")
NUMBERS = ("p10", "p01", "u", "v", "discordance", "correlation")
QUESTION = (
    _asked(
        "--solve", type=click.Choice(get_args(Solve)), default="effect", help="What is asked for [effect]."
    ),
    _asked("-n", "n", metavar="NUMBERS", help="Numbers of items: 500, or 100,300,1000 [a pilot's own]."),
    _asked("--effect", metavar="NUMBER", help="The true difference U - V, in the statistic's units."),
    _asked("--power", metavar="NUMBER", help="The probability with which it is to be found [0.8]."),
    _asked("--alpha", metavar="NUMBER", help="Significance level of all comparisons together [0.05]."),
    _asked(
        "--alternative",
        type=click.Choice(("two-sided", "greater", "less")),
        help="As in the test [two-sided].",
    ),
    _asked("--comparisons", metavar="NUMBER", help="How many tests share alpha [1]."),
)
DESIGN = (
    _design(
        "--p10", metavar="NUMBER", help="Items are right or wrong: the probability that U alone is right."
    ),
    _design("--p01", metavar="NUMBER", help="The probability that V alone is right."),
    _design("--u", metavar="NUMBER", help="U's accuracy, with --v, and --discordance or --correlation."),
    _design("--v", metavar="NUMBER", help="V's accuracy."),
    _design("--discordance", metavar="NUMBER", help="The probability that exactly one of them is right."),
    _design("--correlation", metavar="NUMBER", help="The correlation of being right."),
    _design("--sd", metavar="NUMBER", help="Only the standard deviation of an item's difference is known."),
)
OUTPUT = (
    _output(
        "--format",
        "-f",
        "format_",
        type=click.Choice(OF_POWER),
        help="Format of the answer [text, or by the ending of --output].",
    ),
    _output("--output", "-o", metavar="FILE", help="Write the answer to this file."),
    _output("--theme", type=click.Choice(get_args(Theme)), help="Colours of svg and png."),
    _output("--quiet", "-q", is_flag=True, help="No progress on standard error."),
)
OWN = frozenset(
    {"alternative", "alpha", "power", "confidence_level", "significance", "test", "sequential"}
    | {"method", "samples", "seed", "precision", "exact_fraction", "pmf"}
)
OF_POWER_COMMAND = (
    *QUESTION,
    *DESIGN,
    *FILES,
    *of_fields("Test", "Statistic", "Reading the files", but=OWN),
    *OUTPUT,
    *SERVER,
    *STORE,
)
