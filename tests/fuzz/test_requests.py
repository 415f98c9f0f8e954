"""Damaged bodies in whole requests, from the application's front door to the rendered answer."""

from urllib.parse import urlencode

import pytest
from hypothesis import given, strategies as st

from exactperm.reports.representations import BY_NAME
from exactperm.service.kinds import CSV, JSON, KINDS, MULTIPART, NDJSON, NPY, TSV, Kind
from tests.fuzz.asgi import InProcess, examples
from tests.fuzz.excerpts import excerpts, requests
from tests.fuzz.mutations import STEPS, Steps, mutated
from tests.fuzz.test_readers import LINES, TABLES, arrays

BOUNDARY = b"b0undary"
QUERIES = st.lists(
    st.sampled_from(
        [
            ("statistic", "sign"), ("statistic", "f1"), ("statistic", "mcc"), ("alternative", "less"), ("method", "monte_carlo"),
            ("method", "rational"), ("method", "bounds"), ("samples", "1e9"), ("samples", "100"), ("seed", "-1"), ("alpha", "NaN"),
            ("pmf", "full"), ("exact_fraction", "true"), ("confidence_level", "0.9"), ("test", "bootstrap"), ("timeout_s", "2e-3"),
            ("precision", "0"), ("beta", "1e308"), ("expression", "x1/(x2-x2)"), ("x", "y"), ("on_missing", "drop"), ("alpha", "0.05"),
        ]
    ),
    max_size=2,
)  # fmt: skip
JSON_SEEDS = [("plan", b'{"kind":"%s","request":%s}' % (kind.encode(), body)) for kind, body in requests()]
JSON_SEEDS += [
    ("gate", seed.replace(b'"kind"', b'"policy":"no_regression","kind"', 1)) for _, seed in JSON_SEEDS
]
JSON_SEEDS += [*requests(), *requests()]


def answered(
    service: InProcess, kind: Kind, body: bytes, media: str, query: list[tuple[str, str]], shape: str
) -> None:
    asked = urlencode([*query, ("format", shape)] if shape != "json" else query).encode()
    service.judge(kind, asked, [(b"content-type", media.encode())], body)


def shape_of(kind: Kind, which: int) -> str:
    """JSON mostly; never a picture, whose drawing takes long and sees nothing that the others do not."""
    shapes = [shape for shape in KINDS[kind].offered if not BY_NAME[shape].is_drawn]
    return shapes[which] if which < len(shapes) else "json"


@examples(300)
@given(st.sampled_from(JSON_SEEDS), STEPS, QUERIES, st.integers(0, 20))
def test_json_is_answered_or_refused(
    service: InProcess, seed: tuple[Kind, bytes], steps: Steps, query: list[tuple[str, str]], shape: int
) -> None:
    kind, body = seed
    answered(
        service, kind, mutated(body, steps), JSON, query if shape % 3 == 0 else [], shape_of(kind, shape)
    )


@pytest.mark.parametrize("media", [CSV, TSV, NDJSON, NPY])
def test_tables_lines_and_arrays_are_answered_or_refused(service: InProcess, media: str) -> None:
    seeds = {NDJSON: list(LINES), NPY: arrays()}.get(media, list(TABLES))
    kinds: list[Kind] = ["scores", "counts"]
    if media == NDJSON:
        kinds += ["effects", "predictions"]

    @examples(120)
    @given(st.sampled_from(kinds), st.sampled_from(seeds), STEPS, QUERIES, st.integers(0, 20))
    def check(kind: Kind, seed: bytes, steps: Steps, query: list[tuple[str, str]], shape: int) -> None:
        answered(service, kind, mutated(seed, steps), media, query, shape_of(kind, shape))

    check()


def form_of(files: dict[str, bytes], fields: dict[str, str]) -> bytes:
    parts = [(f'name="{role}"; filename="{role}"', content) for role, content in files.items()]
    parts += [(f'name="{name}"', text.encode()) for name, text in fields.items()]
    head = b"--" + BOUNDARY + b"\r\nContent-Disposition: form-data; "
    return b"".join(head + about.encode() + b"\r\n\r\n" + content + b"\r\n" for about, content in parts) + (
        b"--" + BOUNDARY + b"--\r\n"
    )


FORMS = [form_of(dict(e.files), {**e.options, "format": e.format}) for e in excerpts()]
FORMS += [form_of(dict(e.files), {**e.options, "method": "monte_carlo", "samples": "50"}) for e in excerpts()]


@examples(200)
@given(st.sampled_from(["files", "gate"]), st.sampled_from(FORMS), STEPS, st.integers(0, 20))
def test_forms_are_answered_or_refused(
    service: InProcess, kind: Kind, form: bytes, steps: Steps, shape: int
) -> None:
    media = f"{MULTIPART}; boundary={BOUNDARY.decode()}"
    answered(service, kind, mutated(form, steps), media, [], shape_of(kind, shape))
