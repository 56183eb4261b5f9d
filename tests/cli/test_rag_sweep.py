"""`embassay rag sweep` as a user types it: the sample, plans, mistakes, failures, kills."""

import json
import os
import signal
import subprocess
import time

import polars as pl
import pytest

from stub import StubServer

CONFIG = """\
datasets: sample
encoder: wordllama
dims: [64, full]
k: [20, 50]
reranker: [none, overlap]
mode: [dense, hybrid]
queries: 15
latency: {queries: 5, warmup: 1, repeats: 2, concurrency: 2}
prices: {date: 2025-11-30, rerank: {overlap: 0.05}}
"""


def test_a_dry_run_lists_what_is_left_out(embassay, tmp_path):
    """Each reason with its combinations, all of them as JSON; nothing is sent to the server."""
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "datasets: sample\nencoder: ['voyage:voyage-3-large', wordllama]\ndims: [256, 2048]\nk: 20\n", encoding="utf-8"
    )
    said = json.loads(embassay("rag", "sweep", path, "--dry-run", "--json").stdout)
    assert said["left_out"] == {"wordllama/2048d/flat/k20/dense": "wordllama has 256 dimensions"}
    assert said["combinations"] == 3
    shown = embassay("rag", "sweep", path, "--dry-run").stdout
    assert "wordllama/2048d/flat/k20/dense" in shown
    assert "voyage:voyage-3-large?dimensions=2048" in shown


@pytest.mark.parametrize("index", ["hnsw-f32?ef=-1", "hnsw-f32?m=many"])
def test_a_parameter_of_an_index_that_cannot_be_is_refused(embassay, tmp_path, index):
    """Before anything is done, with its line: the sweep was finished, and empty."""
    path = tmp_path / "sweep.yaml"
    path.write_text(f"datasets: sample\nencoder: wordllama\nindex: ['{index}']\nk: 10\n", encoding="utf-8")
    said = embassay("rag", "sweep", path, "--out", tmp_path / "run", check_code=2).stderr
    assert f"{path}:3: The index 'hnsw-f32' " in said
    assert index.partition("?")[2].partition("=")[0] in said
    assert not (tmp_path / "run").exists()


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    return path


def test_from_the_file_to_the_choice(embassay, tmp_path, config):
    """The stack to use, a report, and rows and values per query as JSON; rules of the command line win."""
    shown = embassay("rag", "sweep", config, "--out", "run").stdout
    assert "wordllama" in shown
    assert (tmp_path / "run" / "report.html").exists()
    said = json.loads(
        embassay("rag", "sweep", config, "--out", "run", "--budget", "0", "--sla-ms", "900", "--json").stdout
    )
    head = [row for row in said["results"] if row["measure"] == "RA-nWG@10"]
    assert len({row["system"] for row in head}) == 16
    assert len([row for row in said["per_query"] if row["measure"] == "RA-nWG@10"]) == 16 * 15
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["rules"]["budget"], manifest["rules"]["sla_ms"]) == (0, 900)
    assert manifest["command"].startswith("embassay rag sweep")
    assert len(manifest["sessions"]) == 2


def test_a_plan_computes_nothing(embassay, tmp_path, config):
    """Combinations, texts, pairs, price, time and disk, and no folder."""
    shown = embassay("rag", "sweep", config, "--out", "run", "--dry-run").stdout
    assert "16 combinations on 2 indexes" in shown
    assert "$0: every system runs here" in shown
    said = json.loads(embassay("rag", "sweep", config, "--dry-run", "--json", "--limit", "4").stdout)
    assert said["combinations"] == 16
    assert {cell["task"]: cell["items"] for cell in said["cells"]} == {"embed": 151, "rerank": 4}
    assert not (tmp_path / "run").exists()


def test_a_plan_prices_a_server_without_asking_it(embassay, config):
    """No key is needed; what is not known is asked for."""
    config.write_text(
        CONFIG.replace("encoder: wordllama", "encoder: openai:text-embedding-3-small").replace(
            "overlap", "'jina:x?price=2'"
        )
    )
    said = json.loads(embassay("rag", "sweep", config, "--dry-run", "--json").stdout)
    usd = {cell["task"]: cell["usd"] for cell in said["cells"]}
    assert usd["embed"] > 0
    assert usd["rerank"] > 0.01


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mode:", "modes:", "sweep.yaml:6: there is no key 'modes'. Did you mean 'mode'?"),
        ("overlap]", "overlaps]", "sweep.yaml:5: There is no reranker called 'overlaps'."),
        ("64, full", "900", "No combination of the axes makes sense"),
        ("datasets: sample", "datasets: smaple", "The catalogue has no dataset called 'smaple'"),
        ("encoder: wordllama", "encoder: [", "not valid YAML"),
    ],
)
def test_a_mistake_is_one_line(embassay, tmp_path, config, old, new, message):
    """Before anything is computed: no folder is made."""
    config.write_text(CONFIG.replace(old, new))
    code = 4 if "YAML" in message else 2
    errors = " ".join(embassay("rag", "sweep", config, "--out", "run", check_code=code).stderr.split())
    assert message in errors
    assert not (tmp_path / "run").exists()


def test_an_encoder_that_fails_is_exit_code_3(embassay, tmp_path, config):
    """The others are measured and shown; the last line says what failed and how to go on."""
    config.write_text(CONFIG.replace("encoder: wordllama", "encoder: [wordllama, 'onnx:./nothing']"))
    done = embassay("rag", "sweep", config, "--out", "run", check_code=3)
    assert "repeat the command to retry the failed cells" in " ".join(done.stderr.split())
    assert len(list((tmp_path / "run").glob("items/**/*.parquet"))) == 2


def _start(warm, path, config, cache):
    return subprocess.Popen(
        [*warm.command, "rag", "sweep", str(config), "--out", str(path)],
        env={**os.environ, "EMBASSAY_CACHE": str(cache)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def _finish(warm, path, config, cache):
    process = _start(warm, path, config, cache)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors.decode()


def _bytes(out):
    files = [*out.glob("items/**/*.parquet"), *out.glob("rankings/**/*.parquet"), *out.glob("stacks/*.json")]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_killed_again_and_again_it_ends_with_the_same_bytes(tmp_path, config, warm):
    """kill -9 in the midst of indexes, of rankings and of timings: values, rankings and facts equal an uninterrupted
    sweep's; finished cells keep their times."""
    config.write_text(CONFIG.replace("[64, full]", "[16, 32, 64, 128, full]"))
    whole, broken, samples = tmp_path / "whole", tmp_path / "broken", {}
    _finish(warm, whole, config, tmp_path / "one")
    every = len(list(whole.glob("timings/*.json")))
    for share in (0, 0.2, 0.5, 0.8):
        process = _start(warm, broken, config, tmp_path / "two")
        while len(list(broken.glob("timings/*.json"))) <= share * every:
            time.sleep(0.002)
            assert process.poll() is None, process.communicate()[1].decode()[-2000:]
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        now = {path.name: path.read_bytes() for path in broken.glob("timings/*.json")}
        assert all(now[name] == content for name, content in samples.items())
        samples = now
    _finish(warm, broken, config, tmp_path / "two")
    assert _bytes(broken) == _bytes(whole)
    assert len(_bytes(broken)) == 15
    values = [pl.read_parquet(path) for path in broken.glob("items/**/*.parquet")]
    assert all(len(one) for one in values)
    assert json.loads((broken / "manifest.json").read_text())["status"] == "finished"


def test_a_limit_of_cost_stops_and_resumes(embassay, config):
    """Prices of the config count; what is paid for is kept, and a higher limit ends the sweep."""
    pytest.importorskip("openai")
    with StubServer() as stub:
        encoder = f"openai:stub-model?base_url={stub.url}/v1&dims=64"
        reranker = f"jina:stub-reranker?base_url={stub.url}/jina/v1"
        text = CONFIG.replace("dims: [64, full]", "dims: full").replace("wordllama", f"'{encoder}'")
        text = text.replace("{overlap: 0.05}", f"{{'{reranker}': 0.05}}, embed: {{'{encoder}': 1}}")
        config.write_text(text.replace("overlap", f"'{reranker}'").replace("[20, 50]", "[10]"))
        command = ("rag", "sweep", config, "--out", "run")
        key = {"OPENAI_API_KEY": "of-openai", "JINA_API_KEY": "of-jina"}
        done = embassay(*command, "--max-cost", "0.001", env=key, check_code=5)
        assert "Resume with a higher --max-cost: embassay rag sweep" in done.stderr
        said = json.loads(embassay(*command, "--max-cost", "1", "--json", env=key).stdout)
    systems = {row["system"] for row in said["results"] if row["measure"] == "RA-nWG@10"}
    assert len(systems) == 4
    assert any("jina" in name for name in systems)
