"""What a folder says of its ONNX model: the graph, the tokenizer, how token vectors become one, the limit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from embassay.errors import ModelError, UsageError

Pooling = Literal["mean", "cls", "last", "max"]

_GRAPHS = ("model.onnx", "onnx/model.onnx")
_KNOWN_MODULES = {"Transformer", "Pooling", "Normalize"}
_POOLING_KEYS: Mapping[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_max_tokens": "max",
}
_POOLING_NAMES: Mapping[str, Pooling] = {"mean": "mean", "cls": "cls", "lasttoken": "last", "max": "max"}
_NO_LIMIT = 10**9
"""transformers writes a number near 1e30 for a tokenizer without a limit."""


@dataclass(frozen=True)
class OnnxFolder:
    """A model's folder, in the layout of sentence-transformers or of an export by optimum. Its methods raise
    ModelError, naming the file, for what is missing or cannot be read."""

    path: Path

    def graph(self, file: str | None = None) -> Path | None:
        """The ONNX file: `file`, else model.onnx here or in onnx/; None where there is none."""
        names = _GRAPHS if file is None else (file,)
        return next((self.path / name for name in names if (self.path / name).is_file()), None)

    def tokenizer(self) -> Path:
        """tokenizer.json."""
        path = self.path / "tokenizer.json"
        if not path.is_file():
            raise ModelError(
                f"{path} is missing, so texts cannot be cut into tokens.",
                mend="Save it with transformers: AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER).",
            )
        return path

    def pooling(self) -> Pooling | None:
        """How token vectors become one, as 1_Pooling/config.json has it; None where it is not said."""
        name = self._module("Pooling", "1_Pooling") + "/config.json"
        config = self.read(name)
        if not config:
            return None
        mode = config.get("pooling_mode")
        chosen = [mode] if mode is not None else [key for key, on in config.items() if on is True]
        modes = [key for key in chosen if key.startswith("pooling_mode") or mode is not None]
        known = {**_POOLING_KEYS, **_POOLING_NAMES}
        if config.get("include_prompt") is False:
            modes.append("include_prompt false")
        if len(modes) != 1 or modes[0] not in known:
            raise ModelError(
                f"{self.path / name} asks for {' with '.join(modes) or 'no pooling'}, which is not among "
                f"{', '.join(_POOLING_NAMES)}.",
                mend="Use st:./folder, which needs torch.",
            )
        return known[modes[0]]

    def normalizes(self) -> bool:
        """Whether modules.json has a module that brings vectors to length 1."""
        return any(kind == "Normalize" for kind, _ in self.modules())

    def modules(self) -> list[tuple[str, str]]:
        """Kind and folder of each module of modules.json; none where there is no such file."""
        listed = self.read("modules.json", list)
        modules = [(str(one.get("type", "")).rpartition(".")[2], str(one.get("path", ""))) for one in listed]
        other = [kind for kind, _ in modules if kind not in _KNOWN_MODULES]
        if other:
            raise ModelError(
                f"{self.path / 'modules.json'} has a module that onnx: does not know: {', '.join(other)}.",
                mend="Use st:./folder, which needs torch.",
            )
        return modules

    def max_tokens(self) -> int | None:
        """The limit in tokens: that of sentence_bert_config.json, else of tokenizer_config.json, if any."""
        for name, key in (
            ("sentence_bert_config.json", "max_seq_length"),
            ("tokenizer_config.json", "model_max_length"),
        ):
            limit = self.read(name).get(key)
            if isinstance(limit, int) and limit < _NO_LIMIT:
                return limit
        return None

    def lower_case(self) -> bool:
        """Whether sentence_bert_config.json wants texts in lower case."""
        return bool(self.read("sentence_bert_config.json").get("do_lower_case"))

    def prompts(self) -> tuple[dict[str, str | None], str | None]:
        """The prompts of config_sentence_transformers.json by name, and the name of the default one."""
        config = self.read("config_sentence_transformers.json")
        return dict(config.get("prompts") or {}), config.get("default_prompt_name")

    def read(self, name: str, kind: type = dict) -> Any:
        """A JSON file as `kind`; an empty one where there is no such file."""
        path = self.path / name
        if not path.is_file():
            return kind()
        try:
            found = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ModelError(f"{path} cannot be read: {error}.") from error
        if not isinstance(found, kind):
            raise ModelError(f"{path} should hold {kind.__name__}, found {type(found).__name__}.")
        return found

    def _module(self, kind: str, usual: str) -> str:
        return next((path for found, path in self.modules() if found == kind), usual)


def open_folder(target: str) -> OnnxFolder:
    """The folder `target`; UsageError where none is named, ModelError where there is none."""
    path = Path(target).expanduser()
    if not target:
        raise UsageError("onnx needs a folder.", mend="Write onnx:./folder.")
    if not path.is_dir():
        raise ModelError(
            f"There is no folder {target}.",
            mend="onnx: takes a folder with model.onnx and tokenizer.json; for a model of the hub use st:ORG/MODEL.",
        )
    return OnnxFolder(path)
