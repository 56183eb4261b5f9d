"""A server for tests that speaks the vendors' languages over real HTTP, with faults on demand.

    with StubServer(latency=0.02, faults=Faults(refused=0.1)) as stub:
        open_system(f"openai:stub-model?base_url={stub.url}/v1")

By hand, from the checkout: `python -m tests.stub --port 8089 --latency 0.2`.

A vendor is one module with a table `ROUTES`: (method, path pattern) to a function from a `Request` to the body
of its answer; name it in `vendors.py`.
"""

from .faults import Faults
from .server import StubServer
from .wire import Problem, Request

__all__ = ["Faults", "Problem", "Request", "StubServer"]
