"""Where settings are from, and which wins."""

import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.rag.golden.options import (
    list_settings_for_manifest,
    make_golden_request,
    resolve_golden_settings,
)

NAMED = {"encoder": "wordllama", "judge": "simulated:x", "dataset": "sample"}


def settle(tmp_path, given=None, **more):
    return resolve_golden_settings(
        {**NAMED, **(given or {})}, environment=more.pop("environment", {}), here=tmp_path, **more
    )


def test_each_place_wins_over_the_ones_before(tmp_path):
    """defaults < local file < profile < environment < command line, and the snapshot says which it was."""
    (tmp_path / "embassay.toml").write_text(
        "[golden]\ndepth = 10\nrrf_c = 10\nminimum = 10\ntop = 10\n[other]\nx = 1\n"
    )
    (tmp_path / "mine.toml").write_text("[golden]\nrrf_c = 20\nminimum = 20\ntop = 20\n")
    found = settle(
        tmp_path, {"top": 40}, profile=str(tmp_path / "mine.toml"),
        environment={"EMBASSAY_GOLDEN_MINIMUM": "30", "EMBASSAY_GOLDEN_TOP": "30", "HOME": "/"},
    )  # fmt: skip
    options = make_golden_request(found).options
    assert (options.depth, options.rrf_c, options.minimum, options.top) == (10, 20, 30, 40)
    told = {name: one["from"] for name, one in list_settings_for_manifest(found).items()}
    assert (told["depth"], told["minimum"], told["top"], told["overlap"]) == (
        "embassay.toml", "EMBASSAY_GOLDEN_MINIMUM", "command line", "default",
    )  # fmt: skip
    assert told["rrf_c"].startswith("profile ")


def test_the_two_profiles_of_the_spec(tmp_path):
    """fast: depth 20, c 30, stability 5, confirmations 1, batch 8; thorough is the defaults."""
    fast = make_golden_request(settle(tmp_path, {"ranking": "locks"}, profile="fast"))
    assert (fast.options.depth, fast.options.rrf_c) == (20, 30)
    assert fast.ranking_engine_spec == "locks:batch=8,confirmations=1,stability_turns=5"
    thorough = make_golden_request(settle(tmp_path, {"ranking": "locks"}, profile="thorough"))
    assert (thorough.options.depth, thorough.options.rrf_c, thorough.ranking_engine_spec) == (50, 60, "locks")


def test_a_file_or_the_environment_may_name_the_profile(tmp_path):
    """The environment's wins; the file's own settings lie below its profile's."""
    (tmp_path / "embassay.toml").write_text('[golden]\nprofile = "fast"\ndepth = 7\n')
    assert settle(tmp_path)["depth"].value == 20
    told = settle(tmp_path, environment={"EMBASSAY_GOLDEN_PROFILE": "thorough"})
    assert told["depth"].value == 7


def test_the_text_of_a_ranking_wins_over_knobs(tmp_path):
    """Only knobs that the ranking has are used; one that somebody asked for and it lacks is an error."""
    given = {"ranking": "locks:batch=4", "batch": 6, "confirmations": 3}
    assert make_golden_request(settle(tmp_path, given)).ranking_engine_spec == "locks:batch=4,confirmations=3"
    assert make_golden_request(settle(tmp_path, {"ranking": "grades"}, profile="fast")).ranking_engine_spec == "grades"
    with pytest.raises(UsageError, match=r"no option confirmations \(source: command line\)"):
        make_golden_request(settle(tmp_path, {"ranking": "grades", "confirmations": 3}))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[golden]\ndepht = 3\n", "no setting 'depht'.*Did you mean 'depth'"),
        ('[golden]\ndepth = "many"\n', "depth is 'many'"),
        ("[golden]\ndepth = 0\n", "depth is 0"),
        ('[golden]\nfailed = "grade"\n', "failed"),
        ("golden = 3\n", "golden is not a table"),
        ("[golden\n", "is not valid TOML"),
        ("[golden]\nchunk = 100\noverlap = 80\n", "cannot overlap by 80"),
        ("[golden]\nhuman = 1.5\n", "human is 1.5"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(tmp_path, text, error):
    """Names with the nearest one, values with what they are."""
    (tmp_path / "embassay.toml").write_text(text)
    with pytest.raises((UsageError, DataError), match=error):
        make_golden_request(settle(tmp_path))


@pytest.mark.parametrize(
    ("environment", "error"),
    [
        ({"EMBASSAY_GOLDEN_DEPHT": "3"}, "EMBASSAY_GOLDEN_DEPHT.*EMBASSAY_GOLDEN_DEPTH"),
        ({"EMBASSAY_GOLDEN_DEPTH": "x"}, "EMBASSAY_GOLDEN_DEPTH is 'x'"),
    ],
)
def test_what_is_wrong_in_the_environment_is_said(tmp_path, environment, error):
    """As in files."""
    with pytest.raises(UsageError, match=error):
        settle(tmp_path, environment=environment)


def test_files_that_are_named_must_be_there(tmp_path):
    """The local one need not."""
    with pytest.raises(UsageError, match="--config"):
        settle(tmp_path, config=tmp_path / "gone.toml")
    with pytest.raises(UsageError, match="Did you mean fast"):
        settle(tmp_path, profile="fastt")
