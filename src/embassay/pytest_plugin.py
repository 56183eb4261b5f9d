"""Scores in a test suite: `assert run.at_least("sage.sensitivity[mine]", 0.8)`, as `embassay gate` would judge.

pytest finds this by itself where Embassay is installed. A run is opened, or made, once a session:

    def test_my_model(embassay):
        run = embassay.run("sage", systems=["mine"], datasets=["pairs.csv"])
        assert run.at_least("sage.sensitivity[mine]", 0.8, end="lower")
        assert run.no_worse_than("runs/released")

Nothing of the package is imported before a test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

import pytest

if TYPE_CHECKING:
    from embassay.protocols.gate import QualityGateResult

P = ParamSpec("P")
T = TypeVar("T")
End = Literal["value", "lower", "upper"]
_POLL = 0.2
_DEAR = "embassay_dear"


def _wrap_hiding_package_frames(method: Callable[P, T]) -> Callable[P, T]:
    """The method, whose errors about what the user gave are told by their message at the user's line: how they came
    about within the package helps nobody."""

    @wraps(method)
    def call_hiding_frames(*given: P.args, **named: P.kwargs) -> T:
        from embassay.errors import EmbassayError

        # pytest leaves frames with this variable out of its traceback.
        __tracebackhide__ = True
        try:
            return method(*given, **named)
        except EmbassayError as error:
            raise error.with_traceback(None) from None

    return call_hiding_frames


class RunWithScoreGates:
    """A finished run; each question to it is a gate of its own, which is true or fails with the gate's table."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @_wrap_hiding_package_frames
    def at_least(self, score: str, number: float, *, end: End = "value") -> bool:
        """True where a score, or an `end` of its 95% interval, is at least the number. AssertionError with the gate's
        table where it is not, or has no value to test; UsageError for a score that the run does not have."""
        __tracebackhide__ = True
        return self._assert_run_meets_condition(f"{score}>={number!r}", end)

    @_wrap_hiding_package_frames
    def at_most(self, score: str, number: float, *, end: End = "value") -> bool:
        """True where a score, or an `end` of its 95% interval, is at most the number."""
        __tracebackhide__ = True
        return self._assert_run_meets_condition(f"{score}<={number!r}", end)

    @_wrap_hiding_package_frames
    def no_worse_than(self, earlier: str | Path, **arguments: Any) -> bool:
        """True where no system is worse than in an earlier run, by paired tests; `arguments` are those of
        `embassay.gate`: alpha, margin, names, systems, tasks, measures."""
        from embassay import gate

        __tracebackhide__ = True
        return _assert_gate_passes(gate(self.path, no_worse_than=earlier, **arguments))

    def _assert_run_meets_condition(self, bar: str, end: End) -> bool:
        from embassay import gate

        __tracebackhide__ = True
        return _assert_gate_passes(gate(self.path, bar if end == "value" else f"{bar}@{end}"))


def _assert_gate_passes(gate: QualityGateResult) -> bool:
    __tracebackhide__ = True
    # Raised here and not left to `assert`, which would show the table as one escaped line.
    if not gate.passed:
        raise AssertionError(f"\n{gate}")
    return True


class PytestSessionRuns:
    """Runs of a test session: each is opened or made once, under the folder of `--embassay-runs`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @_wrap_hiding_package_frames
    def open(self, path: str | Path) -> RunWithScoreGates:
        """A run that is there. DataError for a folder without one."""
        from embassay import open_run

        return RunWithScoreGates(Path(open_run(path).path))

    @_wrap_hiding_package_frames
    def run(self, protocol: str, **arguments: Any) -> RunWithScoreGates:
        """The run of a protocol (`sage`, `pteb`, `hteb`) with the arguments of its `run` in Python. It is made where it
        is not there yet; one of the same arguments is taken as it is, and workers of xdist wait for the first."""
        import embassay

        made: Callable[..., Any] = getattr(embassay, protocol).run
        out = self.folder / f"{protocol}-{_digest_arguments(arguments)}"
        return RunWithScoreGates(Path(_run_under_file_lock(out, lambda: made(out=out, **arguments)).path))


def _digest_arguments(arguments: dict[str, Any]) -> str:
    from embassay.runs.folder import digest_json

    return digest_json({name: repr(value) for name, value in arguments.items()})[:12]


def _run_under_file_lock(out: Path, make: Callable[[], Any]) -> Any:
    """What `make` gives, by one process at a time: another one's run is waited for, and then only read."""
    from filelock import FileLock

    out.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(out.with_suffix(".lock"), poll_interval=_POLL):
        return make()


@pytest.fixture(scope="session")
def embassay(request: pytest.FixtureRequest) -> PytestSessionRuns:
    """Runs to hold against thresholds, made once a session."""
    given = request.config.getoption("--embassay-runs")
    return PytestSessionRuns(Path(given) if given else request.config.rootpath / ".embassay")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for the folder of runs, and for whether dear tests run."""
    group = parser.getgroup("embassay")
    group.addoption("--embassay-runs", metavar="DIR", help="folder for the runs that tests create (default: .embassay)")
    group.addoption("--embassay-dear", action="store_true", help="also run tests marked embassay_dear")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of tests that take too long, or cost too much, for each push."""
    config.addinivalue_line("markers", f"{_DEAR}: too expensive for every push; needs --embassay-dear")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is dear, unless it is asked for."""
    if config.getoption("--embassay-dear"):
        return
    for item in items:
        if item.get_closest_marker(_DEAR):
            item.add_marker(pytest.mark.skip(reason="expensive: runs only with --embassay-dear"))
