"""`python -m tests.stub`: the stub server by hand, until Ctrl-C; prints its address first."""

from __future__ import annotations

import argparse
import contextlib
import threading

from .asking import asking
from .faults import Faults
from .judging import judging
from .paraphrasing import paraphrasing
from .server import StubServer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds of every answer")
    parser.add_argument("--limit", type=int, help="429 above so many requests at once")
    parser.add_argument("--queue", type=int, help="serve so many at once, let others wait")
    parser.add_argument("--faults", type=float, default=0.0, help="share of requests that fail, in every way")
    parser.add_argument("--slow", type=float, default=2.0, help="seconds of a slow answer")
    parser.add_argument("--paraphrase", action="store_true", help="chat models put the last message in other words")
    for what in ("failing", "copying", "long"):
        parser.add_argument(f"--{what}", type=float, default=0.0, help="share of texts, with --paraphrase")
    parser.add_argument("--judge", action="store_true", help="chat models grade and order passages by common words")
    for what in ("malformed", "refusing", "never", "noise"):
        parser.add_argument(f"--{what}", type=float, default=0.0, help="share of answers, with --judge")
    parser.add_argument("--ask", action="store_true", help="chat models write questions about passages")
    parser.add_argument("--bad", type=float, default=0.0, help="share of bad questions of each kind, with --ask")
    given = parser.parse_args()
    faults = Faults.all(given.faults, slow_seconds=given.slow)
    chat = paraphrasing(given.failing, given.copying, given.long) if given.paraphrase else None
    if given.judge:
        chat = judging(malformed=given.malformed, refusing=given.refusing, never=given.never, noise=given.noise)
    if given.ask:
        chat = asking(dict.fromkeys(("unanswerable", "copied", "foreign", "ungrounded", "telling"), given.bad))
    server = StubServer(
        latency=given.latency, limit=given.limit, queue=given.queue, faults=faults, port=given.port, chat=chat
    )
    with server:
        print(server.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


main()
