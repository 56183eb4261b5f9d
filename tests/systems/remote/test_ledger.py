"""Money is put aside before a call and settled after it."""

from __future__ import annotations

from threading import Thread

import pytest

from embassay.contracts import Usage
from embassay.errors import BudgetExceeded, UsageError
from embassay.systems.remote import Ledger, ModelCallTotals, TokenPrice


def test_totals():
    """Requests, retries, tokens and dollars of each model."""
    ledger = Ledger()
    ledger.settle_reservation(ledger.reserve_usd("a", 0.5), Usage(10, 5, 1, 0.25), seconds=2)
    ledger.settle_reservation(ledger.reserve_usd("a", 0.5), Usage(1, 0, 1, 0.5), retry=True)
    ledger.settle_reservation(ledger.reserve_usd("b", None), Usage(1, 0, 1, None))
    ledger.release(ledger.reserve_usd("b", 0.5))
    ledger.note_call_failed("b")
    assert ledger.map_models_to_call_totals() == {
        "a": ModelCallTotals(2, 1, 0, 11, 5, 0.75, 2),
        "b": ModelCallTotals(1, 0, 1, 1, 0, None, 0),
    }
    assert ledger.spent_usd == 0.75


def test_no_room_now_and_no_room_at_all():
    """What others have put aside may come back; what is spent does not."""
    ledger = Ledger(max_usd=1.0, spent_usd=0.25)
    first = ledger.reserve_usd("a", 0.5)
    assert ledger.try_reserve_usd("a", 0.5) is None
    with pytest.raises(BudgetExceeded, match=r"\$1\.0000 is reached: \$0\.2500 spent.*repeat the command"):
        ledger.reserve_usd("a", 0.5)
    ledger.settle_reservation(first, Usage(usd=0.125))
    second = ledger.reserve_usd("a", 0.5)
    ledger.settle_reservation(second, Usage(usd=0.5))
    with pytest.raises(BudgetExceeded, match=r"\$0\.8750 spent"):
        ledger.try_reserve_usd("a", 0.5)


def test_a_limit_needs_a_price():
    """Without one there is no knowing; 0 is a price."""
    with pytest.raises(UsageError, match=r"price of 'a' is not known.*price=NUMBER"):
        Ledger(max_usd=1).reserve_usd("a", None)
    Ledger(max_usd=1).reserve_usd("a", 0.0)
    with pytest.raises(UsageError, match="must not be negative"):
        Ledger(max_usd=-1)


def test_threads_share_it():
    """Nothing is counted twice or lost."""
    ledger = Ledger()

    def spend() -> None:
        for _ in range(500):
            ledger.settle_reservation(ledger.reserve_usd("a", 0.25), Usage(1, 1, 1, 0.25))

    threads = [Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.map_models_to_call_totals()["a"] == ModelCallTotals(2000, 0, 0, 2000, 2000, 500.0, 0)


def test_prices():
    """The user's, else the table's; of a chat model both sides."""
    assert TokenPrice.of("text-embedding-3-small").usd(1_000_000) == 0.02
    assert TokenPrice.of("text-embedding-3-small", 7.0).usd(1_000_000) == 7
    assert TokenPrice.of("unheard-of") is None
    assert TokenPrice.choose_chat_model_price("unheard-of", 0.0, None).usd(10**6, 10**6) == 0
    assert TokenPrice.choose_chat_model_price("unheard-of", 1.0, 4.0).usd(10**6, 10**6) == 5
    assert TokenPrice.choose_chat_model_price("unheard-of", None, None) is None
    assert TokenPrice.choose_chat_model_price("gpt-5", None, None).usd(10**6, 10**6) == 11.25
    with pytest.raises(UsageError, match="price= and price_output="):
        TokenPrice.choose_chat_model_price("unheard-of", 1.0, None)
