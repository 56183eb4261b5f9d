"""The config of a sweep: what it takes, and one line for what is wrong in it."""

from pathlib import Path

import pytest

from embassay.errors import DataError, UsageError
from embassay.protocols.rag.sweep.config import (
    LatencySettings,
    SweepRequest,
    parse_sweep_request,
    read_sweep_request_from_config,
)
from embassay.protocols.rag.sweep.grid import make_configuration_grid

LEAST = "datasets: sample\nencoder: wordllama\n"


def _written(tmp_path, text):
    path = tmp_path / "sweep.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_least_has_the_defaults_of_the_spec(tmp_path):
    """One value or a list; what is left out is as the spec has it."""
    request = read_sweep_request_from_config(_written(tmp_path, LEAST))
    assert request.encoder == ("wordllama",)
    assert (request.dims, request.index, request.k, request.reranker) == ((None,), ("flat",), (50,), ("none",))
    assert (request.queries, request.depth, request.rrf_c) == (100, 100, 60.0)
    assert request.latency == LatencySettings(20, 3, 3, 4)
    assert request.measures[:3] == ("RA-nWG@10", "N-Recall4+@10", "N-Recall5@10")
    assert len(request.measures) == 12
    assert request.rules.measure == "RA-nWG@10"
    assert request == parse_sweep_request({"datasets": "sample", "encoder": "wordllama"}, base=tmp_path)


def test_weights_of_efficiency_are_the_operators(tmp_path):
    text = LEAST + "rules: {efficiency: {nDCG@10: 2, RA-nWG@10: 1}}\n"
    assert read_sweep_request_from_config(_written(tmp_path, text)).rules.efficiency == {"nDCG@10": 2, "RA-nWG@10": 1}


def test_values_are_as_yaml_has_them(tmp_path):
    """`full` and `none` are words, chunks may be numbers, repeats count once."""
    text = LEAST + "dims: [64, full, 64]\nchunk: [none, 200, 430+70]\nreranker: [~, overlap]\nboost: none\nk: 20\n"
    request = read_sweep_request_from_config(_written(tmp_path, text))
    assert request.dims == (64, None)
    assert request.chunk == ("none", "200", "430+70")
    assert request.reranker == ("none", "overlap")
    assert request.boost == (0.0,)
    assert request.k == (20,)


@pytest.mark.parametrize(
    ("line", "where", "wrong", "mend"),
    [
        ("rerankers: overlap", 3, "no key 'rerankers'", "reranker"),
        ("latency: {query: 3}", 3, "no key 'latency.query'", "queries"),
        ("encoder2: x", 3, "no key 'encoder2'", "encoder"),
        ("reranker: [none, overlop]", 3, "no reranker called 'overlop'", "overlap"),
        ("index:\n  - flat\n  - flatt", 5, "no index called 'flatt'", "flat"),
        ("k: [50, 0]", 3, "k is 0: ", ""),
        ("mode: sparze", 3, "mode is 'sparze'", ""),
        ("chunk: 10+9", 3, "'10+9'", "430+70"),
        ("rewrite: rule", 3, "no rewriter called 'rule'", "rules"),
        ("tokenizer: wordz", 3, "no tokenizer called 'wordz'", "words"),
        ("measures: [RA-nWG, '%PROC']", 3, "not measured in a sweep", "PROC"),
        ("rules: {measure: RA-nWG@5}", 3, "'RA-nWG@5', is not measured", "RA-nWG"),
        ("rules: {measure: Harm@10}", 3, "lower Harm@10 is better", ""),
        ("rules: {efficiency: {nDCG@5: 1}}", 3, "'nDCG@5', which is not measured", "nDCG@10"),
        ("rules: {efficiency: {nDCG@10: 0}}", 3, "sum to 0", "above 0"),
        ("prices: {rerank: {overlap: 0.05}}", 3, "not a reranker of the sweep", ""),
        ("deduplicate: 1.5", 3, "deduplicate is 1.5", ""),
        ("latency: {queries: 0}", 3, "latency.queries is 0", ""),
        (
            "latency: {repeats: 1000000000}",
            3,
            "latency.repeats is 1000000000: input should be less than or equal to 1000",
            "",
        ),
        (
            "latency: {warmup: 1000000000}",
            3,
            "latency.warmup is 1000000000: input should be less than or equal to 10000",
            "",
        ),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path, line, where, wrong, mend):
    """The file, the line, what is wrong, and what was probably meant."""
    path = _written(tmp_path, LEAST + line + "\n")
    with pytest.raises(UsageError) as caught:
        read_sweep_request_from_config(path)
    assert caught.value.message.startswith(f"{path}:{where}: ")
    assert wrong in caught.value.message
    assert mend in caught.value.mend
    assert "\n" not in str(caught.value)


def test_parameters_are_checked_by_name(tmp_path):
    """Before a model is opened."""
    with pytest.raises(UsageError, match="no parameter 'dim'"):
        read_sweep_request_from_config(_written(tmp_path, "datasets: sample\nencoder: wordllama?dim=64\n"))


def test_words_alone_are_no_encoder(tmp_path):
    """bm25 is the mode hybrid, not an encoder."""
    with pytest.raises(UsageError, match="makes no vectors") as caught:
        read_sweep_request_from_config(_written(tmp_path, "datasets: sample\nencoder: bm25\n"))
    assert "hybrid" in caught.value.mend


@pytest.mark.parametrize(
    ("text", "error", "wrong"),
    [
        ("encoder: wordllama\n", UsageError, "'datasets' is missing"),
        ("- a\n", DataError, "not a mapping"),
        ("datasets: sample\ndatasets: sample\n", DataError, "appears twice"),
        ("a: [\n", DataError, "not valid YAML"),
    ],
)
def test_files_that_are_none(tmp_path, text, error, wrong):
    """Each is one error."""
    with pytest.raises(error, match=wrong):
        read_sweep_request_from_config(_written(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path):
    """A usage error, not a traceback."""
    with pytest.raises(UsageError, match="no file"):
        read_sweep_request_from_config(tmp_path / "none.yaml")


def test_paths_start_at_the_config(tmp_path):
    """Datasets and folders of models; names and absolute paths stay."""
    from embassay.systems.rerankers import RERANKERS

    request = read_sweep_request_from_config(_written(tmp_path, LEAST + "reranker: cross:./model\n"))
    assert request.path("data/x.jsonl") == str(tmp_path / "data/x.jsonl")
    assert request.path("/data") == "/data"
    assert request.resolve_path_in_spec_target("cross:./model", RERANKERS) == f"cross:{tmp_path}/model"
    assert request.resolve_path_in_spec_target("overlap", RERANKERS) == "overlap"
    assert request.reranker == ("cross:./model",)


def test_rules_and_prices_are_no_arguments():
    """They may change when a run resumes; all else may not."""
    said = SweepRequest((), ("wordllama",)).as_dict()
    assert not {"rules", "prices", "base"} & said.keys()
    assert said["encoder"] == ("wordllama",)


def test_a_generator_is_timed_or_assumed(tmp_path):
    """Not both, not half of one; it is an argument of the run where there is one, and leaves no mark where not."""
    assert "generator" not in parse_sweep_request({"datasets": "sample", "encoder": "wordllama"}).as_dict()
    found = read_sweep_request_from_config(
        _written(tmp_path, LEAST + "generator: {ttft_ms: 400, tokens_per_second: 100, output_tokens: 201}\n")
    )
    assert found.generator is not None
    assert found.generator.assumed_answer_ms == 2400
    for wrong in ("{ttft_ms: 400}", "{output_tokens: 9}", "{model: 'ollama:m', ttft_ms: 1, tokens_per_second: 1}"):
        with pytest.raises(UsageError, match=r"sweep.yaml:3: A generator needs either a model to time"):
            read_sweep_request_from_config(_written(tmp_path, LEAST + f"generator: {wrong}\n"))


def test_quality_axes_are_measured(tmp_path):
    """Measures of either direction, of those that the sweep takes."""
    found = read_sweep_request_from_config(_written(tmp_path, LEAST + "rules: {quality_axes: [RA-nWG@10, Harm@10]}\n"))
    assert found.rules.quality_axes == ("RA-nWG@10", "Harm@10")
    with pytest.raises(UsageError, match="not measured"):
        read_sweep_request_from_config(_written(tmp_path, LEAST + "rules: {quality_axes: [RA-nWG@7]}\n"))


def test_bundled_files_have_names(tmp_path, monkeypatch):
    """The paper's grid, planned without a file; a file of that name wins."""
    monkeypatch.chdir(tmp_path)
    found = read_sweep_request_from_config(Path("paper"))
    assert found.k == (50, 100, 150, 200)
    assert found.dims == (512, 1024, 2048)
    assert found.base == Path()
    Path("paper").write_text(LEAST)
    assert read_sweep_request_from_config(Path("paper")).k == (50,)
    with pytest.raises(UsageError, match="bundled one: paper"):
        read_sweep_request_from_config(Path("papers"))


def test_fusions_are_an_axis_of_the_hybrid_alone():
    """Canonical and each once; dense stacks have none; a sweep without the axis is that of before there was one."""
    content = {"datasets": "sample", "encoder": "wordllama", "mode": ["dense", "hybrid"]}
    plain = parse_sweep_request(content)
    assert "fusion" not in plain.as_dict()
    asked = parse_sweep_request({**content, "fusion": ["rrf", "convex?weight=0.5", "rrf?weight=0.30", "convex"]})
    assert asked.fusion == ("rrf", "convex", "rrf?weight=0.3")
    assert asked.as_dict()["fusion"] == asked.fusion
    wanted = make_configuration_grid(asked, {"wordllama": 256}).wanted
    assert [(one.mode, one.fusion) for one in wanted] == [
        ("dense", "rrf"), ("hybrid", "rrf"), ("hybrid", "convex"), ("hybrid", "rrf?weight=0.3")
    ]  # fmt: skip
    assert [one.id for one in wanted][1:3] == ["wordllama/flat/k50/hybrid", "wordllama/flat/k50/hybrid/fusion=convex"]
    with pytest.raises(UsageError, match="weight"):
        parse_sweep_request({**content, "fusion": "convex?weight=3"})
