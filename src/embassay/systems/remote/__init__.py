"""What all calls to somebody's server share: pace, retries, failures, keys, and what they cost."""

from embassay.systems.remote.calls import (
    MalformedServerAnswer,
    ModelServerClient,
    ServerReply,
    ServerStatusError,
    allow_models_without_keys,
    iterate_finished_jobs,
    read_api_key,
    redact_keys,
    run_in_remote_loop_and_wait,
)
from embassay.systems.remote.http import ServerBaseUrl
from embassay.systems.remote.ledger import Ledger, ModelCallTotals, NoCallsLedger, TokenPrice
from embassay.systems.remote.pace import CallLimits

__all__ = [
    "CallLimits",
    "Ledger",
    "MalformedServerAnswer",
    "ModelCallTotals",
    "ModelServerClient",
    "NoCallsLedger",
    "ServerBaseUrl",
    "ServerReply",
    "ServerStatusError",
    "TokenPrice",
    "allow_models_without_keys",
    "iterate_finished_jobs",
    "read_api_key",
    "redact_keys",
    "run_in_remote_loop_and_wait",
]
