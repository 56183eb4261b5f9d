"""What all calls to somebody's server share: pace, retries, failures, keys, and what they cost."""

from embassay.systems.remote.calls import (
    MalformedAnswer,
    ServerCalls,
    ServerRefusal,
    ServerReply,
    iterate_finished_jobs,
    open_without_keys,
    read_api_key,
    redact_keys,
    wait_in_remote_loop,
)
from embassay.systems.remote.http import ServerBaseUrl
from embassay.systems.remote.ledger import Ledger, ModelTotals, NoCallsLedger, Price
from embassay.systems.remote.pace import CallLimits

__all__ = [
    "CallLimits",
    "Ledger",
    "MalformedAnswer",
    "ModelTotals",
    "NoCallsLedger",
    "Price",
    "ServerBaseUrl",
    "ServerCalls",
    "ServerRefusal",
    "ServerReply",
    "iterate_finished_jobs",
    "open_without_keys",
    "read_api_key",
    "redact_keys",
    "wait_in_remote_loop",
]
