"""mteb's models, with one of its own tasks as the judge: both must give the same result."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from embassay.errors import ModelError, UsageError
from embassay.measures import spearman
from embassay.systems import open_system
from embassay.systems.encoders.mteb import MtebEncoder
from embassay.text import open_tokenizer

# The libraries warn of their own future.
pytestmark = [pytest.mark.mteb, pytest.mark.filterwarnings("ignore")]

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "src" / "embassay" / "data" / "sample" / "pairs.jsonl"
STSB = ROOT / ".." / "shared" / "data" / "sts" / "stsb_en_test.jsonl.gz"
NAME = "here/minilm"
RANDOM = "mteb/baseline-random-encoder"


@pytest.fixture(scope="module")
def mteb():
    return pytest.importorskip("mteb")


@pytest.fixture
def registered(mteb, minilm_folder, monkeypatch):
    """MiniLM in mteb's registry: its class for sentence-transformers on the files at hand, with two prompts."""
    from mteb.models import ModelMeta
    from mteb.models.model_implementations import MODEL_REGISTRY
    from mteb.models.model_meta import ScoringFunction
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper

    prompts = {"STS": "compare: ", "query": "find: ", "document": "page: "}

    def load(name, revision=None, device=None, **options):
        return SentenceTransformerEncoderWrapper(str(minilm_folder), device=device, model_prompts=prompts)

    facts = {
        "name": NAME,
        "revision": "1",
        "loader": load,
        "open_weights": True,
        "similarity_fn_name": ScoringFunction.COSINE,
    }
    monkeypatch.setitem(MODEL_REGISTRY, NAME, ModelMeta.create_empty(overwrites=facts))
    return MODEL_REGISTRY[NAME]


def sts_task(rows: list[dict[str, object]]):
    """An STS task of mteb on these rows, in place of what it would fetch."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.sts import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    class LocalSTS(AbsTaskSTS):
        metadata = TaskMetadata(
            name="LocalSTS",
            description="pairs of texts that are at hand",
            dataset={"path": "here/pairs", "revision": "1"},
            type="STS",
            eval_langs=["eng-Latn"],
            main_score="cosine_spearman",
        )

        def load_data(self, **options):
            columns = {"sentence1": "text", "sentence2": "text2", "score": "score"}
            data = {name: [row[column] for row in rows] for name, column in columns.items()}
            self.dataset = DatasetDict(test=Dataset.from_dict(data))
            self.data_loaded = True

    return LocalSTS()


def theirs(mteb, meta, rows) -> dict[str, float]:
    """mteb's result for its model on its task, on one thread as ours."""
    import torch

    torch.set_num_threads(1)
    model = mteb.get_model(meta.name)
    options = {"show_progress_bar": False, "batch_size": 32}
    result = mteb.evaluate(model, sts_task(rows), cache=None, encode_kwargs=options, show_progress_bar=False)
    return result.task_results[0].scores["test"][0]


def ours(rows) -> float:
    system = open_system(f"mteb:{NAME}", tokenizer=open_tokenizer("words"))
    found = system.pairs([row["text"] for row in rows], [row["text2"] for row in rows])
    return spearman(found, [row["score"] for row in rows])


def sample() -> list[dict[str, object]]:
    return [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]


def test_a_task_has_the_same_result_here_and_in_mteb(mteb, registered):
    """Model, prompts, cosine and rank correlation agree on the sample pairs to 1e-6."""
    assert ours(sample()) == pytest.approx(theirs(mteb, registered, sample())["cosine_spearman"], abs=1e-6)


@pytest.mark.shared
@pytest.mark.nightly
@pytest.mark.skipif(not STSB.is_file(), reason="the development datasets are not beside the checkout")
def test_sts_benchmark_has_the_same_result_here_and_in_mteb(mteb, registered):
    """On all 1,379 pairs of its English test split, to 1e-6."""
    rows = [json.loads(line) for line in gzip.decompress(STSB.read_bytes()).splitlines()]
    assert ours(rows) == pytest.approx(theirs(mteb, registered, rows)["cosine_spearman"], abs=1e-6)


@pytest.mark.torch
def test_prompts_are_those_of_the_role(registered, minilm_folder):
    """Without a role as for STS; queries and documents as for retrieval; or as for the task that is named."""
    from embassay.systems.encoders.sentence_transformers import SentenceTransformer

    plain = SentenceTransformer(str(minilm_folder), device="cpu")
    found, named = MtebEncoder(NAME, device="cpu"), MtebEncoder(NAME, device="cpu", task="SciFact")
    for encoder, role, prompt in (
        (found, None, "compare: "),
        (found, "query", "find: "),
        (found, "document", "page: "),
        (named, "query", "find: "),
        (named, None, ""),
    ):
        np.testing.assert_allclose(
            encoder.encode(["text"], role=role), plain.encode([prompt + "text"]), atol=1e-6, err_msg=f"{role}"
        )
    assert found.identity != named.identity


def test_the_limit_is_that_of_the_model(registered):
    """Where mteb's model has a tokenizer, texts that are too long are counted."""
    encoder = MtebEncoder(NAME, device="cpu")
    assert (encoder.dim, encoder.max_tokens) == (384, 256)
    assert encoder.count_truncated(["word " * 254, "word " * 255]) == 1
    assert encoder.encode([]).shape == (0, 384)


def test_a_model_of_another_class(mteb):
    """mteb's random encoder has no tokenizer, so nothing is known of its limit."""
    encoder = MtebEncoder(RANDOM)
    assert encoder.encode(["a", "b", "a"]).shape == (3, encoder.dim)
    assert encoder.max_tokens is None
    assert encoder.count_truncated(["word " * 9999]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "nobody/nothing"}, "'nobody/nothing' not found in MTEB registry.*available-models"),
        ({"target": RANDOM, "task": "NoTask"}, "mteb has no task 'NoTask'"),
        ({"target": "BAAI/bge-m3", "revision": "0"}, "revision 0 not found for model BAAI/bge-m3"),
        ({"target": "openai/text-embedding-3-small"}, "service that mteb would call itself.*openai:"),
    ],
)
def test_what_mteb_does_not_have(arguments, message, mteb):
    """One line, in mteb's words; paid services are refused, since no account would know of them."""
    with pytest.raises(UsageError, match=message) as caught:
        MtebEncoder(**arguments)
    assert "\n" not in str(caught.value)


def test_a_model_that_cannot_be_loaded(registered, monkeypatch):
    """What it says, in one line; so too when it fails later, and when it has no vectors."""
    monkeypatch.setattr(registered, "loader", lambda *arguments, **options: 1 / 0)
    with pytest.raises(ModelError, match="cannot be loaded: division by zero"):
        MtebEncoder(NAME)
    monkeypatch.setattr(registered, "loader", lambda *arguments, **options: SimpleNamespace())
    with pytest.raises(ModelError, match="is not an encoder but a model for dense"):
        MtebEncoder(NAME)


def test_a_missing_extra_says_how_to_get_it(monkeypatch):
    """Before anything is loaded."""
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(ModelError, match=r"pip install 'embassay\[mteb\]'"):
        MtebEncoder(RANDOM)
