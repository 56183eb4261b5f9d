"""A study from its draw to its table, on the command line too: nothing of a person's work is lost."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from embassay.cli.pteb import validation
from embassay.errors import UsageError
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.quantities import forecast_difference_with_more_items
from embassay.protocols.pteb.validation import scoring
from embassay.protocols.pteb.validation.study import read_study
from embassay.runs.folder import RunFolder
from stub import StubServer

_TEXTS = re.compile(r"<text1>\n(.*)\n</text1>\n<text2>\n(.*)\n</text2>", re.DOTALL)


def truth(item):
    """What an attentive person says."""
    return item.expected if item.is_dummy else 3.0 + len(item.text) % 3


def careful(item, rater):
    return truth(item)


def spoilt(item, rater):
    """One rater of French fails a dummy, one of German turns the scale round; all of Swahili is poor."""
    if rater == "fra-rater2" and item.kind == "unrelated":
        return 4.0
    if rater == "deu-rater1" and not item.is_dummy:
        return 5 - truth(item)
    return truth(item) if item.is_dummy or item.lang != "swa" else truth(item) - 3


def table_11(study):
    with (study.path / "tables" / "pteb_table11.csv").open(newline="") as stream:
        return {row["lang"]: row for row in csv.DictReader(stream)}


def test_from_ratings_to_the_table(draw, fill):
    """Means, verdicts, rows and all files; what was drawn is not changed."""
    study = draw()
    fill(study, careful)
    before = {path: path.read_bytes() for path in study.path.rglob("*") if path.is_file()}
    scored = scoring.score_rating_study(read_study(study.path))
    scoring.write_scored_rating_study(scored, command="x")
    assert scored.accepted == ("deu", "fra", "swa")
    rows = table_11(study)
    pairs = [item for item in study.items if item.lang == "fra" and not item.is_dummy]
    assert float(rows["fra"]["mean_similarity"]) == pytest.approx(np.mean([truth(item) for item in pairs]))
    assert (rows["fra"]["n_pairs"], rows["fra"]["n_ratings"]) == ("50", "100")
    assert float(rows["fra"]["alpha"]) == 1
    assert rows["Total"]["verdict"] == "3 of 3 accepted"
    results = {(row.subset, row.measure): row for row in RunFolder(study.path).read_results() if not row.variant}
    assert results["fra", "mean_rating"].value == float(rows["fra"]["mean_similarity"])
    assert results["", "accepted"].value == 1
    assert {path: path.read_bytes() for path in before} == before


def test_planted_bad_raters_are_rejected_and_logged(draw, fill, write_csv):
    """With two models' estimates and the inspector's ratings; the third language is poor, and its raters are not."""
    study = draw()
    fill(study, spoilt)
    estimates = [
        write_csv(
            study.path / f"{judge}.csv",
            [{"pair_id": item.pair_id, "rater_id": judge, "rating": spoilt(item, "")} for item in study.items],
        )
        for judge in ("judge-a", "judge-b")
    ]
    first = scoring.score_rating_study(read_study(study.path), estimates=estimates)
    scoring.write_scored_rating_study(first)
    assert [one.rater_id for one in first.checked.raters if one.fate == "rejected"] == ["fra-rater2"]
    assert first.checked.not_inspected
    assert RunFolder(study.path).read_manifest()["status"] == "partial"

    _inspect(study, {item.pair_id: spoilt(item, "") for item in study.items})
    second = scoring.score_rating_study(read_study(study.path), estimates=estimates)
    scoring.write_scored_rating_study(second)
    fates = {one.rater_id: one.fate for one in second.checked.raters}
    assert [rater for rater, fate in fates.items() if fate == "rejected"] == ["deu-rater1", "fra-rater2"]
    assert second.checked.not_inspected == ()
    rows = table_11(study)
    assert (rows["swa"]["verdict"], rows["fra"]["verdict"], rows["deu"]["verdict"]) == (
        "rejected", "accepted", "accepted",
    )  # fmt: skip
    assert (rows["deu"]["raters_rejected"], rows["deu"]["n_ratings"], rows["deu"]["n_incomplete"]) == (
        "1", "50", "50",
    )  # fmt: skip
    assert rows["Total"]["verdict"] == "2 of 3 accepted"
    log = (study.path / "tables" / "raters.md").read_text("utf-8")
    assert re.search(r"fra-rater2 .*rejected \| rated the unrelated pair fra-\d+ as 4 instead of 0", log)
    assert re.search(r"deu-rater1 .*rejected \| \d+ ratings differ by more than 2 from the inspector's", log)


def _inspect(study, values):
    """The inspector fills in the list that was written."""
    path = study.path / "inspect.csv"
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["inspection"] = f"{values[row['pair_id']]:g}"
        row["translation"] = "as I understand it"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], delimiter=";")
        writer.writeheader()
        writer.writerows(rows)


def test_the_inspector_s_work_is_never_overwritten(draw, fill):
    """The list is not touched when it has all; otherwise rows are added at its end, in its own format."""
    study = draw(pairs=10)
    fill(study, lambda item, rater: truth(item) if item.is_dummy or item.lang != "fra" else 1.0)
    scoring.write_scored_rating_study(scoring.score_rating_study(read_study(study.path)))
    _inspect(study, {item.pair_id: 4.0 for item in study.items})
    path = study.path / "inspect.csv"
    mine = path.read_bytes()
    scoring.write_scored_rating_study(scoring.score_rating_study(read_study(study.path)))
    assert path.read_bytes() == mine
    fill(study, lambda item, rater: truth(item) if item.is_dummy or item.lang == "swa" else 1.0)
    scoring.write_scored_rating_study(scoring.score_rating_study(read_study(study.path)))
    after = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    assert after.startswith(mine)
    assert after.count(b"\r\n") == mine.count(b"\r\n") + 20


def test_ratings_come_out_with_their_key(draw, fill):
    """One file in the shared format with all ratings, those of dummies and rejected raters too."""
    study = draw(pairs=5)
    fill(study, spoilt)
    scoring.write_scored_rating_study(scoring.score_rating_study(read_study(study.path)))
    with (study.path / "ratings.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 3 * 2 * 7
    assert {(row["is_dummy"], row["expected"]) for row in rows} == {("0", ""), ("1", "5"), ("1", "0")}
    key = {item.pair_id: item for item in study.items}
    assert all((row["text"], row["text2"]) == (key[row["pair_id"]].text, key[row["pair_id"]].text2) for row in rows)


def test_blank_ratings_are_counted(draw, fill):
    """Not rated is told; over 5% of the pairs without any, there is no verdict."""
    study = draw(pairs=20)
    blank = {item.pair_id for item in study.items if item.lang == "fra" and not item.is_dummy}
    few = sorted(blank)[:2]
    fill(study, lambda item, rater: None if item.pair_id in few else truth(item))
    scored = scoring.score_rating_study(read_study(study.path))
    assert any("left 4 ratings blank" in one for one in scored.warnings)
    [french] = [one for one in scored.results if one.lang == "fra"]
    assert (french.accepted, french.rated, french.pairs) == (None, 18, 20)
    assert "fra" not in scored.accepted


def test_doubts_about_a_verdict_are_told(draw, fill):
    """The threshold within the interval; raters who agree no better than by chance."""
    study = draw(pairs=20)

    def said(item, rater):
        if item.is_dummy or item.lang != "fra":
            return truth(item)
        return float(np.random.default_rng([int(item.pair_id[-3:]), int(rater[-1])]).integers(1, 6))

    fill(study, said)
    told = scoring.score_rating_study(read_study(study.path)).warnings
    assert "The threshold is within the interval of fra, so other pairs could reverse the verdict." in told
    assert any(one.startswith("The raters of fra may agree no better than chance (alpha ") for one in told)
    assert not any("deu" in one or "swa" in one for one in told if "Fewer pairs" not in one)


def test_without_ratings_there_is_nothing_to_score(draw):
    """A usage error that says where the files are expected."""
    study = draw(pairs=3)
    with pytest.raises(UsageError, match=r"no ratings .* for-raters"):
        scoring.score_rating_study(read_study(study.path))


class Judge:
    """A stub model that knows the truth; `broken` texts get no rating."""

    def __init__(self, study):
        self.values = {frozenset((item.text, item.text2)): truth(item) for item in study.items}
        self.seen = []

    def __call__(self, turn):
        first, second = _TEXTS.fullmatch(turn.last).groups()
        self.seen.append((first, second))
        value = self.values[frozenset((first, second))]
        return "a lot" if value == 3 and "Straße" in first else json.dumps({"score": value})


def test_models_estimate_the_pairs_blind_and_once(draw, fill, monkeypatch):
    """Over HTTP: both orders of a pair come up, failures stay blank and are told; a second time only what failed is
    asked again."""
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    study = draw(pairs=20)
    fill(study, careful)
    judge = Judge(study)
    runner = CliRunner()
    with StubServer(chat=judge) as server:
        spec = f"openai:judge-27b?base_url={server.url}/v1"
        plan = ["score", str(study.path), "--judge", spec, "--dry-run", "--json"]
        told = json.loads(runner.invoke(validation, plan, catch_exceptions=False).stdout)
        assert (told["cells"][0]["items"], told["cells"][0]["requests"], judge.seen) == (66, 66, [])
        done = runner.invoke(validation, ["score", str(study.path), "--judge", spec], catch_exceptions=False)
        assert done.exit_code == 0
        asked = len(judge.seen)
        key = {frozenset((item.text, item.text2)): item for item in study.items}
        turned = [first != key[frozenset((first, second))].text for first, second in set(judge.seen)]
        assert 0.2 < np.mean(turned) < 0.8
        runner.invoke(validation, ["score", str(study.path), "--judge", spec], catch_exceptions=False)
        assert all("Straße" in first for first, _ in judge.seen[asked:])
    assert re.search(r"judge-27b\S* has no estimate for \d+ of 66 pairs", done.output)
    manifest = RunFolder(study.path).read_manifest()
    assert manifest["spent"]["systems"]
    [file] = (study.path / "estimates").iterdir()
    with file.open(encoding="utf-8-sig", newline="") as stream:
        found = [row for row in csv.DictReader(stream) if row["rating"]]
    assert all(float(row["rating"]) == truth(study_item(study, row["pair_id"])) for row in found)


def study_item(study, pair_id):
    return next(item for item in study.items if item.pair_id == pair_id)


def test_a_model_that_estimates_its_own_paraphrases_is_told(draw, fill, write_csv):
    """It would hardly disagree."""
    study = draw(pairs=3)
    fill(study, careful)
    rows = [{"pair_id": item.pair_id, "rater_id": "openai:writer", "rating": "4"} for item in study.items]
    scored = scoring.score_rating_study(read_study(study.path), estimates=[write_csv(study.path / "e.csv", rows)])
    assert "openai:writer rates its own paraphrases." in scored.warnings


def test_the_command_line(paraphrases, tmp_path, fill):
    """From a set to a study to a table; as JSON on demand."""
    runner = CliRunner()
    out = tmp_path / "out"
    arguments = ["sample", str(paraphrases.path), "--langs", "fra,deu", "--pairs", "12", "--out", str(out)]
    done = runner.invoke(validation, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert "24 pairs drawn for 2 ratings each; the rules are fixed." in done.output
    study = read_study(out)
    assert study.facts["sha256"]["rules.json"] in done.output
    fill(study, spoilt)
    done = runner.invoke(validation, ["score", str(out)], catch_exceptions=False)
    assert "2 of 2 languages accepted (mean rating of 3 or more)." in done.output or "rejected: deu" in done.output
    assert "fra-rater2 rejected: rated the unrelated pair" in done.output
    done = runner.invoke(validation, ["score", str(out), "--json"], catch_exceptions=False)
    rows = json.loads(done.stdout)["results"]
    assert {row["task"] for row in rows} == {"validation"}


def test_more_pairs_are_told_of_where_others_could_turn_a_verdict(draw, fill):
    """French is rated around the bar, the others far above it; two ratings of a pair cost twice a label."""
    study = draw(pairs=12)
    fill(study, lambda item, _: truth(item) if item.is_dummy or item.lang != "fra" else 2.0 + 2 * (hash_of(item) % 2))
    scored = scoring.score_rating_study(read_study(study.path))
    mean = next(one.mean for one in scored.results if one.lang == "fra")
    assert mean.low <= 3 <= mean.high
    said = CliRunner().invoke(validation, ["score", str(study.path), "--label-price", "0.5"]).output
    first = forecast_difference_with_more_items(mean.value - 3, (mean.high - mean.low) / 2, 12)[0]
    line = next(one for one in said.splitlines() if one.startswith("fra: 50 more"))
    assert line.split()[3:] == [
        "about",
        "100",
        "$50.00",
        "±",
        f"{first.half:.3f}",
        numbers.format_percent(first.chance),
    ]
    assert "deu: 50 more" not in said


def hash_of(item):
    """A number by the words of a pair."""
    return sum(map(ord, item.text))


def test_a_judge_of_all_pairs_is_corrected_by_the_people_of_some(draw, fill):
    """Half of French is rated: the mean of all pairs by the judge's ratings, in rows, tables and on the terminal."""
    study = draw()
    french = [item for item in study.items if item.lang == "fra" and not item.is_dummy]
    half = {item.pair_id for item in french[::2]}
    fill(study, lambda item, _: None if item in french and item.pair_id not in half else truth(item))
    path = study.path / "judge.csv"
    rows = [{**item.as_dict(), "rater_id": "judge", "rating": min(5.0, truth(item) + 0.5)} for item in study.items]
    scoring.write_rating_table(path, rows)
    scored = scoring.score_rating_study(read_study(study.path), estimates=[path])
    scoring.write_scored_rating_study(scored, command="x")
    found = {one.lang: one.mean for one in scored.corrected}
    assert set(found) == {"", "deu", "fra", "swa"}
    mean = found["fra"]
    assert (mean.n, mean.total) == (len(half), len(french))
    assert mean.low <= np.mean([truth(item) for item in french]) <= mean.high
    assert mean.judge > mean.value
    told = {row.lang: row for row in RunFolder(study.path).read_results() if row.measure == "mean_corrected"}
    assert told["fra"].value == mean.value
    assert (study.path / "tables" / "corrected_judges.csv").exists()
    said = CliRunner().invoke(validation, ["score", str(study.path), "--estimates", str(path)])
    assert said.exit_code == 0, said.output
    assert "Corrected, 95%" in said.output


def test_a_judge_is_looked_at_by_language(draw, fill):
    """It is a point too low in French alone: so it is told of all languages together, of each language by itself it
    isn't told apart, and the table has the same."""
    study = draw()
    fill(study, lambda item, _: truth(item))
    above = {"fra": -1.0}
    path = study.path / "judge.csv"
    rows = [
        {**item.as_dict(), "rater_id": "judge", "rating": truth(item) + above.get(item.lang, 0.0)}
        for item in study.items
        if not item.is_dummy
    ]
    scoring.write_rating_table(path, rows)
    scored = scoring.score_rating_study(read_study(study.path), estimates=[path])
    scoring.write_scored_rating_study(scored, command="x")
    off = {one.lang: {bias.said: bias for bias in one.off} for one in scored.corrected}
    together, langs = off[""], set(off) - {""}
    assert "fra" in langs
    assert langs <= set(together)
    for lang in langs:
        assert together[lang].mean == pytest.approx(above.get(lang, 0.0))
        assert together[lang].n == off[lang]["all"].n
        assert not langs & set(off[lang])
    assert sum(together[lang].n for lang in langs) == together["all"].n
    table = (study.path / "tables" / "judge_bias.csv").read_text().splitlines()
    assert len(table) == 1 + sum(map(len, off.values()))
