from __future__ import annotations

import hashlib
import hmac

import pytest

from exactperm.ops import keys
from exactperm.ops.keys import Keys, exposed, new_key
from exactperm.settings import Settings


def test_only_a_known_key_is_admitted() -> None:
    (one, first), (other, second), (stranger, _) = new_key(), new_key(), new_key()
    known = Keys.of(f" {first},\n{second.upper()} ")
    assert known.admit(f"Bearer {one}".encode())
    assert known.admit(f"bearer   {other} ".encode())
    wrong = [stranger, one[:-1], one + "x", first, "", f"{one},{other}"]
    assert not any(known.admit(f"Bearer {key}".encode()) for key in wrong)
    assert not any(
        known.admit(header) for header in (None, b"", b"Bearer", one.encode(), b"Basic " + one.encode())
    )


def test_every_digest_is_compared_in_constant_time_whichever_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [new_key() for _ in range(5)]
    compared: list[bytes] = []

    def comparing(given: bytes, digest: bytes) -> bool:
        compared.append(digest)
        return hmac.compare_digest(given, digest)

    class Counting:
        compare_digest = staticmethod(comparing)

    monkeypatch.setattr(keys, "hmac", Counting)
    known = Keys.of(",".join(digest for _, digest in made))
    for key in (made[0][0], made[-1][0], "stranger"):
        compared.clear()
        known.admit(f"Bearer {key}".encode())
        assert compared == list(known.digests)


def test_a_key_is_random_and_its_digest_is_what_sha256sum_prints() -> None:
    made = {new_key() for _ in range(50)}
    assert len(made) == 50
    for key, digest in made:
        assert len(key) >= 43
        assert digest == hashlib.sha256(key.encode()).hexdigest()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_no_keys(host: str) -> None:
    assert exposed(Settings(host=host, workers=1)) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "", "127.0.0.1.example.org"])
def test_any_other_address_is_exposed_without_keys(host: str) -> None:
    assert "EXACTPERM_API_KEY_DIGESTS" in str(exposed(Settings(host=host, workers=1)))
    assert exposed(Settings(host=host, workers=1, api_key_digests=new_key()[1])) is None
    assert exposed(Settings(host=host, workers=1, api_key_digests=" ")) is not None
