"""What all calls to somebody's server share: pace, retries, failures, keys, and what they cost."""

from semblance.systems.remote.address import Address
from semblance.systems.remote.calls import Answer, Calls, Limits
from semblance.systems.remote.failures import Malformed, Refused
from semblance.systems.remote.home import as_finished, wait_for
from semblance.systems.remote.keys import keyless, read_key, redacted
from semblance.systems.remote.ledger import Ledger, ModelTotals, NoCalls
from semblance.systems.remote.price import Price

__all__ = [
    "Address",
    "Answer",
    "Calls",
    "Ledger",
    "Limits",
    "Malformed",
    "ModelTotals",
    "NoCalls",
    "Price",
    "Refused",
    "as_finished",
    "keyless",
    "read_key",
    "redacted",
    "wait_for",
]
