"""What a failure means for its request."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from embassay.systems.remote.calls import (
    MalformedServerAnswer,
    ServerStatusError,
    classify_request_error,
    read_error_message,
    read_retry_wait,
)


@pytest.mark.parametrize(
    ("status", "body", "kind", "of_texts"),
    [
        (429, {"error": {"message": "slow down"}}, "pushback", False),
        (429, {"error": {"message": "You exceeded it", "code": "insufficient_quota"}}, "final", False),
        (503, "overloaded", "pushback", False),
        (529, {}, "pushback", False),
        (500, {"error": {"message": "x", "type": "overloaded_error"}}, "pushback", False),
        (500, {}, "passing", False),
        (502, "<html>", "passing", False),
        (504, {}, "passing", False),
        (408, {}, "passing", False),
        (400, {"error": {"message": "maximum context length is 8192 tokens"}}, "final", True),
        (400, {"error": {"message": "API key not valid"}}, "final", False),
        (422, {"detail": "too long"}, "final", True),
        (413, {}, "final", True),
        (401, {"error": {"message": "no"}}, "final", False),
        (403, {}, "final", False),
        (404, {"error": {"message": "model not found"}}, "final", False),
        (301, {}, "final", False),
    ],
)
def test_statuses(status, body, kind, of_texts):
    """Pushback, passing or final; a refusal of the texts is told from one of the account; behind a gateway that gave up
    the server may have read the request."""
    failure = classify_request_error(ServerStatusError(status, {}, body))
    assert (failure.kind, failure.of_texts, failure.charged) == (kind, of_texts, status == 504)
    assert failure.reason.startswith(f"status {status}")


@pytest.mark.parametrize(
    ("error", "charged"),
    [
        (MalformedServerAnswer("3 vectors for 4 texts"), True),
        (TimeoutError(), True),
        (json.JSONDecodeError("x", "{", 1), True),
        (ConnectionResetError("reset"), True),
        (ConnectionRefusedError("refused"), False),
    ],
)
def test_what_may_pass(error, charged):
    """Broken answers and connections are tried again; the server may want its money for all but those that it
    never saw."""
    failure = classify_request_error(error)
    assert (failure.kind, failure.charged) == ("passing", charged)


def test_a_bug_is_no_failure():
    """What no server causes is not tried again."""
    assert classify_request_error(KeyError("x")) is None
    assert classify_request_error(ValueError("x")) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30),
        ({"retry-after": "Thu, 01 Jan 2015 00:00:30 GMT"}, 0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait(headers, seconds):
    """Seconds, milliseconds, or a date."""
    assert read_retry_wait(headers, now=datetime(2026, 1, 1, tzinfo=UTC)) == seconds


def test_how_long_google_wants_to_wait():
    """In the body."""
    body = {"error": {"code": 429, "details": [{"@type": "RetryInfo", "retryDelay": "17.5s"}]}}
    assert classify_request_error(ServerStatusError(429, {}, body)).wait == 17.5


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "one\n  two"}}, "one two"),
        ({"error": "plain"}, "plain"),
        ({"message": "m"}, "m"),
        ({"detail": [{"msg": "x"}]}, "[{'msg': 'x'}]"),
        ([{"error": {"message": "first"}}], "first"),
        ("text", "text"),
        (None, ""),
    ],
)
def test_what_vendors_say(body, said):
    """Each puts it elsewhere; one line comes out."""
    assert read_error_message(body) == said


def test_no_key_in_a_reason():
    """Servers repeat the key they were shown."""
    failure = classify_request_error(
        ServerStatusError(401, {}, {"error": {"message": "Incorrect API key: sk-abcdefgh12345678"}})
    )
    assert "abcdefgh" not in failure.reason
