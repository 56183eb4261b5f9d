"""What tokens cost, what was spent, and what may still be: money is reserved before a call and settled after it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from embassay.contracts import SpendingJournal, Tokenizer, Usage
from embassay.errors import BudgetExceeded, ModelError, UsageError
from embassay.systems.models import find_known_model
from embassay.text import open_tokenizer

_OF_MODELS = {
    "text-embedding-3-small": "cl100k",
    "text-embedding-3-large": "cl100k",
    "text-embedding-ada-002": "cl100k",
}


def find_model_own_tokenizer(model: str) -> Tokenizer | None:
    """The tokenizer that the model itself has; None where that is not known or its file is not at hand."""
    if model not in _OF_MODELS:
        return None
    try:
        return open_tokenizer(_OF_MODELS[model])
    except ModelError:
        return None


def count_or_bound_tokens(texts: Sequence[str], tokenizer: Tokenizer | None) -> list[int]:
    """The tokens of each text; without the model's tokenizer a bound above, the bytes in UTF-8: no usual
    tokenizer makes more tokens than bytes.

    >>> count_or_bound_tokens(["naïve", ""], None)
    [6, 0]
    """
    if tokenizer is None:
        return [len(text.encode("utf-8", "replace")) for text in texts]
    return [len(ids) for ids in tokenizer.encode_batch(texts)]


def estimate_server_tokens(texts: Sequence[str]) -> int:
    """What a server that does not say is taken to have counted: a token for every three bytes, which is somewhat
    more than it is in any usual language and script.

    >>> estimate_server_tokens(["a fox", ""])
    2
    """
    return -(-sum(count_or_bound_tokens(texts, None)) // 3)


_FRAME = 16
"""Tokens around a text: marks, and the prompt or the role that a server adds."""


def estimate_most_server_tokens(texts: Sequence[str], tokenizer: Tokenizer | None = None) -> int:
    """The most that a server is believed to have counted for the texts, and so what is held aside for them.

    >>> estimate_most_server_tokens(["a fox", ""])
    37
    """
    return sum(count + _FRAME for count in count_or_bound_tokens(texts, tokenizer))


@dataclass(frozen=True)
class BookedTokenCount:
    """The tokens of one side of a request: `booked`, and the `most` they may be.

    The two differ only where the count is an estimate of ours, as the server does not say.
    """

    booked: int
    most: int

    @classmethod
    def of(cls, said: object, *, most: int, likely: int) -> BookedTokenCount:
        """What the server `said` it has counted; `likely` where it says nothing, or 0 for a text that is not empty.

        What cannot be is warned of: in place of more than `most`, which is what was held aside, `most` is booked.

        >>> BookedTokenCount.of(12, most=100, likely=7), BookedTokenCount.of(None, most=100, likely=7)
        (BookedTokenCount(booked=12, most=12), BookedTokenCount(booked=7, most=100))
        """
        estimate = cls(min(likely, most), most)
        if said is None or (said == 0 and likely):
            return estimate
        if not isinstance(said, int) or isinstance(said, bool) or said < 0:
            _warn_of_impossible_token_count(said, estimate.booked)
            return estimate
        if said > most:
            _warn_of_impossible_token_count(said, most, "more than possible or more than reserved")
            return cls(most, most)
        return cls(said, said)

    @property
    def is_count_estimated(self) -> bool:
        """Whether it is a count of ours."""
        return self.booked != self.most


_NONE_WRITTEN = BookedTokenCount(0, 0)


def make_usage_from_booked_tokens(
    read: BookedTokenCount, written: BookedTokenCount = _NONE_WRITTEN, *, usd: Callable[[int, int], float | None]
) -> Usage:
    """What a request is booked with: its tokens at the price `usd`, and beside an estimate what it may be short of."""
    billed, most = usd(read.booked, written.booked), usd(read.most, written.most)
    short = 0.0 if billed is None or most is None else most - billed
    estimated = int(read.is_count_estimated or written.is_count_estimated)
    return Usage(read.booked, written.booked, 1, billed, possible_usd=short, estimated=estimated)


def _warn_of_impossible_token_count(said: object, booked: int, why: str = "which is impossible") -> None:
    warnings.warn(
        f"A server reported {str(said)[:40]} tokens, {why}; {booked:,} are counted instead.",
        RuntimeWarning,
        stacklevel=3,
    )


def find_too_long_texts(texts: Sequence[str], most: int, tokenizer: Tokenizer) -> list[int]:
    """The positions of the texts with more than `most` tokens; only what has more bytes is tokenized."""
    long = [i for i, text in enumerate(texts) if 4 * len(text) > most and len(_encode_text_as_utf8(text)) > most]
    counts = count_or_bound_tokens([texts[i] for i in long], tokenizer)
    return [i for i, tokens in zip(long, counts, strict=True) if tokens > most]


def cut_text_to_tokens(text: str, most: int, tokenizer: Tokenizer) -> str:
    """The longest beginning of the text, in whole characters, that has at most `most` tokens by this count."""
    pieces, end = tokenizer.pieces(text), most
    while True:
        head = b"".join(pieces[:end]).decode("utf-8", "ignore")
        # A character that was cut in two can make the rest fall into more tokens than before.
        if end <= 0 or len(tokenizer.encode(head)) <= most:
            return head
        end -= 1


def _encode_text_as_utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


@dataclass(frozen=True)
class TokenPrice:
    """US dollars per million tokens, in and out, and the day (ISO) the list said so; no day where the user
    gave the price."""

    usd_per_million_input: float
    usd_per_million_output: float = 0.0
    priced_on: str | None = None

    @classmethod
    def of(cls, model: str, given: float | None = None) -> TokenPrice | None:
        """The price the user gave, else the known-model table's; None where neither is there."""
        if given is not None:
            return cls(given)
        listed = find_known_model(model)
        if listed is None or listed.usd_per_million_input is None:
            return None
        return cls(listed.usd_per_million_input, listed.usd_per_million_output or 0.0, listed.priced_on)

    @classmethod
    def choose_chat_model_price(cls, model: str, read: float | None, written: float | None) -> TokenPrice | None:
        """`of` for a model that also writes; a price for reading alone says nothing, unless it is 0."""
        if read is None and written is None:
            return cls.of(model)
        if not read and not written:
            return cls(0.0)
        if read is None or written is None:
            raise UsageError(
                f"Only one of the two prices of {model!r} is known.", mend="Give price= and price_output=."
            )
        return cls(read, written)

    def usd(self, input_tokens: int, output_tokens: int = 0) -> float:
        """The cost of so many tokens in US dollars.

        >>> TokenPrice(0.5, 2.0).usd(1_000_000, 500_000)
        1.5
        """
        total = input_tokens * self.usd_per_million_input + output_tokens * self.usd_per_million_output
        return total / 1e6


@dataclass(frozen=True)
class ModelCallTotals:
    """What a model's calls came to: `requests` sent, `retries` among them, calls that `failed` for good,
    tokens, `usd` billed (None as soon as one price was not known), `possible_usd` that may be billed beside it for
    requests without an answer, `seconds` of waiting for answers."""

    requests: int = 0
    retries: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    possible_usd: float = 0.0


@dataclass(frozen=True)
class BudgetReservation:
    """Money put aside for one request."""

    model: str
    usd: float
    number: int = field(compare=True)


class Ledger:
    """The accounts of one run, shared by all its models. Safe between threads; one per process.

    `max_usd` limits what may be spent; `spent_usd` is what earlier attempts of the same run
    have cost or may have. `journal`
    keeps what happens.
    """

    def __init__(
        self, *, max_usd: float | None = None, spent_usd: float = 0.0, journal: SpendingJournal | None = None
    ) -> None:
        if max_usd is not None and not max_usd >= 0:
            raise UsageError(f"The cost limit must not be negative, found {max_usd}.")
        self.max_usd = max_usd
        self.journal = journal
        self._lock = Lock()
        self._spent = spent_usd
        self._reserved: dict[int, float] = {}
        self._numbers = 0
        self._totals: dict[str, ModelCallTotals] = {}

    @property
    def spent_usd(self) -> float:
        """Dollars billed or possibly billed so far, earlier attempts included; unknown prices count nothing."""
        with self._lock:
            return self._spent

    def reserve_usd(self, model: str, usd: float | None) -> BudgetReservation:
        """Put `usd` aside. BudgetExceeded when there is no room for it now, UsageError when there is a limit
        and the price is not known."""
        reservation = self.try_reserve_usd(model, usd)
        if reservation is None:
            raise self._make_budget_error(model, usd or 0.0)
        return reservation

    def try_reserve_usd(self, model: str, usd: float | None) -> BudgetReservation | None:
        """`reserve`; None when there may be room later, because what others have put aside is not spent yet."""
        if usd is None and self.max_usd is not None:
            raise UsageError(
                f"The cost is limited, but the price of {model!r} is not known.",
                mend="Give it in US dollars per million tokens: add price=NUMBER to the model (0 if it is free).",
            )
        usd = usd or 0.0
        with self._lock:
            # Even if all that is in flight cost nothing, there is no room: no use to wait.
            if self.max_usd is not None and self._spent + usd > self.max_usd:
                raise self._make_budget_error(model, usd)
            if self.max_usd is not None and self._spent + sum(self._reserved.values()) + usd > self.max_usd:
                return None
            self._numbers += 1
            self._reserved[self._numbers] = usd
            if self.journal is not None:
                self.journal.note_request_reserved(self._numbers, model, usd)
            return BudgetReservation(model, usd, self._numbers)

    def settle_reservation(
        self, reservation: BudgetReservation, usage: Usage, *, retry: bool = False, seconds: float = 0.0
    ) -> None:
        """The request was answered: `usage` is what it cost, in place of what was put aside. The limit also counts
        what it may have cost beyond an estimate."""
        with self._lock:
            self._add_request_to_totals(reservation, usage, usage.possible_usd, retry=retry, seconds=seconds)
            if self.journal is not None:
                self.journal.note_request_settled(
                    reservation.number, reservation.model, usage, retry=retry, seconds=seconds
                )

    def book_cost_of_unanswered_request(
        self, reservation: BudgetReservation, usd: float | None, *, retry: bool = False, seconds: float = 0.0
    ) -> None:
        """The request was sent and brought nothing that can be used: up to `usd` may be billed, which the limit counts;
        the rest of what was put aside is free again. None where the price is not known."""
        with self._lock:
            nothing = Usage(usd=None if usd is None else 0.0)
            self._add_request_to_totals(reservation, nothing, usd or 0.0, retry=retry, seconds=seconds)
            if self.journal is not None:
                self.journal.note_request_unanswered(
                    reservation.number, reservation.model, usd, retry=retry, seconds=seconds
                )

    def _add_request_to_totals(
        self, reservation: BudgetReservation, usage: Usage, possible: float, *, retry: bool, seconds: float
    ) -> None:
        self._reserved.pop(reservation.number, None)
        self._spent += (usage.usd or 0.0) + possible
        before = self._totals.get(reservation.model, ModelCallTotals())
        self._totals[reservation.model] = replace(
            before,
            requests=before.requests + 1,
            retries=before.retries + retry,
            input_tokens=before.input_tokens + usage.input_tokens,
            output_tokens=before.output_tokens + usage.output_tokens,
            usd=None if before.usd is None or usage.usd is None else before.usd + usage.usd,
            possible_usd=before.possible_usd + possible,
            seconds=before.seconds + seconds,
        )

    def release(self, reservation: BudgetReservation) -> None:
        """Release the money put aside for a request that was never sent."""
        with self._lock:
            self._reserved.pop(reservation.number, None)
            if self.journal is not None:
                self.journal.note_request_released(reservation.number)

    def note_call_failed(self, model: str) -> None:
        """A call has failed for good."""
        with self._lock:
            before = self._totals.get(model, ModelCallTotals())
            self._totals[model] = replace(before, failed=before.failed + 1)
            if self.journal is not None:
                self.journal.note_call_failed(model)

    def map_models_to_call_totals(self) -> Mapping[str, ModelCallTotals]:
        """What each model's calls came to so far."""
        with self._lock:
            return dict(self._totals)

    def _make_budget_error(self, model: str, usd: float) -> BudgetExceeded:
        return BudgetExceeded(
            f"The cost limit of ${self.max_usd:.4f} is reached: ${self._spent:.4f} spent or possibly billed, and the "
            f"next request to {model} may cost ${usd:.4f}.",
            mend="Finished work is kept; repeat the command with a higher limit to continue.",
        )


class NoCallsLedger(Ledger):
    """The ledger of a plan that is only looked at: whoever would send a request is stopped."""

    def try_reserve_usd(self, model: str, usd: float | None) -> BudgetReservation | None:  # noqa: ARG002 - what a ledger hears
        """Refuse to reserve any dollars: ModelError, always."""
        raise ModelError(
            f"A plan sends no requests, so the number of dimensions of {model!r} is unknown.",
            mend="Leave dims= out, or pass dimensions=NUMBER.",
        )
