"""Keys and addresses: where they come from, and that they stay there."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from embassay.errors import ModelError, UsageError
from embassay.systems.remote import ServerBaseUrl, allow_models_without_keys, read_api_key, redact_keys
from embassay.systems.remote.http import find_openai_address


def test_the_first_that_is_set(monkeypatch):
    """Of the vendor's names; the one the user names wins."""
    monkeypatch.setenv("B_KEY", "bbbbbbbb")
    monkeypatch.setenv("MINE", "mmmmmmmm")
    monkeypatch.delenv("A_KEY", raising=False)
    assert read_api_key("V", ("A_KEY", "B_KEY")) == "bbbbbbbb"
    assert read_api_key("V", ("A_KEY", "B_KEY"), key="MINE") == "mmmmmmmm"
    assert redact_keys("with bbbbbbbb and mmmmmmmm") == "with [key] and [key]"


def test_a_short_key_is_not_taken_out_of_words(monkeypatch):
    """Local servers are told any letter for a key."""
    monkeypatch.setenv("SHORT_KEY", "k")
    read_api_key("V", ["SHORT_KEY"])
    assert redact_keys("thinking needs k, key=k") == "thinking needs [key], key=[key]"


def test_no_key(monkeypatch):
    """Is an error that says which variable to set; a server on this machine needs none."""
    monkeypatch.delenv("A_KEY", raising=False)
    with pytest.raises(ModelError, match=r"V needs a key, but A_KEY is not set\. export A_KEY="):
        read_api_key("V", ("A_KEY",))
    assert read_api_key("V", ("A_KEY",), local=True)
    with pytest.raises(ModelError, match="MINE is not set"):
        read_api_key("V", ("A_KEY",), key="MINE", local=True)


@pytest.mark.parametrize("key", ["sk-proj-abcdefgh", "AIzaSyAbcdefgh", "abc def"])
def test_a_key_in_place_of_its_name(key):
    """Is refused without being repeated."""
    with pytest.raises(UsageError, match="takes the NAME") as caught:
        read_api_key("V", ("A_KEY",), key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["Bearer abcdef123456", "sk-proj-abcdefgh12345678", "https://x/y?key=abcdef123456", "AIzaSyA1234567890abcdefghijk"],
)
def test_what_looks_like_a_key_is_not_shown(text):
    """Even one that this process has not read."""
    assert "[key]" in redact_keys(text)
    assert "3456" not in redact_keys(text)


def test_addresses():
    """The place is in identities; what is on this machine is known."""
    assert ServerBaseUrl.of("http://localhost:8000/v1/") == ServerBaseUrl(
        "http://localhost:8000/v1", "localhost:8000/v1", True
    )
    assert ServerBaseUrl.of("https://api.example.com/v1").place == "api.example.com/v1"
    assert not ServerBaseUrl.of("https://api.example.com/v1").local


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", "http://x:port"])
def test_no_address(url):
    """Is said so."""
    with pytest.raises(UsageError, match="base_url is not the address"):
        ServerBaseUrl.of(url)


@pytest.mark.parametrize("url", ["http://me:secret@x/v1", "http://x/v1?key=secret"])
def test_no_secret_in_an_address(url):
    """It would be written into every manifest."""
    with pytest.raises(UsageError, match="contains more than the address") as caught:
        ServerBaseUrl.of(url)
    assert "secret" not in str(caught.value)


def test_a_plan_needs_no_key(monkeypatch):
    """Inside `keyless` a missing key is no error; outside it is one again."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with allow_models_without_keys():
        assert read_api_key("OpenAI", ["OPENAI_API_KEY"])
    with pytest.raises(ModelError, match="OPENAI_API_KEY is not set"):
        read_api_key("OpenAI", ["OPENAI_API_KEY"])


def test_a_key_that_comes_back_in_another_form(monkeypatch) -> None:
    """From its end, in base64, as addresses have it, in capitals, as bytes, and letter by letter."""
    secret = "Zq7/secret+value=99"
    monkeypatch.setenv("MY_KEY", secret)
    read_api_key("x", ["MY_KEY"])
    forms = (
        secret, secret[::-1], base64.b64encode(secret.encode()).decode(), quote(secret, safe=""), secret.upper(),
        secret.swapcase(), secret.encode().hex(), " ".join(secret), " ".join(secret[::-1]),
    )  # fmt: skip
    for form in forms:
        assert redact_keys(f"wrong: {form}!") == "wrong: [key]!"


@pytest.mark.parametrize("before", ["", "u:", "me:", "user:"])
@pytest.mark.parametrize("behind", ["", "x", "xy"])
def test_a_key_in_base64_among_others(before, behind, monkeypatch) -> None:
    """As `Basic` has it: of the bytes that what is left stands for, at most two are of the key."""
    secret = "Zq7/secret+value=99"
    monkeypatch.setenv("MY_KEY", secret)
    read_api_key("x", ["MY_KEY"])
    left = redact_keys(base64.b64encode(f"{before}{secret}{behind}".encode()).decode())
    assert "[key]" in left
    assert len(left.replace("[key]", "").rstrip("=")) <= len(f"{before}{behind}") * 4 / 3 + 5


@pytest.mark.parametrize("path", ["v1/abc123def456ghi789", "4f9d2c7a8b1e4f9d2c7a8b1e/v1", "v1/%61bc123def456ghi7"])
def test_a_key_in_the_path_of_an_address_is_not_kept(path, monkeypatch) -> None:
    """What a command says is refused; what the environment says shows a digest in its place."""
    with pytest.raises(UsageError, match="seems to contain a key") as caught:
        find_openai_address(f"http://host/{path}")
    assert not any(part in str(caught.value) for part in path.split("/") if part != "v1")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://host/{path}")
    found = find_openai_address(None)
    assert found.url == f"http://host/{path}"
    assert "hidden-" in found.place
    assert not any(part in found.place for part in path.split("/") if part != "v1")


@pytest.mark.parametrize("path", ["v1", "api/openai/v1beta", "deployments/gpt-4o-mini-2024-07-18", "ollama"])
def test_paths_of_models_are_no_keys(path) -> None:
    assert find_openai_address(f"http://host/{path}").place == f"host/{path}"
