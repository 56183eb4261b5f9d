"""What all calls to somebody's server share: pace, retries, failures, keys, and what they cost."""

from embassay.systems.remote.calls import (
    MalformedServerAnswer,
    ModelServerCalls,
    ServerErrorAnswer,
    ServerReply,
    allow_models_without_keys,
    iterate_finished_jobs,
    read_api_key,
    redact_keys,
    wait_in_remote_loop,
)
from embassay.systems.remote.http import ServerBaseUrl
from embassay.systems.remote.ledger import Ledger, ModelCallTotals, NoCallsLedger, TokenPrice
from embassay.systems.remote.pace import CallLimits

__all__ = [
    "CallLimits",
    "Ledger",
    "MalformedServerAnswer",
    "ModelCallTotals",
    "ModelServerCalls",
    "NoCallsLedger",
    "ServerBaseUrl",
    "ServerErrorAnswer",
    "ServerReply",
    "TokenPrice",
    "allow_models_without_keys",
    "iterate_finished_jobs",
    "read_api_key",
    "redact_keys",
    "wait_in_remote_loop",
]
