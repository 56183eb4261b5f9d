"""`embassay export` and `embassay import` as a user runs them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from embassay.cli.main import app
from embassay.errors import EmbassayError
from embassay.protocols.mteb.survey import are_same_json
from published_sample import bundle, records, task_file
from written_runs import write_run


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Run a command in this process: what it prints, and the code of the error that it would exit with."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, check_code=0):
        done = CliRunner().invoke(app, [str(one) for one in arguments])
        code = done.exception.exit_code if isinstance(done.exception, EmbassayError) else done.exit_code
        assert code == check_code, (code, done.output, done.exception)
        return done

    return run


def test_there_and_back(here, tmp_path):
    """A bundle becomes a run, the run a bundle with the same records; compare and gate read the run."""
    bundle(tmp_path / "in.json")
    done = here("import", "in.json", "--out", "run")
    assert done.stdout.startswith("run: 6 results of 4 systems on 2 tasks, ")
    assert done.stderr == ""
    here("export", "run", "--to", "mteb", "--out", "out.json.gz")
    here("export", "run", "--to", "mteb", "--out", "layout")
    here("import", "layout", "--out", "again")
    here("export", "again", "--to", "mteb", "--out", "again.json")
    assert are_same_json(json.loads((tmp_path / "again.json").read_text())["results"], records())
    assert "no interval" in here("compare", "run", "-a", "org/one", "-b", "other/two@r1").stdout
    here("gate", "run", "--min", "mteb.overall[org/one]>=0.3")
    here("gate", "run", "--min", "mteb.overall[org/one]>=0.4", check_code=1)


def test_broken_files_are_named_and_do_not_stop_it(embassay, here, tmp_path):
    """Exit code 0 while something could be read, 4 where nothing could."""
    place = tmp_path / "repo" / "results" / "org__model" / "rev"
    task_file(place)
    (place / "Broken.json").write_text("{")
    done = embassay("import", "repo", "--out", "run")
    assert "Broken.json" in done.stderr
    assert "1 problem; it is in run/faults.jsonl." in done.stderr
    said = json.loads(here("import", "repo", "--out", "run", "--json").stdout)
    assert (said["documents"], said["faults"][0]["path"]) == (1, "results/org__model/rev/Broken.json")
    (place / "Toy.json").unlink()
    assert "Nothing could be read" in embassay("import", "repo", "--out", "other", check_code=4).stderr
    assert not (tmp_path / "other").exists()
    here("import", "nowhere", "--out", "other", check_code=4)


def test_export_says_what_does_not_fit(here, tmp_path):
    write_run(tmp_path / "runs" / "one", {"a": [0.1, 0.2, 0.3], "b": [0.2, 0.3, 0.4]})
    for form, name in (("csv", "all.csv"), ("parquet", "all.parquet"), ("latex", "all.tex")):
        done = here("export", "runs", "--to", form, "--out", name)
        assert done.stdout.startswith(f"{name}: 4 results in 1 file.")
        assert (tmp_path / name).stat().st_size > 100
    done = here("export", "runs", "--to", "mteb", "--out", "m", check_code=2)
    assert "Nothing here fits" in str(done.exception)
    said = json.loads(here("export", "runs", "--to", "csv", "--out", "tables", "--json").stdout)
    assert (said["files"], said["rows"]) == (2, 4)
    here("export", "none", "--to", "csv", "--out", "x", check_code=4)


@pytest.mark.parametrize("form", ["mlflow", "wandb", "trackio"])
def test_a_tracker_that_is_not_installed(embassay, tmp_path, form):
    write_run(tmp_path / "run", {"a": [0.1, 0.2, 0.3]})
    hidden = tmp_path / "hidden"
    (hidden / form).mkdir(parents=True)
    (hidden / form / "__init__.py").write_text(f"raise ImportError(name={form!r})")
    done = embassay("export", "run", "--to", form, "--out", "x", check_code=2, env={"PYTHONPATH": str(hidden)})
    assert f"pip install 'embassay[{form}]'" in done.stderr
