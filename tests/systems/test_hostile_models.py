"""A model folder from a stranger runs nothing of its own: no pickle, no code beside the weights, for any loader."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embassay.errors import ModelError
from embassay.systems import SYSTEMS
from embassay.systems.rerankers import RERANKERS

pytestmark = pytest.mark.filterwarnings("ignore")


class Payload:
    """What a pickle does when it is read: it makes a folder."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def _link(source: Path, folder: Path) -> Path:
    """The files of a good model, linked: they are large."""
    for path in source.rglob("*"):
        if path.is_file():
            (folder / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            (folder / path.relative_to(source)).symlink_to(path)
    return folder


def _replace(path: Path, change: Callable[[Any], Any]) -> None:
    value = change(json.loads(path.read_text()))
    path.unlink()
    path.write_text(json.dumps(value))


def pickled(folder: Path, mark: Path) -> None:
    """Weights as a pickle where safe ones are expected, under every name that loaders look for."""
    for path in folder.rglob("model.safetensors"):
        path.unlink()
    content = pickle.dumps(Payload(mark))
    for name in ("pytorch_model.bin", "model.safetensors", "model.onnx", "embeddings.npy", "model.pt", "model.pkl"):
        (folder / name).unlink(missing_ok=True)
        if name != "model.safetensors":
            (folder / name).write_bytes(content)


def pickled_as_safe(folder: Path, mark: Path) -> None:
    """A pickle under the name of safe weights."""
    pickled(folder, mark)
    (folder / "model.safetensors").write_bytes(pickle.dumps(Payload(mark)))


def _code(folder: Path, mark: Path) -> None:
    code = f"import os\nos.mkdir({str(mark)!r})\nclass Evil: pass\n"
    (folder / "evil.py").write_text(code)
    (folder / "modeling_evil.py").write_text(code)


def auto_map(folder: Path, mark: Path) -> None:
    """Code of the model's own, as transformers finds it."""
    _code(folder, mark)
    names = ("AutoConfig", "AutoModel", "AutoModelForSequenceClassification", "AutoTokenizer")
    mapped = dict.fromkeys(names, "modeling_evil.Evil")
    _replace(folder / "config.json", lambda one: {**one, "model_type": "evil", "auto_map": mapped})
    if (folder / "tokenizer_config.json").exists():
        _replace(folder / "tokenizer_config.json", lambda one: {**one, "auto_map": mapped})


def own_module(folder: Path, mark: Path) -> None:
    """Code of the model's own, as sentence-transformers finds it."""
    _code(folder, mark)
    listed = [{"idx": 0, "name": "0", "path": "", "type": "evil.Evil"}]
    (folder / "modules.json").unlink(missing_ok=True)
    (folder / "modules.json").write_text(json.dumps(listed))


def any_function(folder: Path, mark: Path) -> None:
    """A layer whose activation is a function of the standard library, called when it is built."""
    (folder / "2_Dense").mkdir(exist_ok=True)
    config = {"in_features": 384, "out_features": 8, "bias": True, "activation_function": "os.getcwd"}
    (folder / "2_Dense" / "config.json").write_text(json.dumps(config))
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(pickle.dumps(Payload(mark)))
    if (folder / "modules.json").exists():
        dense = {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}
        _replace(folder / "modules.json", lambda listed: [*listed[:2], dense])
    else:
        own_module(folder, mark)


HOSTILE = (pickled, pickled_as_safe, auto_map, own_module, any_function)


LEFT_ASIDE = {("cross", "own_module"), ("cross", "any_function")}
"""What a loader does not look at: it reads the good weights beside it."""


def _refused(load: Callable[[str], Any], good: Path, hostile: Callable[[Path, Path], None], place: Path) -> None:
    folder, mark = place / "model", place / "executed"
    folder.mkdir()
    hostile(_link(good, folder), mark)
    said = _said(load, folder)
    assert not mark.exists(), "code of the model ran"
    return said


def _said(load: Callable[[str], Any], folder: Path) -> str:
    """The refusal, empty where the model is read without what is hostile in it; any other error fails."""
    try:
        load(str(folder))
    except ModelError as error:
        return str(error)
    return ""


@pytest.mark.torch
@pytest.mark.parametrize("hostile", HOSTILE, ids=[one.__name__ for one in HOSTILE])
@pytest.mark.parametrize("kind", ["st", "cross"])
def test_torch(kind: str, hostile: Callable[[Path, Path], None], minilm_folder: Path, tmp_path: Path) -> None:
    """sentence-transformers' models and cross-encoders."""
    pytest.importorskip("sentence_transformers")
    registry = SYSTEMS if kind == "st" else RERANKERS
    said = _refused(lambda folder: registry.build(f"{kind}:{folder}?device=cpu"), minilm_folder, hostile, tmp_path)
    assert bool(said) is ((kind, hostile.__name__) not in LEFT_ASIDE)
    assert "weights_only" not in said
    if kind in ("st", "cross") and hostile is pickled:
        assert "which could run code" in said


@pytest.mark.parametrize("hostile", HOSTILE, ids=[one.__name__ for one in HOSTILE])
@pytest.mark.parametrize("kind", ["onnx", "static"])
def test_without_torch(kind: str, hostile: Callable[[Path, Path], None], minilm_folder: Path, tmp_path: Path) -> None:
    """ONNX and static models."""
    pytest.importorskip("onnxruntime" if kind == "onnx" else "model2vec")
    said = _refused(lambda folder: SYSTEMS.build(f"{kind}:{folder}"), minilm_folder, hostile, tmp_path)
    assert said


def test_the_payload_is_one(tmp_path: Path) -> None:
    """What the tests above plant does run where something reads it."""
    pickle.loads(pickle.dumps(Payload(tmp_path / "executed")))
    assert (tmp_path / "executed").exists()
