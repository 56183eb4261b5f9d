"""The journal of what a run has paid for: no kill forgets it, no resume doubles it."""

from __future__ import annotations

import json

import pytest

from embassay.contracts import Usage
from embassay.protocols.kernel.outcome import summarise_run_spending
from embassay.runs.spending import CallSpendingTotals, RunSpendingJournal, summarise_spending


def call(spending, number, *, usd=0.01, tokens=10, retry=False):
    spending.note_request_reserved(number, "model", 0.02)
    spending.note_request_settled(number, "model", Usage(tokens, 1, 1, usd), retry=retry, seconds=0.5)


def test_calls_add_up_per_account(tmp_path):
    """Requests, retries, failures, tokens, money and seconds, of the system in work or of the model."""
    spending = RunSpendingJournal(tmp_path / "spending.jsonl", "first")
    call(spending, 1)
    spending.account = "system"
    call(spending, 2)
    call(spending, 3, retry=True)
    spending.note_request_reserved(4, "model", 0.02)
    spending.note_request_released(4)
    spending.note_call_failed("model")
    assert spending.sum_spending_by_account() == {
        "model": CallSpendingTotals(1, 0, 0, 10, 1, 0.01, 0.5),
        "system": CallSpendingTotals(2, 1, 1, 20, 2, 0.02, 1.0),
    }
    assert spending.usd == pytest.approx(0.03)


def test_nothing_is_written_before_the_first_call(tmp_path):
    """A run that pays for nothing has no such file."""
    RunSpendingJournal(tmp_path / "run" / "spending.jsonl", "first").close()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("closed", [True, False])
def test_a_resumed_run_goes_on_from_what_was_spent(tmp_path, closed):
    """Sessions are kept apart and summed, however each ended."""
    path = tmp_path / "spending.jsonl"
    first = RunSpendingJournal(path, "first")
    call(first, 1)
    if closed:
        first.close()
        assert len(path.read_text().splitlines()) == 1
    second = RunSpendingJournal(path, "second")
    assert second.usd == pytest.approx(0.01)
    call(second, 1, tokens=5)
    second.close()
    third = RunSpendingJournal(path, "third")
    assert third.sum_spending_by_account("first") == {"model": CallSpendingTotals(1, 0, 0, 10, 1, 0.01, 0.5)}
    assert third.sum_spending_by_account("second") == {"model": CallSpendingTotals(1, 0, 0, 5, 1, 0.01, 0.5)}
    assert third.sum_spending_by_account()["model"].input_tokens == 15


def test_a_request_in_flight_at_a_kill_may_be_billed(tmp_path):
    """What it could cost at most, once, and marked; one that was in flight in an earlier session too."""
    path = tmp_path / "spending.jsonl"
    for session in ("first", "second"):
        spending = RunSpendingJournal(path, session)
        call(spending, 1)
        spending.note_request_reserved(2, "model", 0.02)
    last = RunSpendingJournal(path, "third")
    assert last.sum_spending_by_account()["model"] == CallSpendingTotals(
        4, 0, 0, 20, 2, pytest.approx(0.02), 1.0, unsettled=2, possible_usd=pytest.approx(0.04)
    )
    assert (last.usd, last.possibly_billed_usd) == (pytest.approx(0.02), pytest.approx(0.04))
    call(last, 1)
    last.close()
    fourth = RunSpendingJournal(path, "fourth")
    assert (fourth.usd, fourth.possibly_billed_usd) == (pytest.approx(0.03), pytest.approx(0.04))


def test_three_kinds_of_money(tmp_path):
    """What is billed, what may be and what is held aside while in flight; the sum says each, and a resume keeps the
    first two apart."""
    spending = RunSpendingJournal(tmp_path / "spending.jsonl", "first")
    call(spending, 1)
    spending.note_request_reserved(2, "model", 0.2)
    spending.note_request_unanswered(2, "model", 0.05, retry=False, seconds=1.0)
    spending.note_request_reserved(3, "model", 0.2)
    told = summarise_run_spending(spending, 1.0)
    assert (told["usd"], told["possible_usd"], told["reserved_usd"]) == (0.01, 0.05, 0.2)
    assert summarise_spending(told) == (
        "Spent $0.0100 of $1.00, in 2 requests with 11 tokens. Up to $0.0500 more may be billed for requests "
        "without a usable answer. $0.2000 is reserved for requests in flight."
    )
    again = RunSpendingJournal(tmp_path / "spending.jsonl", "second")
    assert (again.usd, again.possibly_billed_usd, again.reserved_usd) == (0.01, pytest.approx(0.25), 0)
    assert "1 of them in flight when a process died" in summarise_spending(summarise_run_spending(again, None))


def test_a_torn_line_costs_only_itself(tmp_path):
    """A disk that was full leaves half a line; the rest still counts."""
    path = tmp_path / "spending.jsonl"
    spending = RunSpendingJournal(path, "first")
    call(spending, 1)
    path.write_text(path.read_text() + '{"open": 2, "acc')
    assert RunSpendingJournal(path, "second").usd == pytest.approx(0.01)


def test_an_unknown_price_stays_unknown(tmp_path):
    """Tokens are counted, money is not guessed."""
    spending = RunSpendingJournal(tmp_path / "spending.jsonl", "first")
    call(spending, 1, usd=None)
    assert spending.sum_spending_by_account()["model"].usd is None
    assert spending.usd == 0
    assert json.loads((tmp_path / "spending.jsonl").read_text().splitlines()[1])["usd"] is None


def test_a_request_given_up_at_the_end_is_not_forgotten(tmp_path, monkeypatch):
    """Settled too late for the end of the session, or never, it counts once."""
    monkeypatch.setattr("embassay.runs.spending._PATIENCE", 1)
    path = tmp_path / "spending.jsonl"
    spending = RunSpendingJournal(path, "first")
    call(spending, 1)
    spending.note_request_reserved(2, "model", 0.02)
    spending.note_request_reserved(3, "model", 0.02)
    spending.close()
    spending.note_request_settled(2, "model", Usage(10, 1, 1, 0.01), retry=False, seconds=0.5)
    again = RunSpendingJournal(path, "second")
    assert again.sum_spending_by_account()["model"] == CallSpendingTotals(
        3, 0, 0, 20, 2, pytest.approx(0.02), 1.0, unsettled=1, possible_usd=0.02
    )
