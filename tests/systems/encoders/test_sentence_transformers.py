"""sentence-transformers against the library itself, against minilm, and what it refuses."""

from __future__ import annotations

import json
import shutil
import sys

import numpy as np
import pytest

from embassay.errors import ModelError, UsageError
from embassay.runs.embeddings import CachedEncoder, EmbeddingCache
from embassay.systems.encoders import batches
from embassay.systems.encoders import sentence_transformers as module
from embassay.systems.encoders.sentence_transformers import SentenceTransformer

# The libraries warn of their own future.
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def library():
    return pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="module")
def encoder(library, minilm_folder):
    return SentenceTransformer(str(minilm_folder), device="cpu")


@pytest.fixture(scope="module")
def prompted(tmp_path_factory, library, minilm_folder):
    """The same model with prompts of its own."""
    folder = tmp_path_factory.mktemp("prompted") / "model"
    shutil.copytree(minilm_folder, folder)
    config = {"prompts": {"query": "find: ", "passage": "page: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    return folder


def test_vectors_are_those_of_the_library_and_of_minilm(encoder, library, minilm_folder, varied_texts):
    """To 1e-6 of the library itself, to 1e-5 of the same model in onnxruntime."""
    pytest.importorskip("onnxruntime")
    from embassay.systems.encoders.minilm import MiniLMEncoder

    found = encoder.encode(varied_texts)
    theirs = library.SentenceTransformer(str(minilm_folder), device="cpu").encode(varied_texts)
    minilm = MiniLMEncoder()
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found, minilm.encode(varied_texts), rtol=0, atol=1e-5)
    assert (encoder.dim, encoder.max_tokens, encoder.uses_roles) == (384, 256, False)
    assert encoder.count_truncated(varied_texts) == minilm.count_truncated(varied_texts) == 1
    assert encoder.encode([]).shape == (0, 384)


def test_vectors_do_not_depend_on_order_or_cores(encoder, varied_texts, monkeypatch):
    """The same bits for the same set of texts."""
    before = encoder.encode(varied_texts)
    monkeypatch.setattr(batches, "count_cores", lambda: 1)
    assert np.array_equal(before, encoder.encode(varied_texts[::-1])[::-1])


def test_prompts_go_before_texts_by_role(encoder, prompted):
    """The model's own, by role; the user's before them; a role then makes a difference to the cache."""
    own = SentenceTransformer(str(prompted), device="cpu", prompt="both: ", document_prompt="doc: ")
    assert own.uses_roles
    for role, prompt in (("query", "find: "), ("document", "doc: "), (None, "both: ")):
        expected = encoder.encode([prompt + "some text"])
        np.testing.assert_allclose(own.encode(["some text"], role=role), expected, atol=1e-6)
    cached = CachedEncoder(own, EmbeddingCache.open())
    assert not np.array_equal(cached.encode(["a"], role="query"), cached.encode(["a"], role="document"))
    assert own.count_truncated(["word " * 254]) == 1
    assert encoder.count_truncated(["word " * 254]) == 0


def test_parameters_change_vectors_and_identity(encoder, minilm_folder):
    """Fewer dimensions, fewer tokens, less precision: each is another encoder to the cache."""
    variants = [
        SentenceTransformer(str(minilm_folder), device="cpu", **parameters)
        for parameters in ({"truncate_dim": 32}, {"max_length": 8}, {"dtype": "bfloat16"}, {"batch_size": 300})
    ]
    short, cut, rough, many = variants
    text = "one two three four five six seven eight nine ten"
    full = encoder.encode([text])
    assert np.array_equal(short.encode([text]), full[:, :32])
    assert cut.max_tokens == 8
    np.testing.assert_allclose(cut.encode([text]), encoder.encode(["one two three four five six"]), atol=1e-6)
    assert 1e-5 < np.abs(rough.encode([text]) - full).max() < 0.02
    assert rough.encode([text]).dtype == np.float32
    assert many.chunk_size == 300
    assert len({one.identity for one in (encoder, *variants)}) == 5


def test_the_same_folder_elsewhere_is_the_same_encoder(encoder, minilm_folder, tmp_path):
    """What vectors depend on is in the files, not in their path."""
    shutil.copytree(minilm_folder, tmp_path / "copy")
    assert SentenceTransformer(str(tmp_path / "copy"), device="cpu").identity == encoder.identity


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"max_length": 513}, UsageError, "max_length=513 is not possible: 'st' reads 1 to 512 tokens"),
        ({"truncate_dim": 385}, UsageError, "has 384 dimensions, so truncate_dim=385"),
        ({"batch_size": 0}, UsageError, "batch_size must be at least 1"),
        ({"device": "toaster"}, ModelError, "cannot be loaded"),
        ({"backend": "onnx", "dtype": "float16"}, UsageError, "does not accept dtype"),
        ({"revision": "main"}, UsageError, "a folder has no revision"),
    ],
)
def test_what_cannot_be(parameters, error, message, library, minilm_folder):
    """Refused in one line when the encoder is made."""
    with pytest.raises(error, match=message) as caught:
        SentenceTransformer(str(minilm_folder), **parameters)
    assert "\n" not in str(caught.value)


def test_code_from_the_hub_needs_a_pinned_commit(library):
    """Asked for is not enough, and neither is a branch."""
    for revision in (None, "main"):
        with pytest.raises(UsageError, match=r"only at a pinned commit.*revision=COMMIT"):
            SentenceTransformer("org/model", trust_remote_code=True, revision=revision)


def test_code_in_a_folder_runs_only_when_asked_for(library, prompted, tmp_path):
    """The error says how; the folder's checksum covers the code."""
    folder = tmp_path / "own_code"
    shutil.copytree(prompted, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "ours", "auto_map": {"AutoConfig": "ours.Config", "AutoModel": "ours.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "ours.py").write_text("raise SystemExit('this must not run')")
    with pytest.raises(ModelError, match=r"needs its own code.*trust_remote_code=true"):
        SentenceTransformer(str(folder))


def test_code_from_another_repository_needs_its_own_commit(library, prompted, tmp_path, monkeypatch):
    """The model's revision does not pin it; once it is pinned, the libraries are told."""
    folder = tmp_path / "borrowed"
    shutil.copytree(prompted, folder)
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "org/code--x.Model", "AutoTokenizer": ["org/code--x.Slow", None]}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        UsageError, match=r"uses code from org/code, which is not pinned to a commit.*code_revision=COMMIT"
    ):
        SentenceTransformer(str(folder), trust_remote_code=True)
    given = {}

    def load(location, **options):
        given.update(options)
        raise RuntimeError("seen enough")

    monkeypatch.setattr(library, "SentenceTransformer", load)
    with pytest.raises(ModelError, match="seen enough"):
        SentenceTransformer(str(folder), trust_remote_code=True, code_revision="a" * 40)
    assert given["model_kwargs"] == given["config_kwargs"] == {"code_revision": "a" * 40}
    assert given["trust_remote_code"] is True


def test_a_backend_that_is_not_installed(library, minilm_folder, monkeypatch):
    """The error names the package and the command."""
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"backend openvino needs the package optimum.intel.*\[openvino\]"):
        SentenceTransformer(str(minilm_folder), backend="openvino")


def test_a_folder_that_is_no_model(library, tmp_path):
    """One line with what the library says."""
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"cannot be loaded: .*files are complete"):
        SentenceTransformer(str(tmp_path))


def test_a_failure_while_encoding(encoder, monkeypatch):
    """What the library says, and what helps against it."""

    def fail(*arguments, **parameters):
        raise RuntimeError("CUDA out of memory. Tried to allocate\nmuch")

    monkeypatch.setattr(encoder._model, "encode", fail)
    with pytest.raises(ModelError, match=r"failed while encoding: CUDA out of memory.*smaller batch_size"):
        encoder.encode(["a"])


def test_a_missing_extra_says_how_to_get_it(monkeypatch, tmp_path):
    """Before anything is loaded."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ModelError, match=r"pip install 'embassay\[torch\]'"):
        SentenceTransformer(str(tmp_path))


def test_chunks_done_together_are_those_done_alone(encoder, prompted, monkeypatch):
    """As on a card, on the processor: the same bits as the library gives for each chunk, and through the cache."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        short = [f"text {n} {'of some words ' * (n % 3)}" for n in range(70)]
        chunks = [short[:40], [], short[30:], [*short, "another"]]
        for one, prompt in ((encoder, ""), (SentenceTransformer(str(prompted), device="cpu"), "find: ")):
            role = "query" if prompt else None
            found = dict(one.encode_together(chunks, role=role))
            assert sorted(found) == [0, 1, 2, 3]
            for place, chunk in enumerate(chunks):
                assert np.array_equal(found[place].reshape(-1, one.dim), one.encode(chunk, role=role))
        assert encoder._make_torch_runner(None)._joined.same
        alone = CachedEncoder(encoder, EmbeddingCache.open()).encode(chunks[3])
        EmbeddingCache.open().clear()
        monkeypatch.setattr(encoder, "joins_chunks", True)
        assert np.array_equal(CachedEncoder(encoder, EmbeddingCache.open()).encode(chunks[3]), alone)
        assert np.array_equal(encoder.encode(short), found_alone(encoder, short))
        assert encoder.encode([]).shape == (0, 384)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("prompt", ["", "find: "])
def test_batches_that_are_laid_out_here_are_the_librarys(encoder, prompt):
    """Cut, filled, and whatever the tokenizer was used for meanwhile."""
    import torch

    def batch(n):
        return [f"Über {'many words ' * (n * part)}, 東京 {part}" for part in range(1, 6)] + ["", " "]

    cut = module._BatchFeatureMaker(encoder._model, prompt)
    for n in range(1, 60, 7):
        expected = encoder._model.preprocess(batch(n), prompt=prompt)
        encoder._model.tokenizer(["other use"], padding=False, truncation=False)
        found = cut(batch(n))
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            assert torch.equal(found[name], value) if isinstance(value, torch.Tensor) else found[name] == value
    assert cut._compared == module._COMPARED


def test_a_library_that_does_more_is_left_to_it(encoder):
    """What a model adds to the tokens on its own way is not lost."""

    class Model:
        tokenizer = encoder._model.tokenizer

        def preprocess(self, texts, prompt):
            features = encoder._model.preprocess([text.upper() for text in texts], prompt=prompt)
            return {**features, "input_ids": features["input_ids"] + 1}

    cut = module._BatchFeatureMaker(Model(), "")
    for _ in range(9):
        found = cut(["a text", "another one"])
        assert found["input_ids"][0, 0] == encoder._model.tokenizer.cls_token_id + 1
    assert cut._compared is None


def found_alone(encoder, texts):
    """What `encode` gives off a card."""
    return SentenceTransformer(encoder.target, device="cpu").encode(texts)


def test_half_precision_and_batches_are_part_of_the_identity(encoder, minilm_folder):
    """float16 only where it is asked for: near, another encoder to the cache."""
    half = SentenceTransformer(str(minilm_folder), device="cpu", dtype="float16")
    assert half.identity != encoder.identity
    assert '"dtype":"float32"' in encoder.identity
    assert '"batch":32' in encoder.identity
    one, other = half.encode(["a short text"]), encoder.encode(["a short text"])
    assert not np.array_equal(one, other)
    assert abs(float((one * other).sum()) - 1) < 1e-3
