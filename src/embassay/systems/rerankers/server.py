"""What rerankers behind a vendor's JSON endpoint share: requests of bounded size, paced, checked and paid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.systems.models import find_known_model
from embassay.systems.remote import Ledger, MalformedServerAnswer, ModelServerClient, ServerReply, iterate_finished_jobs
from embassay.systems.remote.http import ModelApiVendor, ModelServerSettings, VendorConnection
from embassay.systems.remote.ledger import (
    BookedTokenCount,
    count_or_bound_tokens,
    estimate_most_server_tokens,
    estimate_server_tokens,
    make_usage_from_booked_tokens,
)

Scores = NDArray[np.float32]
_DOCUMENTS = 1000


class HttpPostReranker(ABC):
    """A reranker whose subclass says where to post (`path`), what (`payload`), and what the answer means (`read`).

    Lists of more than 1000 documents go in several requests. A blank document is not sent, as vendors refuse
    it, and gets a score below all others.
    """

    path: str
    pairwise = True
    skips_blank = True
    chunk_size = _DOCUMENTS

    def __init__(
        self,
        vendor: ModelApiVendor,
        target: str,
        server: ModelServerSettings,
        ledger: Ledger | None,
        *,
        name: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        if not target:
            raise UsageError(
                f"The reranker {vendor.spec!r} needs the name of a model.", mend=f"Write {vendor.spec}:MODEL."
            )
        self.connection = VendorConnection.of(vendor, server)
        self.target = target
        self.name = name or f"{vendor.spec}:{target}"
        settings = [f"{key}={value}" for key, value in (facts or {}).items()]
        self.identity = ":".join(
            ["reranker", vendor.spec, target, server.describe_server_identity(self.connection.address), *settings]
        )
        self._given_price = server.price
        self._calls = ModelServerClient(f"{vendor.spec}:{target}", ledger, server.limits)

    @abstractmethod
    def build_request_payload(self, query: str, documents: Sequence[str]) -> dict[str, Any]:
        """The body of a request for the scores of `documents`."""

    @abstractmethod
    def read(self, answer: Any) -> tuple[Sequence[Any], int | None]:
        """The scored results, each with `index` and `relevance_score`, and the tokens that the server counted.
        LookupError, TypeError or ValueError where the answer holds none."""

    def usd(self, tokens: int, documents: int) -> float | None:  # noqa: ARG002 - some charge for these
        """The price of a request in dollars; None where it is not known."""
        row = find_known_model(self.target)
        listed = row.usd_per_million_input if row else None
        price = self._given_price if self._given_price is not None else listed
        return None if price is None else tokens * price / 1e6

    def score(self, query: str, documents: Sequence[str]) -> Scores:
        """The server's scores, (n,), higher is better. ModelError when a call fails for good, TextRefused when it
        does for its texts, BudgetExceeded when the money is used up."""
        sent = [position for position, document in enumerate(documents) if document.strip()]
        parts = [sent[start : start + _DOCUMENTS] for start in range(0, len(sent), _DOCUMENTS)]
        jobs = [partial(self._request_rerank_scores, query, [documents[i] for i in part]) for part in parts]
        scores = np.full(len(documents), np.nan, dtype=np.float32)
        for number, answer in iterate_finished_jobs(jobs, at_once=len(jobs) or 1):
            scores[parts[number]] = answer
        lowest = np.nanmin(scores) if sent else np.float32(1)
        return np.where(np.isnan(scores), lowest - 1, scores)  # a fixed step: no vendor's scale is known

    async def _request_rerank_scores(self, query: str, documents: Sequence[str]) -> Scores:
        tokens = sum(count_or_bound_tokens([query, *documents], None)) + len(query.encode()) * len(documents)
        most = estimate_most_server_tokens([query] * len(documents) + list(documents))

        async def send_request() -> ServerReply[Scores]:
            answer = await self.connection.post(self.path, self.build_request_payload(query, documents))
            try:
                results, counted = self.read(answer)
                scores = order_scores_by_document(results, len(documents))
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                raise MalformedServerAnswer("the answer does not score every document once") from None
            if not np.isfinite(scores).all():
                raise MalformedServerAnswer("scores that are not finite", of_texts=True)
            read = BookedTokenCount.of(counted, most=most, likely=estimate_server_tokens([query, *documents]))
            return ServerReply(
                scores, make_usage_from_booked_tokens(read, usd=lambda tokens, _: self.usd(tokens, len(documents)))
            )

        return await self._calls.do(send_request, tokens=tokens, usd=self.usd(most, len(documents)))


def order_scores_by_document(results: Sequence[Mapping[str, Any]], n: int) -> Scores:
    """The scores in the order of the documents; ValueError unless each of the n has one.

    >>> order_scores_by_document([{"index": 1, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.25}],
    ... 2).tolist()
    [0.25, 0.5]
    """
    scores = {int(result["index"]): float(result["relevance_score"]) for result in results}
    if len(results) != n or sorted(scores) != list(range(n)):
        raise ValueError("not one score for each document")
    return np.array([scores[index] for index in range(n)], dtype=np.float32)


def read_total_tokens(answer: Any) -> int | None:
    """`usage.read_total_tokens`, where Voyage and Jina put what they charge for."""
    tokens = (answer.get("usage") or {}).get("total_tokens")
    return None if tokens is None else int(tokens)
