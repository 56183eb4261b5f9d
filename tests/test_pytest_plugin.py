"""The pytest plugin as a project's own tests use it: in a pytest of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = "pytester"
pytestmark = pytest.mark.slow

SUITE = """
import pytest

@pytest.fixture(scope="session")
def run(embassay):
    return embassay.run("sage", systems=["jaccard"], datasets=["sample"], tasks=["robustness"], tokenizer="words",
                        limit=8)

def test_robust(run):
    assert run.at_least("sage.robustness[jaccard]", 0.0)
    assert run.at_most("sage.robustness[jaccard]", 1.0)

def test_as_good_as_itself(run):
    assert run.no_worse_than(run.path)

def test_too_good(run):
    assert run.at_least("sage.robustness[jaccard]", 0.999)

def test_a_score_that_is_not_there(run):
    assert run.at_least("sage.robustness[other]", 0.1)

@pytest.mark.embassay_dear
def test_dear(embassay):
    raise AssertionError("not on each push")
"""
PLUGIN = ("-p", "no:cacheprovider")


def run_suite(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """The suite in a pytest of its own, which finds the plugin by itself, and nothing of ours."""
    pytester.makepyfile(SUITE)
    return pytester.runpytest_subprocess(*PLUGIN, *arguments)


def test_scores_are_held_and_a_failure_shows_the_gates_table(pytester: pytest.Pytester) -> None:
    """The run is made once, and taken as it is by the next session; dear tests wait to be asked for."""
    result = run_suite(pytester)
    result.assert_outcomes(passed=2, failed=2, skipped=1)
    shown = result.stdout.str()
    assert "sage.robustness[jaccard]>=0.999" in shown
    assert "MISSED" in shown
    assert "other" in shown
    # What is wrong with a name is said at its line; how the package found that out is not.
    assert "protocols/" not in shown
    made = next((Path(pytester.path) / ".embassay").glob("sage-*/items/**/*.parquet"))
    before = made.stat().st_mtime_ns
    run_suite(pytester).assert_outcomes(passed=2, failed=2, skipped=1)
    assert made.stat().st_mtime_ns == before


def test_dear_tests_run_when_asked_and_runs_lie_where_told(pytester: pytest.Pytester) -> None:
    """Both by an option."""
    result = run_suite(pytester, "--embassay-dear", "--embassay-runs", "kept")
    result.assert_outcomes(passed=2, failed=3)
    assert list((Path(pytester.path) / "kept").glob("sage-*/manifest.json"))


def test_nothing_of_the_package_is_imported_for_other_tests(pytester: pytest.Pytester) -> None:
    """A suite that does not ask for the fixture pays for nothing."""
    pytester.makepyfile(
        "import sys\ndef test_light():\n    assert not {'numpy', 'polars', 'embassay.protocols'} & set(sys.modules)"
    )
    result = pytester.runpytest_subprocess(
        "-p", "no:xdist", "-p", "no:hypothesispytest", "-p", "no:langsmith_plugin", "-p", "no:anyio"
    )
    result.assert_outcomes(passed=1)


def test_workers_of_xdist_make_a_run_once(pytester: pytest.Pytester) -> None:
    """The others wait, and read it."""
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_subprocess("-n", "2", *PLUGIN)
    result.assert_outcomes(passed=2, failed=2, skipped=1)
