"""Addresses of servers: found, and never shown with a password."""

from __future__ import annotations

import logging
import traceback

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import EmbassayError, ModelError, UsageError
from embassay.search.indexes import INDEXES, open_index
from embassay.search.indexes.address import resolve_server_address

SECRET = "s3kret-Word"
VECTORS = np.eye(3, dtype=np.float32)
SCHEMES = ("postgresql", "postgres")


def found(target, monkeypatch, **variables):
    monkeypatch.delenv("EMBASSAY_POSTGRES", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return resolve_server_address("pgvector", target, schemes=SCHEMES, variable="EMBASSAY_POSTGRES")


def test_a_url_or_a_variable(monkeypatch):
    """As it stands, by a name with or without the shell's sign, or by the usual name."""
    url = f"postgres://me:{SECRET}@host/db"
    assert found("postgresql://host/db", monkeypatch).url == "postgresql://host/db"
    for target, variable in (("MY_PG", "MY_PG"), ("$MY_PG", "MY_PG"), ("", "EMBASSAY_POSTGRES")):
        address = found(target, monkeypatch, **{variable: url})
        assert (address.url, address.origin) == (url, variable)
        assert SECRET not in repr(address)


def test_a_variable_that_is_not_set(monkeypatch):
    """Which one, and how."""
    with pytest.raises(ModelError, match="MY_PG is not set") as error:
        found("MY_PG", monkeypatch)
    assert "export MY_PG=postgresql://localhost" in error.value.mend


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@host/db",
        f"postgresql://host/db?password={SECRET}",
        f"postgresql://host/db?sslmode=require&sslpassword={SECRET}",
        f"postgresql://me:{SECRET}@[host/db",
        f"postgresql://me:{SECRET}@host:port:9/db",
        f"mysql://me:{SECRET}@host/db",
    ],
)
def test_a_password_in_a_spec_string_is_refused(url, monkeypatch):
    """It would be written into names and results; the refusal does not repeat it."""
    from urllib.parse import quote

    written = f"pgvector:{quote(url, safe='/:@')}?kind=flat"
    for call in (lambda: open_index(written, VECTORS), lambda: INDEXES.parse_spec(written)):
        with pytest.raises(UsageError, match="contains a password") as error:
            call()
        assert SECRET not in shown(error.value)


@pytest.mark.parametrize("tail", ["@host/db?sslmode", "@host/db?kind=flat&kind=flat", "?w@host/db?kind"])
def test_a_password_is_refused_before_the_rest_is_read(tail):
    """What is wrong with the rest would be told with the whole text."""
    with pytest.raises(UsageError, match="contains a password"):
        INDEXES.parse_spec(f"pgvector:postgresql://me:{SECRET}{tail}")


@pytest.mark.parametrize(
    "spec",
    [
        *("flat", "pgvector", "pgvector:MY_PG", "pgvector:postgresql://me@host:5432/db?kind=hnsw"),
        "elasticsearch:http://host:9200/path?key=MY_KEY&ca_certs=./a:b@c.crt",
    ],
)
def test_what_holds_none_can_be_written_down(spec):
    """A user, a port and the name of a variable are no secrets."""
    assert INDEXES.parse_spec(spec).name == spec.partition(":")[0].partition("?")[0]


@pytest.mark.parametrize("target", ["localhost", f"me:{SECRET}@host", "http://host", "my_pg"])
def test_what_is_no_address_is_not_repeated(target, monkeypatch):
    """It may be a secret."""
    with pytest.raises(UsageError, match="not a server address") as error:
        found(target, monkeypatch)
    assert SECRET not in shown(error.value)
    with pytest.raises(UsageError, match="MY_PG is not a server address"):
        found("MY_PG", monkeypatch, MY_PG=target)


def shown(error):
    """All that a user may see of it, its traceback too."""
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/db",
        f"postgresql://me:{SECRET}@127.0.0.1:1/db?bad={SECRET}",
        f"postgresql://me:{SECRET}@127.0.0.1:port/db",
        f"postgresql://me:{SECRET}%zz@127.0.0.1:1/db",
        f"postgresql://127.0.0.1:1/db?password={SECRET}",
    ],
)
def test_no_password_is_shown_when_it_fails(url, monkeypatch, caplog):
    """Neither in the error nor in what caused it, nor in a log at its most talkative."""
    pytest.importorskip("psycopg")
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_PG", url)
    with pytest.raises(EmbassayError, match=r"127\.0\.0\.1:\w+ does not answer|MY_PG is not a valid") as error:
        open_index("pgvector:MY_PG", VECTORS)
    assert SECRET not in shown(error.value)
    assert SECRET not in caplog.text


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=4))
def test_messages_lose_every_form_of_a_password(password):
    """As it is written in the URL, and as it is meant."""
    from urllib.parse import quote

    written = quote(password, safe="")
    with pytest.MonkeyPatch.context() as patch:
        address = found("MY_PG", patch, MY_PG=f"postgresql://me:{written}@host/db")
    said = address.redact_secrets(f"no entry for {password} or {written}\nmore")
    assert said == "no entry for [secret] or [secret]"
