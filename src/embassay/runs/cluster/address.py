"""Where a cluster is said to be, looked at before Ray itself does: that waits for minutes, and says little."""

from __future__ import annotations

import os
import socket

from embassay.errors import UsageError

_SECONDS = 5.0
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client of HTTP/2, which Ray speaks, begins (RFC 9113, 3.4): with empty settings. A server answers with its own,
whatever it asks for later."""
_SETTINGS = 4


def check_address(address: str) -> None:
    """UsageError where HOST:PORT is none, nothing answers there, or something that is no head of a cluster."""
    if address in ("auto", "local"):
        return
    if "://" in address:
        raise UsageError(
            f"--address {address} is an address of Ray's client or jobs.",
            mend="Run the command on a machine of the cluster, with --address auto or HOST:6379.",
        )
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise UsageError(
            f"--address {address} is no address of a Ray cluster.",
            mend="Write HOST:PORT, as `ray start --head` shows it, or auto on a machine of the cluster.",
        )
    try:
        answered = _answers(host.strip("[]"), int(port))
    except OSError as error:
        raise nobody(address, str(error.strerror or error)) from error
    if not answered:
        raise nobody(address, "what listens there is something else")


def nobody(address: str, why: str) -> UsageError:
    """There is no cluster at this address."""
    where = "runs on this machine" if address == "auto" else f"answers at {address} ({why.rstrip('.')})"
    return UsageError(
        f"No Ray cluster {where}.",
        mend="Start one with `ray start --head`, and give the address that it shows, or auto on one of its machines.",
    )


def _answers(host: str, port: int) -> bool:
    """Whether a server of HTTP/2 is there; behind TLS that cannot be seen so early. OSError where there is none."""
    with socket.create_connection((host, port), timeout=_SECONDS) as there:
        if os.environ.get("RAY_USE_TLS", "0") not in ("", "0", "false"):
            return True
        there.sendall(_HELLO)
        head = b""
        while len(head) < 4:
            more = there.recv(4 - len(head))
            if not more:
                return False
            head += more
    return head[3] == _SETTINGS
