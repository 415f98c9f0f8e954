"""Test API keys, origins, and common headers of responses."""

from collections.abc import Iterator

import pytest

from exactperm.ops.keys import new_key
from exactperm.ops.middleware import Templates
from exactperm.settings import Settings
from tests.api.conftest import Service, problem, running

KEY, DIGEST = new_key()
ORIGIN = "https://board.example.org"
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
SMALL = {"u": [1, 0], "v": [0, 1], "pmf": "none"}
OPEN = ["/livez", "/readyz", "/healthz"]


@pytest.fixture(scope="module")
def keyed() -> Iterator[Service]:
    yield from running(
        Settings(workers=1, api_key_digests=DIGEST, cors_origins=f"{ORIGIN}, http://localhost:3000/")
    )


@pytest.mark.parametrize("path", OPEN)
def test_health_is_open(keyed: Service, path: str) -> None:
    assert keyed.get(path).status_code == 200


PUBLIC = ["/", "/docs", "/docs/problems", "/docs/start.js", "/openapi.json", "/page/page.js", "/v1/meta"]


@pytest.mark.parametrize("path", PUBLIC)
def test_a_browser_gets_the_page_and_the_documentation_without_a_key(keyed: Service, path: str) -> None:
    assert keyed.get(path).status_code == 200
    assert keyed.request("HEAD", path).status_code == 200
    assert keyed.post(path).status_code == 401


def test_all_other_routes_need_a_key_and_reveal_nothing(keyed: Service) -> None:
    opened = ("/page/", "/docs/")
    paths = [
        path
        for path in Templates(keyed.app.routes)
        if path not in {*OPEN, *PUBLIC} and not path.startswith(opened)
    ]
    assert {"/metrics", "/v1/gate", "/v1/plan", "/v1/tests/files"} <= set(paths)
    for path in [*paths, "/nope", "/livez/", "/%6civez/x", "/page"]:
        for method in ("GET", "POST", "HEAD", "OPTIONS"):
            response = keyed.request(method, path)
            assert response.status_code == 401, (method, path)
            assert response.headers["www-authenticate"] == 'Bearer realm="exactperm"'
    problem(keyed.get("/metrics"), 401)
    assert keyed.get("/docs/../metrics").status_code != 200


WRONG = [f"Bearer {KEY}x", f"Basic {KEY}", KEY, "Bearer", f"Bearer {DIGEST}"]


@pytest.mark.parametrize("wrong", WRONG, ids=["longer", "basic", "no scheme", "no key", "the digest"])
def test_a_wrong_key_is_a_401_before_the_body_is_read(keyed: Service, wrong: str) -> None:
    response = keyed.post("/v1/tests/scores", {"u": "?"}, headers={"authorization": wrong})
    assert KEY not in response.text
    problem(response, 401)


def test_a_key_opens(keyed: Service) -> None:
    bearer = {"authorization": f"Bearer {KEY}"}
    assert keyed.post("/v1/tests/scores", SMALL, headers=bearer).status_code == 200
    assert keyed.get("/metrics", headers=bearer).status_code == 200


@pytest.mark.parametrize("origin", [ORIGIN, "http://localhost:3000"])
def test_a_listed_origin_may_ask_and_read(keyed: Service, origin: str) -> None:
    said = keyed.request("OPTIONS", "/v1/tests/scores", headers={"origin": origin, **PREFLIGHT})
    assert said.status_code == 200, "a preflight carries no key"
    assert said.headers["access-control-allow-origin"] == origin
    assert "authorization" in said.headers["access-control-allow-headers"].lower()
    bearer = {"authorization": f"Bearer {KEY}", "origin": origin}
    for response in (
        keyed.post("/v1/tests/scores", SMALL, headers=bearer),
        keyed.post("/v1/tests/scores", {}, headers=bearer),
        keyed.post("/v1/tests/scores", {}, headers={"origin": origin}),
    ):
        assert response.headers["access-control-allow-origin"] == origin
        exposed = response.headers["access-control-expose-headers"]
        for name in ("X-Verdict", "X-P-Value", "ETag", "Retry-After", "X-Request-Id", "Content-Location"):
            assert name in exposed
        assert "Origin" in ", ".join(response.headers.get_list("vary"))
        assert "access-control-allow-credentials" not in response.headers


@pytest.mark.parametrize(
    ("method", "path", "header"),
    [
        ("POST", "/v1/jobs", "authorization, content-type, idempotency-key"),
        ("GET", "/v1/jobs/j_1/events", "authorization, last-event-id"),
        ("DELETE", "/v1/jobs/j_1", "authorization"),
    ],
)
def test_a_page_of_a_listed_origin_may_use_jobs(keyed: Service, method: str, path: str, header: str) -> None:
    asked = {"access-control-request-method": method, "access-control-request-headers": header}
    said = keyed.request("OPTIONS", path, headers={"origin": ORIGIN, **asked})
    assert said.status_code == 200, said.text


@pytest.mark.parametrize(
    "origin", ["null", "https://evil.example", f"{ORIGIN}.evil.example", f"{ORIGIN}:8443", "*"]
)
def test_no_other_origin_may(keyed: Service, origin: str) -> None:
    for headers in ({"origin": origin, **PREFLIGHT}, {"origin": origin}):
        response = keyed.request("OPTIONS", "/v1/tests/scores", headers=headers)
        assert response.status_code == 401
        assert "access-control-allow-origin" not in response.headers
        assert "Origin" in ", ".join(response.headers.get_list("vary")), "a cache must tell them apart"


def test_without_a_list_no_origin_may(service: Service) -> None:
    response = service.request("OPTIONS", "/v1/tests/scores", headers={"origin": ORIGIN, **PREFLIGHT})
    problem(response, 405)
    answered = service.post("/v1/tests/scores", SMALL, headers={"origin": ORIGIN})
    assert not [name for name in (*response.headers, *answered.headers) if name.startswith("access-control")]


@pytest.mark.parametrize(
    "wrong", ["*", "https://*.example.org", "example.org", "https://a.example/path", "null"]
)
def test_a_list_of_origins_has_no_wildcard(wrong: str) -> None:
    with pytest.raises(ValueError, match="cors_origins"):
        Settings(cors_origins=wrong)


PATHS = ["/", "/livez", "/readyz", "/docs", "/docs/problems", "/docs/start.js", "/docs/assets/swagger-ui.css",
         "/openapi.json", "/metrics", "/v1/meta", "/nope", "/v1/gate", "/page/page.js", "/page/nope"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PATCH"])
def test_every_response_carries_the_security_headers_and_an_id_once(
    service: Service, method: str, path: str
) -> None:
    headers = service.request(method, path, headers={"x-request-id": "mine"}).headers
    for name in ("x-content-type-options", "referrer-policy", "cross-origin-resource-policy", "x-request-id",
                 "content-security-policy"):  # fmt: skip
        assert len(headers.get_list(name)) == 1, name
    assert headers["x-request-id"] == "mine"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "server" not in headers


@pytest.mark.parametrize(
    "hostile",
    [b"a\r\nX-Evil: 1", b"<script>", b"a" * 65, b"", b"\xff", b"a b", b'"', b"a\n", b"a\tb", b"\xc3\xa9"],
)
def test_a_request_id_that_is_not_harmless_is_replaced(service: Service, hostile: bytes) -> None:
    response = service.get("/nope", headers=[(b"x-request-id", hostile)])
    assert problem(response, 404)["instance"] not in hostile.decode("latin-1")
    assert response.headers["x-request-id"].isalnum()
    assert len(response.headers["x-request-id"]) == 32
