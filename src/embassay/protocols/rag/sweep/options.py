"""What a command or a call says of a sweep in place of its config."""

from __future__ import annotations

from dataclasses import dataclass

from embassay.protocols.kernel.request import Request, like, option


@dataclass(frozen=True)
class Overrides:
    """What takes the place of the config's where it is given: datasets, queries per dataset, the seed, and rules."""

    datasets: tuple[str, ...] = like(
        Request, "datasets", default=(), help="A retrieval set, in place of the config's.", value="DATA"
    )
    limit: int | None = like(Request, "limit", help="Most queries per dataset, drawn at random.")
    seed: int | None = like(Request, "seed", default=None, help="Random seed. Default: the config's.")
    sla_ms: float | None = option(None, "Best quality within this many milliseconds per query.", least=0)
    budget: float | None = option(
        None, "Best quality within this price per 1,000 queries.", least=0, value="USD"
    )
    target: float | None = option(None, "Fastest and cheapest with at least this quality.")
    exclude_self: bool = option(
        False, "Leave a query's own document out of its ranking.", name="--exclude-self"
    )
