"""Published results as an ordinary run."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.errors import DataError, UsageError
from embassay.interchange import export
from embassay.protocols.compare import compare_systems, read_comparable_run
from embassay.protocols.kernel.comparisons import read_standings
from embassay.protocols.mteb import bundle_of, import_results, read_imported_result_documents
from embassay.protocols.mteb.protocol import add_language_script
from embassay.protocols.mteb.survey import are_same_json, load_task_types
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder
from published_sample import bundle, record, records, task_file


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return import_results(bundle(tmp_path / "x.json"), tmp_path / "run").folder


def rows_of(run: Path, **where: str) -> list[ResultRow]:
    rows = RunFolder(run).read_results()
    return [row for row in rows if all(getattr(row, key) == value for key, value in where.items())]


def test_rows(run: Path) -> None:
    """Type, task, subset, language; the split that counts has no variant; NaN and null are missing, with a reason."""
    (one,) = rows_of(run, system="org/one", dataset="STS22", subset="ru", measure="main_score")
    assert (one.protocol, one.task, one.lang, one.variant, one.value, one.n) == ("mteb", "sts", "rus", "", 0.25, 0)
    assert "mteb 1.34.7" in one.method
    assert "items are unknown" in one.method
    (nan,) = rows_of(run, system="org/one", dataset="STS22", subset="ru", measure="pearson")
    assert (nan.value, nan.reason) == (None, "published as NaN")
    (dev,) = rows_of(run, system="other/two@r1", variant="split=dev", measure="main_score")
    assert dev.value == 0.3
    (none,) = rows_of(run, system="org/odd", dataset="Emotions", measure="main_score")
    assert (none.value, none.reason, none.lang) == (None, "published without a value", "")
    rows = RunFolder(run).read_results()
    assert len({row.key for row in rows}) == len(rows)


def test_subsets_have_a_mean_and_a_task_without_any_is_whole(run: Path) -> None:
    (mean,) = rows_of(run, system="org/one", dataset="STS22", subset="", measure="main_score")
    assert (mean.value, mean.lang, mean.method) == (0.375, "mul", "mean over 2 subsets")
    (whole,) = rows_of(run, system="org/one", dataset="Emotions", measure="main_score")
    assert (whole.subset, whole.value) == ("", 0.1 + 0.2)
    (broken,) = rows_of(run, system="other/two@r2", dataset="STS22", subset="", measure="main_score")
    assert (broken.value, broken.reason) == (None, "1 of 1 subsets have no value")


def published(tmp_path: Path, **values: dict[str, float]) -> Path:
    """A run of what models publish: by model a score of each task."""
    told = [
        record(model=name.replace("_", "/"), task=task, category="other", hf_subset="default", main=value)
        for name, own in values.items()
        for task, value in own.items()
    ]
    path = tmp_path / "published.json"
    path.write_text(json.dumps({"results": told}))
    return import_results(path, tmp_path / "published").folder


def test_scores_of_another_scale_have_no_value(tmp_path: Path) -> None:
    """In percent among shares, or no correlation at all: said, and no mean is made of them."""
    run = published(
        tmp_path,
        org_percent={"STS12": 80.0, "STS13": 70.0, "Mine": 55.0},
        org_share={"STS12": 0.8, "STS13": -0.7, "Mine": 0.6},
        org_odd={"STS12": -3.0, "STS13": 1.7, "Mine": 0.5},
    )
    rows = {(row.system, row.dataset): row for row in rows_of(run, measure="main_score") if row.dataset}
    assert {place: row.value for place, row in rows.items()} == {
        ("org/percent", "STS12"): None, ("org/percent", "STS13"): None, ("org/percent", "Mine"): None,
        ("org/share", "STS12"): 0.8, ("org/share", "STS13"): -0.7, ("org/share", "Mine"): 0.6,
        ("org/odd", "STS12"): None, ("org/odd", "STS13"): None, ("org/odd", "Mine"): 0.5,
    }  # fmt: skip
    assert "perhaps in percent" in rows["org/percent", "STS12"].reason
    assert "published as -3, not from -1 to 1" in rows["org/odd", "STS12"].reason
    overall = {row.system: row.value for row in rows_of(run, task="overall")}
    assert overall == {"org/percent": None, "org/share": pytest.approx(0.7 / 3), "org/odd": None}
    faults = (run / "faults.jsonl").read_text().splitlines()
    assert len(faults) == 5


def test_a_task_that_nobody_knows_may_have_any_scale(tmp_path: Path) -> None:
    """As long as all have it."""
    run = published(tmp_path, org_one={"Mine": 55.0}, org_two={"Mine": 310.0})
    assert {row.value for row in rows_of(run, dataset="Mine", measure="main_score")} == {55.0, 310.0}


def test_means_only_where_all_tasks_are_there(run: Path) -> None:
    """A mean over other tasks would not compare."""
    overall = {row.system: row for row in rows_of(run, task="overall")}
    assert overall["org/one"].value == math.fsum([0.375, 0.1 + 0.2]) / 2
    assert overall["other/two@r1"].value == math.fsum([0.4375, 1.0]) / 2
    assert overall["org/odd"].reason == "has 0 of 2 tasks"
    assert {one.task for one in read_standings(run)} == {"sts", "classification", "overall"}


def test_compare_says_why_it_does_not_test(run: Path) -> None:
    """Differences of published scores, without an interval or a p."""
    found = compare_systems(read_comparable_run(run), "org/one", "other/two@r1")
    (overall,) = [one for one in found.contrasts if one.task == "overall"]
    assert overall.difference == pytest.approx(0.3375 - 0.71875)
    assert math.isnan(overall.p)
    assert "nothing to resample" in overall.reason
    scopes = json.loads((run / "comparisons.json").read_text())["scopes"]
    assert scopes["overall"]["systems"][0] == "other/two@r1"
    assert "published scores come without the items behind them" in scopes["overall"]["reason"]


def test_the_manifest_names_systems_data_and_oddities(run: Path) -> None:
    manifest = RunFolder(run).read_manifest()
    assert manifest is not None
    assert manifest["protocol"] == "mteb"
    assert [one["name"] for one in manifest["systems"]] == ["org/one", "other/two@r1", "other/two@r2", "org/odd"]
    sts = next(one for one in manifest["datasets"] if one["name"] == "STS22")
    assert (sts["fingerprint"], sts["split"], sts["lang"]) == ("abc", "test", "mul")
    assert sts["tasks"]["sts"]["warnings"] == ["the split test is used; dev are kept as variants"]
    emotions = next(one for one in manifest["datasets"] if one["name"] == "Emotions")
    assert "2 versions of the data" in emotions["tasks"]["classification"]["warnings"][0]


def test_the_documents_are_kept_whole_and_the_bytes_are_the_same_again(run: Path, tmp_path: Path) -> None:
    assert are_same_json(bundle_of(read_imported_result_documents(run)), records())
    again = import_results(tmp_path / "x.json", tmp_path / "again").folder
    for name in ("results.jsonl", "originals.jsonl.gz", "comparisons.json", "headlines.parquet"):
        assert (run / name).read_bytes() == (again / name).read_bytes()


def test_chosen_measures(tmp_path: Path) -> None:
    """The main score is always there; the rest stays in the documents."""
    run = import_results(bundle(tmp_path / "x.json"), tmp_path / "run", measures=["pearson"]).folder
    assert {row.measure for row in rows_of(run)} == {"main_score", "pearson", "overall"}


def test_a_broken_file_is_left_out_and_told_of(tmp_path: Path) -> None:
    """An import that replaces a broken one forgets the old faults."""
    place = tmp_path / "src" / "org__model" / "rev"
    task_file(place)
    (place / "Broken.json").write_text("{")
    done = import_results(tmp_path / "src", tmp_path / "run")
    assert (done.documents, done.files, len(done.faults)) == (1, 2, 1)
    (line,) = (tmp_path / "run" / "faults.jsonl").read_text().splitlines()
    assert json.loads(line)["path"] == "org__model/rev/Broken.json"
    (place / "Broken.json").unlink()
    import_results(tmp_path / "src", tmp_path / "run")
    assert not (tmp_path / "run" / "faults.jsonl").exists()


def test_nothing_to_read_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    with pytest.raises(DataError, match="No MTEB results"):
        import_results(tmp_path / "src", tmp_path / "run")
    for name in ("a", "b"):
        (tmp_path / "src" / f"{name}.json").write_text("{")
    with pytest.raises(DataError, match=r"Nothing could be read.*1 more"):
        import_results(tmp_path / "src", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_another_run_is_not_overwritten(tmp_path: Path) -> None:
    RunFolder(tmp_path).write_manifest({"protocol": "sage"})
    with pytest.raises(UsageError, match="a run of sage"):
        import_results(bundle(tmp_path / "x.json"), tmp_path)


def test_a_subset_that_is_there_twice(tmp_path: Path) -> None:
    """With two values neither counts, nobody knows which is right; with one it counts once. Both are kept and told
    of."""
    for second, value, reason in ((0.9, None, "different values"), (0.5, 0.5, "")):
        text = json.dumps({"results": [record(), record(main=second)]})
        (tmp_path / "x.json").write_text(text)
        done = import_results(tmp_path / "x.json", tmp_path / f"run-{second}")
        (one,) = rows_of(done.folder, subset="en", measure="main_score")
        assert one.value == value
        assert reason in one.reason
        assert "appears 2 times" in done.faults[0].reason
        assert len(bundle_of(read_imported_result_documents(done.folder))) == 2


def test_a_subset_that_is_there_twice_is_no_part_of_the_mean(tmp_path: Path) -> None:
    """Of en (0.9 or 0.3) and fr (0.5) the mean is that of fr."""
    parts = [record(main=0.9), record(main=0.3), record(hf_subset="fr", main=0.5)]
    (tmp_path / "x.json").write_text(json.dumps({"results": parts}))
    done = import_results(tmp_path / "x.json", tmp_path / "run")
    (mean,) = rows_of(done.folder, dataset="STS22", subset="", measure="main_score")
    assert mean.value == 0.5
    assert "1 without a value" in mean.method


odd = st.text(max_size=4) | st.just("\ud800")
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | odd,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(odd, inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
entries = st.fixed_dictionaries(
    {"main_score": st.floats() | anything},
    optional={"hf_subset": st.just("en") | anything, "languages": st.just(["eng-Latn"]) | anything, "n_items": anything,
              "mteb_version": anything, "\ud800": st.floats(), "x": anything, "big": st.just(10**400)},
)  # fmt: skip
blocks = anything | st.fixed_dictionaries(
    {"rows": st.lists(st.fixed_dictionaries(dict.fromkeys(("n", "ci_low", "seed", "method"), anything)), max_size=2)},
    optional={"main": anything | st.just([0]), "run": st.fixed_dictionaries({"task": anything}), "records": anything},
)  # fmt: skip
bodies = st.fixed_dictionaries(
    {"task_name": st.just("T") | odd, "scores": st.dictionaries(st.just("test") | odd, st.lists(entries), max_size=2)},
    optional={"dataset_revision": anything, "mteb_version": anything, "embassay": blocks},
)  # fmt: skip


@given(
    st.lists(bodies, min_size=1, max_size=3),
    st.dictionaries(st.sampled_from(["embed_dim", "name", "license"]), anything),
)
def test_whatever_a_stranger_wrote_is_read_or_named(found: list[dict[str, Any]], meta: dict[str, Any]) -> None:
    """Never another error than ours; a run that comes of it can be read."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "src" / "org__model" / "rev"
        place.mkdir(parents=True)
        for number, body in enumerate(found):
            (place / f"T{number}.json").write_text(json.dumps(body))
        (place / "model_meta.json").write_text(json.dumps(meta))
        try:
            run = import_results(Path(folder) / "src", Path(folder) / "run").folder
        except DataError:
            return
        rows = RunFolder(run).read_results()
        assert all(row.reason for row in rows if row.value is None)
        assert len(bundle_of(read_imported_result_documents(run))) >= 0
        with suppress(UsageError):  # a document may be without a single entry
            export([run], "mteb", Path(folder) / "out.json")


@pytest.mark.slow
@pytest.mark.mteb
def test_types_are_those_of_mteb() -> None:
    """The table agrees with the mteb installed, where both know a task."""
    pytest.importorskip("mteb")
    from mteb.get_tasks import _TASKS_REGISTRY

    shared = load_task_types().keys() & _TASKS_REGISTRY.keys()
    wrong = [name for name in shared if _TASKS_REGISTRY[name].metadata.type != load_task_types()[name]]
    assert len(shared) > 1000
    assert len(wrong) < len(shared) / 100


@pytest.mark.parametrize(
    ("script", "langs"),
    [
        ("Arab", "ara arb fas pes pus snd uig urd"), ("Beng", "asm ben"), ("Deva", "hin mai mar nep npi san"),
        ("Cyrl", "bel bul kaz kir mkd mon rus srp tat tgk ukr"), ("Hans", "zho cmn"), ("Hebr", "heb yid"),
        ("Hang", "kor"), ("Jpan", "jpn"), ("Ethi", "amh tir"), ("Grek", "ell"), ("Latn", "eng crh nan orm pcm swa und"),
    ],
)  # fmt: skip
def test_scripts(script: str, langs: str) -> None:
    """As MTEB writes them; Latin for what is no language."""
    assert {add_language_script(lang) for lang in langs.split()} == {f"{lang}-{script}" for lang in langs.split()}
    assert add_language_script("martian") == "martian-Latn"


@pytest.mark.slow
@pytest.mark.mteb
def test_scripts_are_those_of_mteb() -> None:
    """Every language of ten tasks has the script that most of them say; what has none, and code, apart."""
    pytest.importorskip("mteb")
    from mteb.get_tasks import _TASKS_REGISTRY

    said: dict[str, Counter[str]] = defaultdict(Counter)
    for task in _TASKS_REGISTRY.values():
        stated = task.metadata.eval_langs
        entries = stated if isinstance(stated, list) else [one for some in stated.values() for one in some]
        for lang, _, script in (entry.partition("-") for entry in set(entries)):
            said[lang][script] += 1
    usual = {
        f"{lang}-{max(scripts, key=scripts.__getitem__)}"
        for lang, scripts in said.items()
        if max(scripts.values()) >= 10 and not scripts.keys() & {"Code", "Zxxx"}
    }
    assert len(usual) > 100
    assert {add_language_script(one.partition("-")[0]) for one in usual} == usual


def test_a_mean_over_subsets_is_over_those_with_a_value(tmp_path: Path) -> None:
    """Which are said, with those that have none; without any there is no mean."""
    told = [
        record(model="org/a", task="STS17", hf_subset=subset, main=main)
        for subset, main in (("en-en", 0.9), ("fr-en", 0.5), ("ko-ko", math.nan))
    ]
    path = tmp_path / "published.json"
    path.write_text(json.dumps({"results": told}))
    run = import_results(path, tmp_path / "published").folder
    (mean,) = rows_of(run, dataset="STS17", subset="", measure="main_score")
    assert mean.value == pytest.approx(0.7)
    assert mean.method == "mean over 2 of 3 subsets; 1 without a value"
    assert "1 of 3 subsets have no value (published as NaN)" in (run / "faults.jsonl").read_text()
