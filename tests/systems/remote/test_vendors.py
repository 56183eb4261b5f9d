"""Where vendors are, and what is shown to them."""

from __future__ import annotations

import pytest

from embassay.errors import ModelError, UsageError
from embassay.systems.remote import http
from embassay.systems.remote.http import COHERE, GEMINI, OLLAMA, ModelServerSettings, VendorConnection, find_ollama_url


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://localhost:11434"),
        ("example", "http://example:11434"),
        ("example:80", "http://example:80"),
        (":5000", "http://localhost:5000"),
        ("0.0.0.0", "http://localhost:11434"),
        ("0.0.0.0:5000", "http://localhost:5000"),
        ("http://example", "http://example:80"),
        ("https://example", "https://example:443"),
        ("https://example:8443/under/", "https://example:8443/under"),
        (" 'example:81' ", "http://example:81"),
        ("[::1]:5000", "http://[::1]:5000"),
    ],
)
def test_ollama_host(host, url, monkeypatch):
    """As Ollama's own client reads the variable."""
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert find_ollama_url() == url


def test_a_host_that_is_none(monkeypatch):
    """Said with the name of the variable."""
    monkeypatch.setenv("OLLAMA_HOST", "example:port")
    with pytest.raises(UsageError, match="OLLAMA_HOST is not the address"):
        find_ollama_url()


def test_base_url_goes_before_the_variable(monkeypatch):
    """What is written in the spec is meant."""
    pytest.importorskip("httpx2")
    monkeypatch.setenv("OLLAMA_HOST", "elsewhere")
    assert VendorConnection.of(OLLAMA, ModelServerSettings(base_url="http://here:1")).address.place == "here:1"
    assert VendorConnection.of(OLLAMA, ModelServerSettings()).address.place == "elsewhere:11434"


def test_keys_are_shown_where_the_vendor_looks(monkeypatch):
    """And nowhere else: not in what the object says of itself."""
    pytest.importorskip("httpx2")
    monkeypatch.setenv("MINE", "my-secret")
    bearer = VendorConnection.of(COHERE, ModelServerSettings(key="MINE"))
    google = VendorConnection.of(GEMINI, ModelServerSettings(key="MINE"))
    assert bearer._headers == {"Authorization": "Bearer my-secret"}
    assert google._headers == {"x-goog-api-key": "my-secret"}
    assert "my-secret" not in repr(bearer) + repr(google) + str(bearer)


def test_without_httpx2_the_extra_is_named(monkeypatch):
    """Before a key is asked for."""
    monkeypatch.setattr(http, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"httpx2, which is not installed. pip install 'embassay\[llm\]'"):
        VendorConnection.of(COHERE, ModelServerSettings())
