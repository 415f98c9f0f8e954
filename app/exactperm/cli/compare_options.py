"""The options of `compare` that `test` and `gate` do not have, or have with other choices."""

from __future__ import annotations

from typing import get_args

import click

from ..answers.board import Adjust, Aggregate, Combine, Family, ListedPairs
from ..inputs.formats.options import OF_TWO as NOT_OF_MANY
from ..reports.picture.canvas import Theme
from ..reports.representations import OF_A_COMPARISON, BoardPicture, BoardTable
from .options import READING, SECTIONS as OF_TWO, SERVER, STORE, TEST, Field, in_section, of_field

ROLES_OF_TWO = frozenset((*NOT_OF_MANY, "on_missing"))
NOT_OF_A_BOARD = frozenset(
    {"test", "significance", "power", "sequential", "exact_fraction", "pmf", "statistic", "alternative"}
)

COMPARE = (
    Field("baseline", "Compare every system with this one, instead of all pairs.", "NAME"),
    Field("adjust", "How p-values are adjusted over the pairs of a family [holm].", choices=get_args(Adjust)),
    Field(
        "on_missing",
        "Items that only some systems have: refuse, compare each pair on the items of both, or all on the items of all "
        "[error].",
        choices=("error", "pairwise", "complete"),
    ),
    Field(
        "family", "Whether each data set is a family of tests, or all are one [dataset].", choices=get_args(Family)
    ),
    Field(
        "aggregate",
        "The overall board: data sets weigh the same, items do, or there is none [macro].",
        choices=(*get_args(Aggregate), "null"),
    ),
    Field("combine", "Make the overall p-values of those of the data sets.", choices=get_args(Combine)),
    Field("pairs", "Which pairs the answer lists [auto: as many as fit].", choices=get_args(ListedPairs)),
    Field("systems", "Which systems of one file to compare: A,B,C or a JSON list.", "LIST"),
    Field("names", "Names of the systems, in the order of their files: A,B,C or a JSON list [the files' names].", "LIST"),
)  # fmt: skip
SECTIONS = {
    "Compare": COMPARE,
    "Test": (
        Field("statistic", "What to compare; the default depends on the files.", "NAME"),
        Field(
            "alternative",
            "With --baseline or --pair; greater: the first is better than the second.",
            choices=("two-sided", "greater", "less"),
        ),
        *(field for field in TEST if field.name not in NOT_OF_A_BOARD),
    ),
    "Statistic": OF_TWO["Statistic"],
    "Reading the files": tuple(field for field in READING if field.name not in ROLES_OF_TWO),
}
_compare, _output = in_section("Compare"), in_section("Output")
DESIGN = (
    _compare(
        "--pair", "pair", nargs=2, multiple=True, metavar="U V", help="Compare these two; may be repeated."
    ),
    _compare(
        "--compare",
        "field_compare",
        metavar="WHAT",
        help='all_pairs, baseline, or a JSON list of pairs: [["A","B"],["A","C"]] [all_pairs].',
    ),
    _compare(
        "--higher-is-better/--lower-is-better",
        "higher_is_better",
        default=None,
        help="Which direction is good [by the metric: higher for accuracy, lower for wer].",
    ),
)
OUTPUT = (
    _output(
        "--format",
        "-f",
        "format_",
        type=click.Choice(OF_A_COMPARISON),
        help="Format of the answer [a table of the systems, or by the ending of --output].",
    ),
    _output("--output", "-o", metavar="FILE", help="Write the answer to this file."),
    _output(
        "--picture", type=click.Choice(get_args(BoardPicture)), help="Which picture (svg, png) [leaderboard]."
    ),
    _output("--table", type=click.Choice(get_args(BoardTable)), help="Which table (csv) [systems]."),
    _output("--theme", type=click.Choice(get_args(Theme)), help="Colours of svg and png."),
    _output("--quiet", "-q", is_flag=True, help="No progress on standard error."),
)
_file = in_section("Files")
FILES = (
    _file(
        "--gold", metavar="FILE", help="The gold standard (conllu, conll, asr, mt, ranking, mt-metrics-eval)."
    ),
    _file("--ref", metavar="FILE", multiple=True, help="References (asr, mt); up to four."),
    _file("--qrels", metavar="FILE", help="Relevance judgements (trec, with runs)."),
    _file("--documents", metavar="FILE", help="The document of each item (conll, mt)."),
    _file("--option", "-O", metavar="NAME=VALUE", multiple=True, help="Any other field of the form."),
)
OF_A_COMPARE = (
    *FILES,
    *DESIGN,
    *(
        of_field(section, field)
        for section in ("Compare", "Test", "Statistic", "Reading the files")
        for field in SECTIONS[section]
    ),
    *OUTPUT,
    *SERVER,
    *STORE,
)
