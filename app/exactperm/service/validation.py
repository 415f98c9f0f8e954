"""Validates a decoded value as a request model; raises `InvalidTest` with pointers to the faults."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..errors import MAX_FLAWS, Flaw, InvalidTest, PointerMap, located, marked, pointer_token
from ..inputs.quoting import quoted
from ..statistics.catalogue import STATISTICS
from ..statistics.names import METRICS
from .schema.fields import Wire

Model = TypeVar("Model", bound=Wire)

SENTENCES = {
    "missing": "This is needed.",
    "extra_forbidden": "There is no such field.",
    "dict_type": "An object is needed here.",
    "model_type": "An object is needed here.",
    "model_attributes_type": "An object is needed here.",
}
MOST_CHARS = 20  # of a number in a human format
PERCENT = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*%")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")
COMMA = re.compile(r"[+-]?\d+,\d+")
POINT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?")
AS_IN_JSON = re.compile(r"-?\d.*(?<!\.)")
# Examples of objects, by field.
OBJECTS = {"statistic": '{"name": "sign"}', "sequential": '{"mode": "anytime"}', "names": '{"u": "new"}'}


def prefixed(prefix: str) -> PointerMap:
    """The map for a request inside another document."""
    return lambda pointer: prefix + pointer


def chained(first: PointerMap, second: PointerMap) -> PointerMap:
    """Both maps, one after the other."""
    if str in (first, second):  # which changes nothing
        return second if first is str else first
    return lambda pointer: second(first(pointer))


def validated(
    model: type[Model], value: Any, places: PointerMap = str, context: dict[str, Any] | None = None
) -> Model:
    """Validate a decoded value that stands at `places`; raises InvalidTest: it does not fit the model."""
    if type(value) is not dict:
        raise InvalidTest.at(places(""), "not_an_object", "A request is a JSON object.")
    try:
        value = model.completed(value)
        parameters = model.parameters(value)
        if type(value.get("statistic")) is str or not parameters.isdisjoint(value):
            places = chained(beside_statistic(value), places)
            value = with_statistic(value, parameters)
        _refuse_unknown(model, value)
        return model.model_validate(value, context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)
        flaws = [flaw for detail in details for flaw in flaws_of(detail, _choices(model, detail))]
        refusal = InvalidTest(f"At {flaws[0].pointer}: {flaws[0].detail}", flaws=tuple(flaws))
    except InvalidTest as error:
        refusal = error
    raise located(refusal, places) from None


def with_statistic(value: dict[str, Any], parameters: Collection[str]) -> dict[str, Any]:
    """A request with an object as statistic: from a name, with the parameters beside it; raises InvalidTest: one has two values."""
    statistic = value.get("statistic", {})
    beside = {name: one for name, one in value.items() if name in parameters}
    inside = {"name": statistic} if type(statistic) is str else statistic
    if type(inside) is not dict:
        return {name: one for name, one in value.items() if name not in beside}
    if inside is statistic and not beside:
        return dict(value)
    for name, one in beside.items():
        if name in inside and inside[name] != one:
            detail = f"{name} has different values in statistic and beside it: give it once."
            raise InvalidTest.at(f"/statistic/{name}", "given_twice", detail)
    return {name: one for name, one in value.items() if name not in beside} | {"statistic": inside | beside}


def beside_statistic(value: Any) -> PointerMap:
    """The map for a request whose statistic is a name, or has parameters beside it."""
    if not isinstance(value, Mapping):
        return str
    inside, members = "/statistic/", frozenset(value)
    name_alone = isinstance(value.get("statistic"), str)

    def pointer_map(pointer: str) -> str:
        name, _, rest = pointer.removeprefix(inside).partition("/")
        if not pointer.startswith(inside):
            return pointer
        if name == "name" and name_alone:
            return inside[:-1]
        return "/".join(["", name, *([rest] if rest else [])]) if name in members else pointer

    return pointer_map


def _refuse_unknown(model: type[BaseModel], value: dict[str, Any]) -> None:
    unknown = _unknown(model, value)
    if unknown:
        raise InvalidTest(unknown[0].detail, flaws=tuple(unknown))


def _unknown(model: type[BaseModel], value: dict[str, Any], prefix: str = "") -> list[Flaw]:
    """Unknown fields, found before pydantic sees them: it would write an error for each of a million."""
    flaws: list[Flaw] = []
    fields = model.model_fields
    for key in value:
        if key not in fields:
            flaws.append(Flaw(f"{prefix}/{_short(key)}", "unknown_field", no_such(key, fields)))
            if len(flaws) == MAX_FLAWS:
                return flaws
    for name, part in _parts(model):
        inner = value.get(name)
        if type(inner) is dict:
            flaws += _unknown(part, inner, f"{prefix}/{name}")
    return flaws[:MAX_FLAWS]


@cache
def _parts(model: type[BaseModel]) -> tuple[tuple[str, type[BaseModel]], ...]:
    """The fields of a model that are models themselves."""
    return tuple(
        (name, part)
        for name, field in model.model_fields.items()
        for part in (field.annotation, *get_args(field.annotation))
        if isinstance(part, type) and issubclass(part, BaseModel)
    )


def _short(key: str) -> str:
    return pointer_token(key if len(key) <= 40 else key[:40] + "…")


def _choices(model: type[BaseModel], detail: ErrorDetails) -> tuple[Any, ...]:
    """The choices of a missing field of the model, if it is one of a few words."""
    if detail["type"] != "missing" or len(detail["loc"]) != 1:
        return ()
    field = model.model_fields.get(str(detail["loc"][0]))
    return get_args(field.annotation) if field is not None and get_origin(field.annotation) is Literal else ()


def flaws_of(detail: ErrorDetails, choices: tuple[Any, ...] = ()) -> list[Flaw]:
    """The flaws of one of pydantic's errors; `choices` are those of a missing field."""
    pointer = "".join(f"/{_short(str(part))}" for part in detail["loc"])
    context = detail.get("ctx", {})
    if detail["type"] == "column":
        inner = context["flaws"] or (Flaw("", context["code"], context["detail"]),)
        return [Flaw(pointer + flaw.pointer, flaw.code, flaw.detail) for flaw in inner]
    code = detail["type"]
    sentence = SENTENCES.get(code) or detail["msg"].replace("Input should", "This must") + "."
    if code in {"too_short", "too_long"}:
        sentence = _of_length(code, context)
    if code in {"model_type", "model_attributes_type"} and detail["loc"] and detail["loc"][-1] in OBJECTS:
        sentence = f"An object is needed here, such as {OBJECTS[str(detail['loc'][-1])]}."
    if code.startswith(("int_", "float_")):
        sentence += number_hint(detail["input"], whole=code.startswith("int_"))
    if code == "literal_error" and pointer.endswith("/statistic/name"):
        sentence += elsewhere(detail["input"], re.findall(r"'(\w+)'", context["expected"]))
    if choices:
        sentence = f"{sentence[:-1]}: one of {', '.join(map(str, choices))}."
    return [Flaw(pointer, code, sentence)]


def _of_length(code: str, context: Mapping[str, Any]) -> str:
    """How many entries a list or an object must have."""
    limit = context["min_length" if code == "too_short" else "max_length"]
    least = "least" if code == "too_short" else "most"
    return f"At {least} {limit:,} {'entry is' if limit == 1 else 'entries are'} {'needed' if least == 'least' else 'allowed'} here."


def number_hint(value: object, *, whole: bool) -> str:
    """A hint, after a blank, of what to write instead; empty if uncertain.

    >>> number_hint("2%", whole=False), number_hint("0,05", whole=False), number_hint("1e4", whole=True)
    (' Write 0.02.', ' Write 0.05, with a point.', ' Write 10000.')
    >>> number_hint(".05", whole=False), number_hint("5.", whole=False)
    (' Write 0.05.', ' Write 5.')
    """
    text = str(value).strip() if isinstance(value, str | float) else ""
    if len(text) > MOST_CHARS or not text.isascii():
        return ""
    if whole:
        number = text.replace(",", "") if THOUSANDS.fullmatch(text) else text
        exact = Decimal(number) if POINT.fullmatch(number) else None
        return "" if exact is None or exact != int(exact) else f" Write {int(exact)}{_quotes(value, text)}."
    if percent := PERCENT.fullmatch(text):
        share = Decimal(percent[1].replace(",", ".")) / 100
        return f" Write {share.normalize():f}."
    if THOUSANDS.fullmatch(text):
        return " Write decimals with a point, and nothing between thousands."
    if COMMA.fullmatch(text):
        return f" Write {text.replace(',', '.')}, with a point."
    if not POINT.fullmatch(text):
        return ""
    number = text if AS_IN_JSON.fullmatch(text) else f"{Decimal(text)}"
    return f" Write {number}{_quotes(value, text)}."


def _quotes(value: object, text: str) -> str:
    """Mention quotes for JSON only: in a field or a parameter, a number needs none."""
    return ", without quotes" if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(?:\.\d+)?", text) else ""


# Suggestions for unknown names: of fields, and of statistics of other data


LIKENESS = 0.7
# Further names of our statistics, beside those in other tools, which the catalogue has.
CALLED: Mapping[str, str] = {
    "mean_difference": "mean average mean_diff permutation randomization randomisation ttest_rel t_test ttest paired_t "
    "mcnemar_exact mcnemar_test",
    "sum_difference": "sum total",
    "sign": "sign_test binom_test binomial",
    "signed_rank": "wilcoxon_signed_rank signrank wilcox wilcox_test",
    "median_difference": "median",
    "quantile_difference": "quantile percentile",
    "auc": "auroc roc_auc",
    "mcc": "matthews matthews_correlation",
}
NEAR = 2  # names that may have been meant
FEW = 12  # names that a sentence lists
MOST_NAME_CHARS = 40  # of a name that is compared with others

SENT_AS = {"segments": "predictions"}  # translations are predictions, and references gold

# Names of our fields in other libraries, in papers, and in speech.
SYNONYMS: Mapping[str, str] = {
    "u": "x a candidate new system_a scores_a model_a y_pred_a pred_u",
    "v": "y b baseline old system_b scores_b model_b y_pred_b pred_v",
    "gold": "y_true labels reference references ref target targets truth",
    "alpha": "significance_level level p_threshold",
    "samples": "n_resamples n_permutations num_samples resamples permutations R B",
    "seed": "random_state rng",
    "alternative": "side tail tails",
    "exchange": "swap permute reassign relabel deal",
    "confidence_level": "confidence conf_level ci",
    "clusters": "group documents document cluster strata",
    "statistic": "metric measure stat",
    "timeout_s": "timeout deadline",
    "systems": "models",
    "battles": "votes matches games comparisons",
    "labels": "human humans human_labels human_scores annotations",
    "label_column": "human_column labels_column labels_u labels_v annotation_column",
    "covariates": "covariate controls control_variables length_control",
    "correction": "lambda lambda_ lam ppi",
    "ids": "id",
}
OURS = {theirs: field for field, names in SYNONYMS.items() for theirs in names.split()}

DATA = {"score", "scores"}  # not typos of `store`


def no_such(name: str, fields: Collection[str]) -> str:
    """The sentence that refuses a name, with suggestions, or else with the first fields.

    >>> no_such("alternativ", ["alternative", "alpha"])
    'There is no option "alternativ" here; did you mean `alternative`?'
    >>> no_such("y_true", ["gold", "u"]), no_such("zz", ["u", "v"])
    ('There is no option "y_true" here; did you mean `gold`?', 'There is no option "zz" here; there are `u`, `v`.')
    """
    if name == "fail_status":
        return "fail_status is for HTTP only, in the query: ?fail_status=200."
    meant = [OURS[name]] if OURS.get(name) in fields else []
    if not meant and len(name) <= MOST_NAME_CHARS:
        likely = [field for field in fields if field != "store" or name.lower() not in DATA]
        meant = difflib.get_close_matches(name.lower(), likely, NEAR, LIKENESS)
    choices = f"did you mean {' or '.join(map(marked, meant))}?"
    if not meant:
        more = f" and {len(fields) - FEW} more" if len(fields) > FEW else ""
        choices = f"there are {', '.join(map(marked, list(fields)[:FEW]))}{more}."
    return f"There is no option {quoted(name)} here; {choices}"


def elsewhere(name: object, here: Collection[str] = ()) -> str:
    """A sentence, after a blank, on a statistic's name here, its data, or its source in files; else empty.

    `here` are the statistics of the data at hand.

    >>> elsewhere("span_f1")
    ' "span_f1" is a statistic of predictions, which have `gold` beside them.'
    >>> elsewhere("wer"), elsewhere("magic")
    (' "wer" is read from files.', '')
    >>> elsewhere("wilcoxon", ["sign", "signed_rank"])
    ' "wilcoxon" is signed_rank here.'
    """
    if not isinstance(name, str) or len(name) > MOST_NAME_CHARS:
        return ""
    called = _tools_names().get(name.lower().rpartition(".")[2], [])
    ours = next((one for one in called if one in here), None)
    if ours is not None:
        return f" {quoted(name)} is {ours} here."
    if data := _data_of().get(name):
        return f" {quoted(name)} is a statistic of {data}"
    if name.lower() in METRICS:
        return f" {quoted(name)} is read from files."
    if called:
        return f" {quoted(name)} is {called[0]} here, a statistic of {_data_of()[called[0]]}"
    near = difflib.get_close_matches(name.lower(), here, 1, LIKENESS)
    if near or not (near := difflib.get_close_matches(name.lower(), _data_of(), 1, LIKENESS)):
        return f" Did you mean {near[0]}?" if near else ""
    return f" Did you mean {near[0]}? That is a statistic of {_data_of()[near[0]]}"


@cache
def _data_of() -> dict[str, str]:
    """The kinds of data that have a statistic, as they are sent, by its name."""
    kinds: dict[str, dict[str, None]] = {}
    for kind, entries in STATISTICS.items():
        for entry in entries:
            kinds.setdefault(entry.name, {})[SENT_AS.get(kind, kind)] = None
    gold = ", which have `gold` beside them"
    return {
        name: f"{' and of '.join(sent)}{gold if 'predictions' in sent else ''}."
        for name, sent in kinds.items()
    }


@cache
def _tools_names() -> dict[str, list[str]]:
    """Our names by those of other tools: the last part of each name in the catalogue, and further names."""
    ours = {theirs: [name] for name, names in CALLED.items() for theirs in names.split()}
    for entries in STATISTICS.values():
        for entry in entries:
            for tool in entry.known_as:
                entries_of_tool = ours.setdefault(tool.rpartition(".")[2], [])
                entries_of_tool += [] if entry.name in entries_of_tool else [entry.name]
    return ours
