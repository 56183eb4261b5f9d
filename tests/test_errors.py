"""The errors: what each says, and the exit code it stands for."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from embassay import errors
from embassay.errors import (
    AbsentData,
    BudgetExceeded,
    DataError,
    EmbassayError,
    Interrupted,
    ModelError,
    TextRefused,
    Unanswered,
    UsageError,
)

CODES = {
    UsageError: 2, ModelError: 3, TextRefused: 3, Unanswered: 3, DataError: 4, AbsentData: 4, BudgetExceeded: 5,
    Interrupted: 130,
}  # fmt: skip


@pytest.mark.parametrize(("kind", "code"), CODES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_exit_codes(kind: type[EmbassayError], code: int) -> None:
    """Every kind of error has the exit code that scripts rely on."""
    assert kind("x").exit_code == code


def test_the_tree_is_complete() -> None:
    """Every error class of the module is one of those documented, and all share one root."""
    found = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, Exception) and value is not EmbassayError
    }
    assert found == set(CODES)
    for kind in found:
        assert kind.__name__ in (errors.__doc__ or "")


def test_the_mend_follows_the_message() -> None:
    """Printed, an error is what is wrong and then what to do."""
    error = UsageError("No system was given.", mend="Add `-s bm25`.")
    assert str(error) == "No system was given. Add `-s bm25`."
    assert str(UsageError("No system was given.")) == "No system was given."


@pytest.mark.parametrize(
    ("path", "line", "start"),
    [("a.jsonl", 3, "a.jsonl:3: bad row"), (Path("a.jsonl"), None, "a.jsonl: bad row"), (None, None, "bad row")],
)
def test_a_data_error_says_where(path: Path | str | None, line: int | None, start: str) -> None:
    """File and line stand first, in the form editors and terminals make clickable."""
    assert str(DataError("bad row", path=path, line=line)).startswith(start)


def test_a_data_error_says_what_was_expected_and_found() -> None:
    """Expectation and finding are in the message and kept as fields."""
    error = DataError("bad row", expected="a text", found="None", mend="Fill it.")
    assert str(error) == "bad row (expected a text; found None). Fill it."
    assert (error.expected, error.found, error.path, error.line) == ("a text", "None", None, None)


def test_errors_survive_a_process_boundary() -> None:
    """An error raised in a worker process arrives whole."""
    error = DataError("bad row", path="a.jsonl", line=3, expected="a text", found="None", mend="Fill it.")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert (copy.path, copy.line, copy.mend, copy.exit_code) == ("a.jsonl", 3, "Fill it.", 4)
    assert str(pickle.loads(pickle.dumps(UsageError("a", mend="b")))) == "a b"
