"""The `embassay` command by a process that has imported it (`warm_server.py`), or by a Python of its own where there
is none, or it declines: `python -SE warm_client.py ARGUMENTS`, with the server's socket in $EMBASSAY_WARM."""

import os
import signal
import sys


def main() -> None:
    path = os.environ.get("EMBASSAY_WARM", "")
    if not path or "serve" in sys.argv:
        cold()
    import json
    import socket

    asked = {
        "arguments": sys.argv[1:],
        "folder": os.getcwd(),  # noqa: PTH109 - pathlib would take longer than all the rest
        "environment": {name: value for name, value in os.environ.items() if name != "EMBASSAY_WARM"},
    }
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(path)
        except OSError:
            cold()
        data = json.dumps(asked).encode() + b"\0"
        sent = socket.send_fds(server, [data], [0, 1, 2])
        server.sendall(data[sent:])
        answers = server.makefile("rb")
        first = answers.readline()
        if not first.strip().isdigit():
            cold()
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(one, lambda number, _: os.kill(int(first), number))
        code = int(answers.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def cold() -> None:
    """Python itself, in the place of this process."""
    os.environ.pop("EMBASSAY_WARM", None)
    os.execv(sys.executable, [sys.executable, "-m", "embassay", *sys.argv[1:]])


main()
