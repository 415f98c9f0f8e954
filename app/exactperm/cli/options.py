"""The options of the commands that read files, and how help shows them; tests compare them with the fields of the forms."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import click

from ..answers.board import Adjust, Aggregate, Combine, Family, ListedPairs
from ..answers.gate import Policy
from ..answers.power import Solve
from ..answers.test import SystemsStatistic
from ..inputs.options import OF_TWO as NOT_OF_MANY, READER_OPTIONS
from ..reports.picture.canvas import Theme
from ..reports.representations import (
    OF_A_COMPARISON,
    OF_A_TEST as FORMATS_OF_A_TEST,
    OF_POWER,
    OF_TESTS_AND_GATES,
    BoardPicture,
    BoardTable,
)
from ..service.kinds import JsonTest
from ..statistics.catalogue import ENTRIES, Parameter

ALTERNATIVES = ("two-sided", "greater", "less")
# Rare fields, typed as -O NAME=VALUE, so that help stays short.
RARE = frozenset((
    "significance", "sequential", "exact_fraction", "missing_range", "allow_incomplete", "reduce_epochs", "event_column", "correction",
    "metric_u", "metric_v", "filter_u", "filter_v", "token_column", "tag_column_gold", "tag_column_u", "tag_column_v",
    "ner_mode", "scheme", "zero_method", "interpolation", "scale", "group_average", "variant", "epsilon", "tokenize",
    "lowercase", "word_order", "normalized", "case_sensitive", "precision", "pmf", "q", "beta", "numerator", "denominator",
    "labels", "task", "scorer", "sheet", "path", "items", "tag_column", "family", "combine",
))  # fmt: skip
# Options of rycolab/paired-perm-test, and how they are typed here.
OTHERWISE = {
    "MC": "--method monte_carlo --samples K",
    "delim": "--delimiter comma, or tab",
    "input": "the FILE without an option",
}


def option_of(name: str) -> str:
    """A field of the form as the option that sets it."""
    if name in RARE:
        return f"-O {name}"
    if name in {"name_u", "name_v"}:
        return "--names"
    return "--input-format" if name == "format" else "--" + name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form as an option: `zero_method` is `--zero-method`."""

    name: str
    help: str
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()
    flag: bool = False

    @property
    def option(self) -> str:
        """The name on the command line."""
        return option_of(self.name)


TEST = (
    Field("statistic", "The statistic, see exactperm statistics; the default depends on the files.", "NAME"),
    Field("alternative", "greater: U is greater than V.", choices=ALTERNATIVES),
    Field("alpha", "Significance level [0.05].", "NUMBER"),
    Field("significance", "Which p-value decides [p].", choices=("p", "mid_p")),
    Field("confidence_level", "Confidence level of an interval for the difference, such as 0.95.", "NUMBER"),
    Field(
        "power", "Report the difference that this test finds with this probability, such as 0.8.", "NUMBER"
    ),
    Field(
        "sequential",
        (
            'E-values for repeated looks at growing data: {"mode":"anytime"}, with scale, planned_n, '
            "max_difference."
        ),
        "JSON",
    ),
    Field("method", "How to compute: auto, fft, dp, rational, bounds, monte_carlo, … [auto].", "NAME"),
    Field("test", "Null model [permutation].", choices=("permutation", "bootstrap")),
    Field(
        "exchange",
        "What is exchanged: items, the runs of each item, or both [items].",
        choices=("items", "runs", "both"),
    ),
    Field("samples", "Samples of method monte_carlo [20000].", "NUMBER"),
    Field("seed", "Seed of method monte_carlo [0].", "NUMBER"),
    Field("precision", "Relative width that method bounds must reach [0.001].", "NUMBER"),
    Field("exact_fraction", "Give the p-value as an exact fraction as well.", flag=True),
    Field("pmf", "How much of the null distribution to give: none, summary, full.", "NAME"),
    Field("timeout_s", "Deadline in seconds.", "SECONDS"),
)
METAVARS = {
    "text": "NAME",
    "formula": "FORMULA",
    "number": "NUMBER",
    "integer": "NUMBER",
    "boolean": "BOOLEAN",
    "unit": "NUMBER",
    "label": "LABEL",
    "labels": "LABELS",
}
READING = (
    Field("format", "The format of the files: csv, lm-eval, conllu, … [auto: guessed].", "NAME"),
    *(
        Field(
            one.name,
            one.help.removesuffix(".")
            + (f" [{one.default}]." if one.default and one.type == "text" else "."),
            METAVARS[one.type],
            choices=() if one.is_open or one.type == "boolean" else tuple(one.choices),
            flag=one.type == "boolean",
        )
        for one in READER_OPTIONS
    ),
)
GATE = (
    Field("policy", "The claim to support [no_regression].", choices=get_args(Policy)),
    Field(
        "margin",
        (
            "How much worse U may be; for improve, how much better it must be; for equivalent, how much it may "
            "differ [0]."
        ),
        "NUMBER",
    ),
    Field("threshold", "For at_least and not_below: the score that U, without a V, must reach.", "NUMBER"),
    Field(
        "range",
        "With --threshold: the least and the largest possible score, [0,1], if items are not right or wrong.",
        "LIST",
    ),
    Field(
        "on_inconclusive", "Whether an inconclusive gate passes or fails [pass].", choices=("pass", "fail")
    ),
    Field("fail_if_any_slice", "Fail also where any of the --slices became worse.", flag=True),
)


def _statistic_fields() -> tuple[Field, ...]:
    """The parameters of statistics, each with the statistics that take it; without those that a reader also takes."""
    read = {field.name for field in READING}
    taken: dict[str, list[tuple[str, Parameter]]] = {}
    for entry in ENTRIES:
        for parameter in entry.parameters:
            if parameter.name not in read and entry.kind != "effects":
                taken.setdefault(parameter.name, []).append((entry.name, parameter))
    return tuple(_statistic_field(name, of) for name, of in taken.items())


def _statistic_field(name: str, taken: list[tuple[str, Parameter]]) -> Field:
    parameter = taken[0][1]
    meaning = " / ".join(dict.fromkeys(parameter.meaning for _, parameter in taken))
    defaults = {parameter.default for _, parameter in taken}
    default = f" [{parameter.default}]" if len(defaults) == 1 and parameter.default is not None else ""
    listed = dict.fromkeys(choice for _, parameter in taken for choice in parameter.choices)
    choices = f" ({', '.join(listed)})" if listed else ""
    names = ", ".join(dict.fromkeys(entry for entry, _ in taken))
    return Field(name, f"For {names}: {meaning}{choices}{default}.", METAVARS[parameter.type])


SECTIONS = {"Test": TEST, "Statistic": _statistic_fields(), "Reading the files": READING, "Gate": GATE}
NOT_OF_A_BOARD = frozenset(
    {"test", "significance", "power", "sequential", "exact_fraction", "pmf", "statistic", "alternative"}
)

COMPARE = (
    Field("compare", 'all_pairs, baseline, or a JSON list of pairs: [["A","B"],["A","C"]] [all_pairs].', "WHAT"),
    Field("baseline", "Compare every system with this one, instead of all pairs.", "NAME"),
    Field("adjust", "How p-values are adjusted over the pairs of a family [holm].", choices=get_args(Adjust)),
    Field(
        "on_missing",
        "Items that only some systems have: refuse them, compare each pair on common items, or use the "
        "items that all have [error].",
        choices=("error", "pairwise", "complete"),
    ),
    Field(
        "family", "Whether each data set is a family of tests, or all together [dataset].", choices=get_args(Family)
    ),
    Field(
        "aggregate",
        "The overall board: equal weights for data sets, or for items, or none [macro].",
        choices=(*get_args(Aggregate), "null"),
    ),
    Field("combine", "Combine the data sets' p-values into overall ones.", choices=get_args(Combine)),
    Field("frontier", "Also the frontier of cost and quality: the name of the column of costs.", "COLUMN"),
    Field("range", "With --confidence-level: the least and the largest possible score, [0,1], for intervals of systems.", "LIST"),
    Field("pairs", "The pairs that the answer lists [auto: as many as fit].", choices=get_args(ListedPairs)),
    Field("systems", "Which systems of one file to compare: A,B,C or a JSON list.", "LIST"),
    Field("names", "Names of the systems, in the order of their files: A,B,C or a JSON list [the files' names].", "LIST"),
)  # fmt: skip
_OF_SYSTEMS = frozenset(
    {"alpha", "significance", "method", "samples", "seed", "exact_fraction", "pmf", "timeout_s"}
)
SYSTEMS_SECTIONS = {
    "Test": (
        Field("statistic", "What is tested.", choices=get_args(SystemsStatistic)),
        Field("order", "page: all systems, the one with the lowest scores first: Q4,Q6,Q8.", "NAMES"),
        Field("weights", 'contrast: weights by system, which sum to 0: {"A": 1, "B": -1}.', "JSON"),
        Field("pairs", "interaction: [[A1, A0], [B1, B0]].", "JSON"),
        Field(
            "alternative",
            "Of page, contrast and interaction; greater: the value is large.",
            choices=ALTERNATIVES,
        ),
        *(field for field in TEST if field.name in _OF_SYSTEMS),
    ),
    "Reading the files": (
        Field("on_missing", "Items that only some systems have [error].", choices=("error", "complete")),
        Field("systems", "Which systems of one file to test: A,B,C or a JSON list.", "LIST"),
        Field(
            "names",
            "Names of the systems, in the order of their files: A,B,C or a JSON list [the files' names].",
            "LIST",
        ),
        *(field for field in READING if field.name not in (*NOT_OF_MANY, "on_missing", "weights")),
    ),
}
BOARD_SECTIONS = {
    "Compare": COMPARE,
    "Test": (
        Field("statistic", "The statistic; the default depends on the files.", "NAME"),
        Field(
            "alternative",
            "With --baseline or --pair; greater: the first is better than the second.",
            choices=ALTERNATIVES,
        ),
        *(field for field in TEST if field.name not in NOT_OF_A_BOARD),
    ),
    "Statistic": SECTIONS["Statistic"],
    "Reading the files": tuple(field for field in READING if field.name not in (*NOT_OF_MANY, "on_missing")),
}


class Option(click.Option):
    """An option in a section of the help."""

    def __init__(
        self, *names: Any, section: str = "Options", fields: Collection[str] = (), **settings: Any
    ) -> None:
        super().__init__(*names, **settings)
        self.section = section
        self.fields = fields  # that are typed as -O NAME=VALUE


class Sectioned(click.Command):
    """A command with sections in its help, and hints for rare fields."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; raises NoSuchOption, which explains how to type a rare field."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            rare = {field for parameter in self.params for field in getattr(parameter, "fields", ())}
            typed = f"-O {name}=VALUE" if name in rare else OTHERWISE.get(name)
            if typed is not None and rare:
                sentence = f"No such option: {error.option_name}. Write {typed}."
                raise click.NoSuchOption(error.option_name, sentence, ctx=ctx) from None
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections in the order of declaration."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


def of_fields(
    *sections: str, but: Collection[str] = (), of: Mapping[str, Collection[Field]] = SECTIONS
) -> Iterator[Callable[[Any], Any]]:
    """An option for each field of these sections, except those in `but`."""
    for section in sections:
        for field in of[section]:
            if field.name not in (*but, *RARE):
                yield of_field(section, field)


def of_field(section: str, field: Field) -> Callable[[Any], Any]:
    """The option of a field, in this section of the help."""
    settings: dict[str, Any] = {"help": field.help, "section": section, "default": None, "cls": Option}
    if field.flag:
        settings.update(is_flag=True, flag_value="true", type=str)
    elif field.choices:
        settings["type"] = click.Choice(field.choices)
    else:
        settings["metavar"] = field.metavar
    return click.option(field.option, f"field_{field.name}", **settings)


def in_section(section: str) -> Callable[..., Callable[[Any], Any]]:
    """Makes options of one section of the help."""

    def option(*names: str, **settings: Any) -> Callable[[Any], Any]:
        return click.option(*names, cls=Option, section=section, **settings)

    return option


def output(
    formats: Collection[str], without: str, *more: Callable[[Any], Any]
) -> tuple[Callable[[Any], Any], ...]:
    """Options for the output file and its format; `without` a --format it is the first one."""
    return (
        _output(
            "--format",
            "-f",
            "format_",
            type=click.Choice(formats),
            help=f"Format of the answer [{without}, or by the ending of --output]{'; junit is for gates' * ('junit' in formats)}.",
        ),
        _output("--output", "-o", metavar="FILE", help="Write the answer to this file."),
        *more,
        _output("--theme", type=click.Choice(get_args(Theme)), help="Colours of svg and png."),
        _output("--quiet", "-q", is_flag=True, help="No progress on standard error."),
    )


def direction(section: str) -> Callable[[Any], Any]:
    """The options for the better direction, in this section of the help."""
    return in_section(section)(
        "--higher-is-better/--lower-is-better",
        "higher_is_better",
        default=None,
        help="Which direction is better [by the metric: higher for accuracy, lower for wer].",
    )


_file, _output, _server = in_section("Files"), in_section("Output"), in_section("Server")
_gate, _compare = in_section("Gate"), in_section("Compare")
_power, _design = in_section("Power"), in_section("Design")
BESIDE = (
    _file(
        "--gold", metavar="FILE", help="The gold standard (conllu, conll, asr, mt, ranking, mt-metrics-eval)."
    ),
    _file("--ref", metavar="FILE", multiple=True, help="References (asr, mt); up to four."),
    _file("--qrels", metavar="FILE", help="Relevance judgements (trec, with runs)."),
    _file("--documents", metavar="FILE", help="The document of each item (conll, mt)."),
)
NAMES = _file("--names", nargs=2, metavar="U V", help="Names of the systems in reports.")


def others(of: Mapping[str, Collection[Field]] = SECTIONS, but: Collection[str] = ()) -> Callable[[Any], Any]:
    """`-O NAME=VALUE`: the rare fields of these sections, `but` a few."""
    rare = RARE.intersection(field.name for fields in of.values() for field in fields).difference(but)
    return _file(
        "--option",
        "-O",
        metavar="NAME=VALUE",
        multiple=True,
        fields=rare,
        help=f"Any other field of the form: {', '.join(sorted(rare))}, ….",
    )


FILES = (*BESIDE, NAMES, others())
KIND = _file(
    "--kind",
    type=click.Choice(get_args(JsonTest)),
    help="FILE is a JSON request of this kind, as for POST /v1/tests/KIND.",
)
SERVER = (
    _server(
        "--url",
        envvar="EXACTPERM_URL",
        show_envvar=True,
        metavar="URL",
        help="Send the request to this server instead of computing here.",
    ),
    _server(
        "--api-key",
        envvar="EXACTPERM_API_KEY",
        show_envvar=True,
        metavar="KEY",
        help="The API key for that server.",
    ),
)
STORE = _server(
    "--store",
    is_flag=True,
    help="Have that server store the answer for a while, and print its address on standard error.",
)
OF_A_TEST = (
    *FILES,
    KIND,
    *of_fields("Test", "Statistic", "Reading the files"),
    *output(OF_TESTS_AND_GATES, "text"),
    *SERVER,
)
OF_THE_GATE = (
    *of_fields("Gate"),
    _gate(
        "--against",
        metavar="FILE",
        multiple=True,
        help="A baseline; repeat it for several. FILES is then only the candidate's file.",
    ),
    _gate(
        "--baseline-runs",
        metavar="FILES",
        help="Runs of one baseline, a file for each: a folder, or a quoted pattern such as 'runs/*.jsonl'. They are exchanged with the candidate's.",
    ),
    direction("Gate"),
    _gate(
        "--metrics",
        metavar="LIST",
        help="Several metrics of the same files: upos,las, a JSON list of fields, or @FILE with a list.",
    ),
    *FILES,
    *of_fields("Test", "Statistic", "Reading the files"),
    *output(OF_TESTS_AND_GATES, "text"),
    _output(
        "--outcome",
        metavar="FILE",
        help="Append the lines verdict=… and p_value=… to this file, such as $GITHUB_OUTPUT.",
    ),
    _output(
        "--spelling",
        type=click.Choice(("github", "gitlab")),
        help="Spell options in messages as inputs of the action, or as variables of the template.",
    ),
    *SERVER,
    STORE,
)
OF_A_COMPARE = (
    *BESIDE,
    others(BOARD_SECTIONS),
    _compare(
        "--pair",
        "pair",
        nargs=2,
        multiple=True,
        metavar="U V",
        help=("Compare these two; repeat it for more pairs."),
    ),
    direction("Compare"),
    *of_fields("Compare", "Test", "Statistic", "Reading the files", of=BOARD_SECTIONS),
    *output(
        OF_A_COMPARISON,
        "a table of the systems",
        _output(
            "--picture",
            type=click.Choice(get_args(BoardPicture)),
            help="Which picture (svg, png) [leaderboard].",
        ),
        _output("--table", type=click.Choice(get_args(BoardTable)), help="Which table (csv) [systems]."),
    ),
    *SERVER,
    STORE,
)
OF_SYSTEMS = (
    *BESIDE,
    others(SYSTEMS_SECTIONS),
    *of_fields("Test", "Reading the files", of=SYSTEMS_SECTIONS),
    *output(FORMATS_OF_A_TEST, "text"),
    *SERVER,
    STORE,
)
# Numbers of a binary design; then fields of a test that power has itself, or not at all.
NUMBERS = ("p10", "p01", "u", "v", "discordance", "correlation")
NOT_OF_A_PILOT = frozenset(
    {"alternative", "alpha", "power", "confidence_level", "significance", "test", "sequential"}
    | {"method", "samples", "seed", "precision", "exact_fraction", "pmf"}
)
OF_THE_POWER = (
    _power(
        "--solve",
        type=click.Choice(get_args(Solve)),
        default="effect",
        help=("The number to solve for [effect]."),
    ),
    _power("-n", "n", metavar="NUMBERS", help="Numbers of items: 500, or 100,300,1000 [the pilot's]."),
    _power("--effect", metavar="NUMBER", help="The true difference U - V, in the statistic's units."),
    _power("--power", metavar="NUMBER", help="The power, the probability of finding the difference [0.8]."),
    _power("--alpha", metavar="NUMBER", help="Significance level of all comparisons together [0.05]."),
    _power("--alternative", type=click.Choice(ALTERNATIVES), help="As in the test [two-sided]."),
    _power("--comparisons", metavar="NUMBER", help="How many tests share alpha [1]."),
    _power(
        "--runs-per-item",
        metavar="NUMBER",
        help="Of a pilot with runs: the runs of each item that are planned.",
    ),
    _power(
        "--item-cost",
        metavar="NUMBER",
        help="Instead: what a new item costs, in runs of it; finds the best number of runs.",
    ),
    _power("--floor", metavar="NUMBER", help="With --solve false_alarm: an alarm is a run below it."),
    _design(
        "--runs",
        metavar="FILES",
        help="Runs of one system, for a floor: a pattern such as 'runs/*.jsonl', or a folder.",
    ),
    _design(
        "--p10", metavar="NUMBER", help="Items are right or wrong: the probability that U alone is right."
    ),
    _design("--p01", metavar="NUMBER", help="The probability that V alone is right."),
    _design("--u", metavar="NUMBER", help="U's accuracy, with --v, and --discordance or --correlation."),
    _design("--v", metavar="NUMBER", help="V's accuracy."),
    _design("--discordance", metavar="NUMBER", help="The probability that exactly one of them is right."),
    _design("--correlation", metavar="NUMBER", help="The correlation of being right."),
    _design(
        "--sd",
        metavar="NUMBER",
        help=("Standard deviation of an item's difference, if nothing else is known."),
    ),
    *BESIDE,
    NAMES,
    others(but=NOT_OF_A_PILOT),
    *of_fields("Test", "Statistic", "Reading the files", but=NOT_OF_A_PILOT),
    *output(OF_POWER, "text"),
    *SERVER,
    STORE,
)
