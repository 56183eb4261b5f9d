"""What all calls to somebody's server share: pace, retries, failures, keys, and what they cost."""

from embassay.systems.remote.calls import (
    Calls,
    Malformed,
    Refused,
    ServerReply,
    as_finished,
    open_without_keys,
    read_key,
    redact_keys,
    wait_for,
)
from embassay.systems.remote.http import Address
from embassay.systems.remote.ledger import Ledger, ModelTotals, NoCalls, Price
from embassay.systems.remote.pace import Limits

__all__ = [
    "Address",
    "Calls",
    "Ledger",
    "Limits",
    "Malformed",
    "ModelTotals",
    "NoCalls",
    "Price",
    "Refused",
    "ServerReply",
    "as_finished",
    "open_without_keys",
    "read_key",
    "redact_keys",
    "wait_for",
]
