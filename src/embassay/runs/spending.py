"""What a run has paid for, kept so that neither a kill nor a resume forgets or doubles it.

`spending.jsonl` in the run's folder gets a line before a request is sent and one when it has ended. A request
that was in flight when its process died may be billed or not: the most that it could cost is told as possibly
billed. A session that ends in order leaves one line per account.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from threading import RLock
from time import sleep
from types import NoneType
from typing import Any

from embassay.contracts import Usage
from embassay.limits import parse_json_written_by_embassay
from embassay.runs.folder import format_value_as_json, write_json_lines

_PATIENCE = 40
"""Times that the end of a session looks whether given-up requests are settled."""


@dataclass(frozen=True)
class CallSpendingTotals:
    """What calls came to: `requests` sent, `retries` among them, calls that `failed` for good, tokens, `usd` billed
    (None where a price is not known), `seconds` spent waiting for answers, summed over requests that waited side by
    side; `unsettled` requests were in flight when a process died; `texts` were encoded and kept. `possible_usd` may be
    billed beside `usd`: for requests that were sent and brought nothing, for the unsettled ones, and for the
    `estimated` ones, whose tokens the server did not count."""

    requests: int = 0
    retries: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    unsettled: int = 0
    texts: int = 0
    possible_usd: float = 0.0
    estimated: int = 0

    def __add__(self, other: CallSpendingTotals) -> CallSpendingTotals:
        return _add_or_subtract_spending_totals(self, other, 1)

    def subtract_earlier_amounts(self, before: CallSpendingTotals) -> CallSpendingTotals:
        """What was spent after `before`, an earlier state of the same account."""
        return _add_or_subtract_spending_totals(self, before, -1)


def _add_or_subtract_spending_totals(
    spent: CallSpendingTotals, other: CallSpendingTotals, sign: int
) -> CallSpendingTotals:
    """Combine amounts spent, field by field; an unknown price makes an unknown sum."""
    pairs = {
        field.name: (getattr(spent, field.name), getattr(other, field.name)) for field in fields(CallSpendingTotals)
    }
    sums: dict[str, Any] = {name: None if None in pair else pair[0] + sign * pair[1] for name, pair in pairs.items()}
    return CallSpendingTotals(**sums)


Book = dict[tuple[str, str], CallSpendingTotals]
"""What was spent by session and account."""


class RunSpendingJournal:
    """The journal of a run's ledger: see `contracts.Journal`.

    `session` names this attempt at the run, by its start. Calls are charged to `account` (the system in work),
    or to the model where there is none. Nothing is written before the first call.
    """

    def __init__(self, path: Path, session: str) -> None:
        self.path, self.session = path, session
        self.account = ""
        self._book: Book = _sum_spending_by_session_and_account(_read_journal_lines(path))
        self._open: dict[int, tuple[str, float]] = {}
        self._file: int | None = None
        self._begun = False
        # Answers are settled in the thread of the calls, kept vectors counted in that of the work.
        self._lock = RLock()

    @property
    def usd(self) -> float:
        """Dollars billed to all sessions so far; what has no known price counts nothing."""
        # A list, as the thread of the calls may add an account meanwhile.
        return sum(spent.usd or 0.0 for spent in list(self._book.values()))

    @property
    def possibly_billed_usd(self) -> float:
        """Dollars that may be billed beside them."""
        return sum(spent.possible_usd for spent in list(self._book.values()))

    @property
    def usd_counted_by_limit(self) -> float:
        """Dollars that a limit counts: billed, or possibly."""
        return self.usd + self.possibly_billed_usd

    @property
    def reserved_usd(self) -> float:
        """Dollars held aside for requests that are in flight now."""
        return sum(usd for _, usd in list(self._open.values()))

    def sum_spending_by_account(self, session: str | None = None) -> dict[str, CallSpendingTotals]:
        """What each account has spent, in all sessions or in one."""
        accounts: dict[str, CallSpendingTotals] = {}
        for (of_session, account), spent in list(self._book.items()):
            if session in (None, of_session):
                accounts[account] = accounts.get(account, CallSpendingTotals()) + spent
        return accounts

    def note_request_reserved(self, number: int, model: str, usd: float) -> None:
        """Note that a request is about to be sent, and reserve its dollars."""
        self._open[number] = self.account or model, usd
        self._write_journal_line({"open": number, "account": self._open[number][0], "usd": usd})

    def note_request_settled(self, number: int, model: str, usage: Usage, *, retry: bool, seconds: float) -> None:
        """Note that a request was answered, or refused."""
        spent = CallSpendingTotals(
            1,
            int(retry),
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            usd=usage.usd,
            possible_usd=usage.possible_usd,
            estimated=usage.estimated,
        )
        self._record_request_spending(number, model, spent, seconds)

    def note_request_unanswered(
        self, number: int, model: str, usd: float | None, *, retry: bool, seconds: float
    ) -> None:
        """Note that a request was sent and brought nothing that can be used."""
        spent = CallSpendingTotals(1, int(retry), usd=None if usd is None else 0.0, possible_usd=usd or 0.0)
        self._record_request_spending(number, model, spent, seconds)

    def _record_request_spending(self, number: int, model: str, spent: CallSpendingTotals, seconds: float) -> None:
        account, _ = self._open.pop(number, (model, 0.0))
        whole = replace(spent, seconds=round(seconds, 4))
        self._count_and_write_journal_line({"closed": number, "account": account, **asdict(whole)})

    def note_request_released(self, number: int) -> None:
        """Note that a reserved request was never sent."""
        self._open.pop(number, None)
        self._write_journal_line({"closed": number})

    def note_call_failed(self, model: str) -> None:
        """Note that a call has failed for good."""
        self._count_and_write_journal_line({"account": self.account or model, "failed": 1})

    def journal_encoded_text_count(self, texts: int) -> None:
        """So many texts have their vectors, and these are kept."""
        self._count_and_write_journal_line({"account": self.account, "texts": texts})

    def close(self) -> None:
        """End the session: one line per session and account is left, unless a request is still in flight."""
        # Requests that were given up are settled in their own thread, a moment later.
        for _ in range(_PATIENCE if self._open else 0):
            sleep(0.05)
            if not self._open:
                break
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None
                if not self._open:
                    self._compact_journal()

    def _compact_journal(self) -> None:
        rows = ({"session": session, "account": account, **asdict(spent)}
                for (session, account), spent in self._book.items())  # fmt: skip
        write_json_lines(self.path, rows)

    def _count_and_write_journal_line(self, line: dict[str, Any]) -> None:
        key = self.session, line["account"]
        with self._lock:
            self._book[key] = self._book.get(key, CallSpendingTotals()) + _read_spent_amounts(line)
            self._write_journal_line(line)

    def _write_journal_line(self, line: Mapping[str, Any]) -> None:
        with self._lock:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            if not self._begun:
                self._begun = True
                line = {"session": self.session, "begun": True, **line}
            # In one write: a killed process leaves whole lines.
            os.write(self._file, (format_value_as_json(line) + "\n").encode())


def _read_journal_lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_bytes().splitlines():
        try:
            row = parse_json_written_by_embassay(line)
            whole = isinstance(row, dict) and _is_complete_journal_entry(row)
        except ValueError:  # the end of a full disk
            continue
        if whole:
            yield row


def _is_complete_journal_entry(line: Mapping[str, Any]) -> bool:
    """Whether every field is of its kind, and the fields are there that belong to an open request."""
    numbers = {"open", "closed", *asdict(CallSpendingTotals())}
    for name, value in line.items():
        kind: Any = (int, float, NoneType) if name == "usd" else (int, float) if name in numbers else object
        if not isinstance(value, kind) or (name in ("session", "account") and not isinstance(value, str)):
            return False
    return "open" not in line or {"account", "usd"} <= line.keys()


def _sum_spending_by_session_and_account(lines: Iterable[Mapping[str, Any]]) -> Book:
    """The book that the lines of dead sessions add up to."""
    book: Book = {}
    session, in_flight = "", dict[int, Mapping[str, Any]]()

    def add_spending_to_account(account: str, spent: CallSpendingTotals) -> None:
        book[session, account] = book.get((session, account), CallSpendingTotals()) + spent

    def book_in_flight_calls_of_dead_session() -> None:
        for line in in_flight.values():
            add_spending_to_account(
                line["account"], CallSpendingTotals(requests=1, possible_usd=line["usd"] or 0.0, unsettled=1)
            )
        in_flight.clear()

    for line in lines:
        # Numbers of requests begin anew with a session: what is open then was of one that died.
        if line.get("begun"):
            book_in_flight_calls_of_dead_session()
        session = line.get("session", session)
        if "open" in line:
            in_flight[line["open"]] = line
            continue
        in_flight.pop(line.get("closed", 0), None)
        if "account" in line:
            add_spending_to_account(line["account"], _read_spent_amounts(line))
    book_in_flight_calls_of_dead_session()
    return book


def _read_spent_amounts(line: Mapping[str, Any]) -> CallSpendingTotals:
    return CallSpendingTotals(**{name: line[name] for name in asdict(CallSpendingTotals()) if name in line})


def summarise_spending(spent: Mapping[str, Any]) -> str:
    """Summarise what a manifest's `spent` comes to; empty where nothing was sent.

    >>> summarise_spending({"usd": 0.0125, "max_usd": 2.0, "systems": {"a": {"requests": 12, "input_tokens": 3400}}})
    'Spent $0.0125 of $2.00, in 12 requests with 3,400 tokens.'
    """
    requests = sum(system["requests"] for system in spent["systems"].values())
    if not requests:
        return ""
    tokens = sum(system["input_tokens"] + system.get("output_tokens", 0) for system in spent["systems"].values())
    limit = f" of {format_dollars(spent['max_usd'])}" if spent["max_usd"] is not None else ""
    money = "an unknown amount (give price=)" if spent["usd"] is None else format_dollars(spent["usd"])
    estimated = sum(system.get("estimated", 0) for system in spent["systems"].values())
    about = "about " if estimated else ""
    if estimated and spent["usd"]:
        money = f"about {money}"
    sentences = [f"Spent {money}{limit}, in {requests:,} requests with {about}{tokens:,} tokens."]
    if estimated:
        sentences.append(f"The server did not count the tokens of {estimated:,} requests, so they are estimated.")
    unsettled = sum(system.get("unsettled", 0) for system in spent["systems"].values())
    died = f", {unsettled} of them in flight when a process died" if unsettled else ""
    if possible := spent.get("possible_usd", 0.0):
        unsure = "requests without a usable answer" + (" or a count of their tokens" if estimated else "")
        sentences.append(f"Up to {format_dollars(possible)} more may be billed for {unsure}{died}.")
    elif died:
        sentences.append(f"Requests in flight when a process died: {unsettled}.")
    if reserved := spent.get("reserved_usd", 0.0):
        sentences.append(f"{format_dollars(reserved)} is reserved for requests in flight.")
    return " ".join(sentences)


def format_dollars(usd: float | None) -> str:
    """An amount of money, fine where it is small; `price unknown` for None.

    >>> [format_dollars(usd) for usd in (0.0, 0.00001, 0.00123, 12.5, None)]
    ['$0', 'under $0.0001', '$0.0012', '$12.50', 'price unknown']
    """
    if usd is None:
        return "price unknown"
    if 0 < usd < 0.0001:
        return "under $0.0001"
    return "$0" if usd == 0 else f"${usd:,.4f}" if usd < 1 else f"${usd:,.2f}"
