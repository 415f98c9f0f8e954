"""The options of `test`, `gate` and `plan`, and how help shows all of them; tests compare them with the fields of the form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, get_args

import click

from ..inputs.formats.options import READER_OPTIONS
from ..reports.picture.canvas import Theme
from ..reports.representations import REPRESENTATIONS
from ..statistics.catalogue import ENTRIES, Parameter


def option_of(name: str) -> str:
    """A field of the form as the option that sets it."""
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
    Field(
        "statistic", "What to compare, see exactperm statistics; the default depends on the files.", "NAME"
    ),
    Field("alternative", "greater: U is greater than V.", choices=("two-sided", "greater", "less")),
    Field("alpha", "Significance level [0.05].", "NUMBER"),
    Field("significance", "Which p-value decides [p].", choices=("p", "mid_p")),
    Field("confidence_level", "Confidence level of an interval for the difference, such as 0.95.", "NUMBER"),
    Field("power", "Say which difference this test finds with this probability, such as 0.8.", "NUMBER"),
    Field(
        "sequential",
        'E-values, for looking again as items come in: {"mode":"anytime"}, with scale, planned_n, max_difference.',
        "JSON",
    ),
    Field("method", "How to compute: auto, fft, dp, rational, bounds, monte_carlo, … [auto].", "NAME"),
    Field("test", "Null model [permutation].", choices=("permutation", "bootstrap")),
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
    Field(
        "policy",
        "What must be shown [no_regression].",
        choices=("no_regression", "non_inferior", "improve", "equivalent"),
    ),
    Field(
        "margin",
        "How much worse U may be; for improve, how much better it must be; for equivalent, what it must differ by less than [0].",
        "NUMBER",
    ),
    Field(
        "on_inconclusive", "Whether an inconclusive gate passes or fails [pass].", choices=("pass", "fail")
    ),
)


def _statistic_fields() -> tuple[Field, ...]:
    """The parameters of all statistics, each with those that take it; what a reader takes as well is the reader's."""
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
    choices = f" ({', '.join(parameter.choices)})" if parameter.choices else ""
    names = ", ".join(dict.fromkeys(entry for entry, _ in taken))
    return Field(name, f"Of {names}: {meaning}{choices}{default}.", METAVARS[parameter.type])


SECTIONS = {
    "Test": TEST,
    "Statistic": _statistic_fields(),
    "Reading the files": READING,
    "Gate": GATE,
}


class Option(click.Option):
    """An option in a section of the help."""

    def __init__(self, *names: Any, section: str = "Options", **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.section = section


class Sectioned(click.Command):
    """A command whose help has sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write them in the order in which their options were declared."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


def of_fields(*sections: str, but: Collection[str] = ()) -> Iterator[Callable[[Any], Any]]:
    """An option for each field of these sections, `but` a few."""
    for section in sections:
        for field in SECTIONS[section]:
            if field.name not in but:
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


_file, _output, _server = in_section("Files"), in_section("Output"), in_section("Server")
FILES = (
    _file(
        "--gold", metavar="FILE", help="The gold standard (conllu, conll, asr, mt, ranking, mt-metrics-eval)."
    ),
    _file("--ref", metavar="FILE", multiple=True, help="References (asr, mt); up to four."),
    _file("--qrels", metavar="FILE", help="Relevance judgements (trec, with runs)."),
    _file("--documents", metavar="FILE", help="The document of each item (conll, mt)."),
    _file("--names", nargs=2, metavar="U V", help="Names of the systems in reports."),
    _file("--option", "-O", metavar="NAME=VALUE", multiple=True, help="Any other field of the form."),
)
AUTHORS = (
    in_section("As rycolab/paired-perm-test")("--input", metavar="FILE", help="The file, as an option."),
    in_section("As rycolab/paired-perm-test")(
        "--MC",
        "mc",
        type=click.IntRange(min=0),
        metavar="K",
        help="Draw K samples instead of testing exactly; 0: exact.",
    ),
    in_section("As rycolab/paired-perm-test")(
        "--delim", type=click.Choice([",", "tab"]), help="What separates the columns."
    ),
)
DIRECTION = (
    in_section("Gate")(
        "--against",
        metavar="FILE",
        multiple=True,
        help="A baseline; repeat it for several. FILES is then the candidate's file alone.",
    ),
    in_section("Gate")(
        "--higher-is-better/--lower-is-better",
        "higher_is_better",
        default=None,
        help="Which direction is good [by the metric: higher for accuracy, lower for wer].",
    ),
    in_section("Gate")(
        "--metrics",
        metavar="LIST",
        help="Several metrics of the same files: upos,las or a JSON list of fields, or @FILE with one.",
    ),
)
OUTPUT = (
    _output(
        "--format",
        "-f",
        "format_",
        type=click.Choice([one.name for one in REPRESENTATIONS if one.of_test or one.of_gate]),
        help="Format of the answer [text, or by the ending of --output]; junit is for gates.",
    ),
    _output("--output", "-o", metavar="FILE", help="Write the answer to this file."),
    _output("--theme", type=click.Choice(get_args(Theme)), help="Colours of svg and png."),
    _output("--quiet", "-q", is_flag=True, help="No progress on standard error."),
)
SPELLING = _output(
    "--spelling",
    type=click.Choice(("github", "gitlab")),
    help="As what messages spell options: inputs of the action, or variables of the template.",
)
OUTCOME = (
    _output(
        "--outcome",
        metavar="FILE",
        help="Append the lines verdict=… and p_value=… to this file, as $GITHUB_OUTPUT takes them.",
    ),
)
KIND = (
    _file(
        "--kind",
        type=click.Choice(["effects", "scores", "counts", "predictions"]),
        help="FILE is a JSON request of this kind, as for POST /v1/tests/KIND.",
    ),
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
STORE = (
    _server(
        "--store",
        is_flag=True,
        help="Have that server keep the answer for a while, and say where, on standard error.",
    ),
)
