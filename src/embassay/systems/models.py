"""Known models: what vendors say of dimensions, context, prompts and price; and the tokenizers they bring along."""

from __future__ import annotations

import hashlib
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from embassay.contracts import Role, Tokenizer
from embassay.errors import ModelError, UsageError
from embassay.limits import (
    advise_on_denied_reading,
    find_path_blocking_access,
    list_bounded_folder_entries,
    parse_bounded_json,
)


@dataclass(frozen=True)
class KnownModelFacts:
    """Facts of a known model, a row of the table; None is what is not known, or does not apply.

    `dims` are those of a vector by default, `dimensions` other sizes the model was trained for, `context` tokens.
    Prices are list prices in US dollars on the day `priced_on` (ISO). `query_prompt` and `document_prompt` go
    before texts of that role, `prompt` before texts of none. `source` says in words where this is from.
    """

    name: str
    vendor: str
    source: str
    dims: int | None = None
    dimensions: tuple[int, ...] = ()
    context: int | None = None
    usd_per_million_input: float | None = None
    usd_per_million_output: float | None = None
    usd_per_thousand_searches: float | None = None
    priced_on: str | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    prompt: str | None = None
    aliases: tuple[str, ...] = ()

    def find_role_prompt(self, role: Role | None) -> str | None:
        """What the vendor says goes before a text of this role."""
        return {"query": self.query_prompt, "document": self.document_prompt, None: self.prompt}[role]


def find_known_model(name: str) -> KnownModelFacts | None:
    """The model of this name, in any case: as it is listed, an alias, or a hub name without its owner.

    >>> find_known_model("multilingual-e5-small").query_prompt
    'query: '
    """
    return _index_models_by_name().get(name.lower())


FAMILIES: Mapping[str, tuple[str, str]] = {
    "e5-instruct": (r"\be5-(?:\w+-)*(?:instruct|mistral)", "intfloat/multilingual-e5-large-instruct"),
    "e5": (r"\be5\b", "intfloat/multilingual-e5-small"),
    "bge": (r"\bbge-(?:small|base|large)(?:-en)?(?:-v1)?\b(?!-zh)", "BAAI/bge-small-en-v1.5"),
    "nomic": (r"\bnomic-embed-text\b", "nomic-ai/nomic-embed-text-v1.5"),
    "mxbai": (r"\bmxbai-embed\b", "mixedbread-ai/mxbai-embed-large-v1"),
    "arctic-v2": (r"\barctic-embed-.*v2\b", "Snowflake/snowflake-arctic-embed-l-v2.0"),
    "arctic": (r"\barctic-embed\b", "Snowflake/snowflake-arctic-embed-m-v1.5"),
    "gte-qwen2": (r"\bgte-qwen2\b", "Alibaba-NLP/gte-Qwen2-1.5B-instruct"),
    "qwen3": (r"\bqwen3-embedding\b", "Qwen/Qwen3-Embedding-0.6B"),
    "embeddinggemma": (r"\bembedding-?gemma\b", "google/embeddinggemma-300m"),
}
"""Families whose texts need prompts -> what their models' names look like, and the known model that stands for them."""


def find_model_family(name: str) -> str:
    """The family that a model's name belongs to, by whatever name a server or a folder has it; "" for none of them.

    >>> find_model_family("multilingual-e5-small-q4"), find_model_family("my_BGE-base-en"), find_model_family("bge-m3")
    ('e5', 'bge', '')
    """
    spelled = re.sub(r"[^a-z0-9.]+", "-", name.lower())
    return next((family for family, (pattern, _) in FAMILIES.items() if re.search(pattern, spelled)), "")


def find_model_with_prompts(name: str) -> KnownModelFacts:
    """The known model whose prompts `family=name` asks for: that of a family, or one by its own name. UsageError for
    any other."""
    model = find_known_model(FAMILIES[name.lower()][1] if name.lower() in FAMILIES else name)
    if model is None:
        raise UsageError(
            f"family={name} is neither a model family nor a known model.",
            mend=f"Use {', '.join(FAMILIES)}, or set query_prompt= and document_prompt=.",
        )
    return model


def warn_of_missing_prompts(system: str, family: str) -> None:
    """Say that models of the family need prompts, and this one has none."""
    like = find_model_with_prompts(family)
    wanted = f"{like.query_prompt!r} before queries"
    wanted += f" and {like.document_prompt!r} before documents" if like.document_prompt else ""
    warnings.warn(
        f"{system}: {family} models are trained with {wanted}, but this model runs without them. Add "
        f"family={family}, or query_prompt='' if the server adds them.",
        RuntimeWarning,
        stacklevel=4,
    )


SPECS = {"OpenAI": "openai", "Cohere": "cohere", "Voyage": "voyage", "Google": "gemini"}
"""The system that asks a vendor's models."""
VENDORS = (*SPECS.values(), "ollama")
"""Systems that a stranger may write with a slash in place of the colon."""


def describe_fix_for_unknown_system(text: str) -> str:
    """What to write in place of a system that is not known: the name of a model needs what runs it before it.

    >>> describe_fix_for_unknown_system("BAAI/bge-m3")
    'For a model on the Hugging Face hub or in a folder, write -s st:BAAI/bge-m3. '
    >>> describe_fix_for_unknown_system("minilm,bm25")
    'Give each system its own -s: -s minilm -s bm25. '
    """
    if meant := _suggest_system_on_disk(text) or _suggest_system_by_other_name(text) or _format_ensemble_hint(text):
        return meant
    names = [name.strip() for name in text.split(",")]
    if len(names) > 1 and all(names) and "?" not in text:
        return f"Give each system its own -s: {' '.join(f'-s {name}' for name in names)}. "
    vendor, _, rest = text.partition("/")
    if rest and vendor.lower() in VENDORS:
        return f"For a model of {vendor}, write -s {vendor.lower()}:{rest}. "
    model = find_known_model(text.partition("?")[0])
    if model is not None and model.vendor in SPECS:
        if model.dims is None:
            encoders = _format_encoder_names_of_vendor(model)
            return f"{model.name} generates text, not vectors; {model.vendor}'s encoders are {encoders}. "
        return f"For a model of {model.vendor}, write -s {SPECS[model.vendor]}:{text}. "
    if model is not None or text.count("/") == 1:
        name = model.name if model and "/" not in text else text
        bundled = ", or minilm for that model without torch" if name.lower().endswith("all-minilm-l6-v2") else ""
        return f"For a model on the Hugging Face hub or in a folder, write -s st:{name}{bundled}. "
    return ""


KINDS = {"SparseEncoder": "splade", "MultiVectorEncoder": "colbert"}
"""What sentence-transformers calls a model in its folder -> the system that runs it."""


def describe_system_for_non_embedding_folder(folder: Path, target: str) -> str:
    """What to write for a folder that says that it is no embedding model: a sparse or multi-vector one, a reranker.
    Empty for any other folder, or none."""
    try:
        said = parse_bounded_json((folder / "config_sentence_transformers.json").read_text("utf-8"), halves=True)
    except (OSError, ValueError):
        return ""
    kind = said.get("model_type") if isinstance(said, dict) else ""
    if kind == "CrossEncoder":
        return f"This is a reranker. In a sweep, write reranker: cross:{target}. "
    return f"It is -s {KINDS[kind]}:{target}. " if kind in KINDS else ""


def _suggest_system_on_disk(text: str) -> str:
    folder = Path(text.partition("?")[0]).expanduser()
    try:
        if "/" not in text or not folder.is_dir():
            return ""
    except OSError:
        # What is too long to be a path raises here.
        return ""
    own = "onnx" if (folder / "model.onnx").is_file() else "st"
    return describe_system_for_non_embedding_folder(folder, text) or f"That folder is -s {own}:{text}. "


CALLED = {
    **dict.fromkeys(("model2vec", "m2v", "potion"), "static"),
    **dict.fromkeys(("hf", "huggingface", "sbert", "sentence-transformers", "sentence_transformers"), "st"),
    **dict.fromkeys(("google", "vertex"), "gemini"),
    **dict.fromkeys(("azure", "litellm", "vllm", "tei"), "openai"),
}
"""What others call what runs a model -> ours."""
FUSED = ("hybrid", "rrf", "fusion", "fuse")


def _suggest_system_by_other_name(text: str) -> str:
    from embassay.systems.rerankers import RERANKERS

    if text.startswith(("http://", "https://")):
        return f"For a server with OpenAI's API, write -s 'openai:MODEL?base_url={text}'. "
    name, colon, target = text.partition(":")
    if colon and target and name.lower() in CALLED:
        return f"Write -s {CALLED[name.lower()]}:{target}. "
    if name.partition("?")[0] in RERANKERS:
        return f"This is a reranker. In a sweep (`embassay rag sweep`), write reranker: {text}. "
    return ""


def _format_ensemble_hint(text: str) -> str:
    from embassay.systems import SYSTEMS

    fused, _, members = text.partition(":") if text.partition(":")[0] in FUSED else ("", "", text)
    names = [member.partition("?")[0].partition(":")[0] for member in members.split("+")]
    if len(names) < 2 or not all(name in SYSTEMS for name in names):
        return ""
    return f"To combine several systems, write -s 'ensemble:{members}{'?of=ranks' if fused else ''}'. "


def describe_fix_for_unknown_chat_model(text: str) -> str:
    """Suggest what to write in place of a chat model that is not known.

    >>> describe_fix_for_unknown_chat_model("gemma3:27b")
    'For an Ollama model, write ollama:gemma3:27b. '
    """
    model = find_known_model(text.partition("?")[0])
    if model is not None and model.vendor == "OpenAI":
        return f"For a language model of OpenAI, write openai:{text}. "
    name, colon, tag = text.partition("?")[0].partition(":")
    # Ollama's tags are sizes and kinds, such as 27b, 8x7b-instruct, latest.
    return f"For an Ollama model, write ollama:{text}. " if name and colon and TAG.match(tag) else ""


TAG = re.compile(r"\d+(x\d+)?(\.\d+)?[bm]\b|latest\b")


def _format_encoder_names_of_vendor(model: KnownModelFacts) -> str:
    return ", ".join(
        f"{SPECS[row.vendor]}:{row.name}" for row in list_known_models() if row.vendor == model.vendor and row.dims
    )


@cache
def list_known_models() -> tuple[KnownModelFacts, ...]:
    """List all known models, in the order of the table."""
    import tomllib

    text = files("embassay.systems").joinpath("models.toml").read_text("utf-8")
    return tuple(_make_known_model(group, row) for group in tomllib.loads(text)["group"] for row in group["models"])


def _make_known_model(group: Mapping[str, Any], row: Mapping[str, Any]) -> KnownModelFacts:
    fields: dict[str, Any] = {key: value for key, value in (*group.items(), *row.items()) if key != "models"}
    for key in ("dimensions", "aliases"):
        fields[key] = tuple(fields.get(key, ()))
    return KnownModelFacts(**fields)


@cache
def _index_models_by_name() -> Mapping[str, KnownModelFacts]:
    # Full names last, so that they win over what is only short for another.
    short = {model.name.rpartition("/")[2]: model for model in list_known_models()}
    by_alias = {alias: model for model in list_known_models() for alias in model.aliases}
    full = {model.name: model for model in list_known_models()}
    return {name.lower(): model for name, model in (*short.items(), *by_alias.items(), *full.items())}


def load_wordllama_tokenizer() -> Tokenizer:
    """wordllama's own tokenizer; ModelError when its files cannot be read."""
    from embassay.systems.encoders.wordllama import WordLlamaEncoder

    return _wrap_encoder_tokenizer(WordLlamaEncoder())


def load_minilm_tokenizer() -> Tokenizer:
    """minilm's own tokenizer; ModelError when its packages are missing."""
    from embassay.systems.encoders.minilm import MiniLMEncoder

    return _wrap_encoder_tokenizer(MiniLMEncoder())


def _wrap_encoder_tokenizer(encoder: object) -> Tokenizer:
    from embassay.text.tokenizers import EncoderTokenizer

    return EncoderTokenizer(encoder.name, encoder.tokenizer)  # type: ignore[attr-defined]


def import_model_library(name: str, *, what: str, mend: str) -> Any:
    """The library `name`, which builds on transformers. ModelError, saying that `what` needs it, where it or a part
    of it is not installed."""
    try:
        library = import_module(name)
        from transformers.utils import logging
    except ImportError as error:
        raise ModelError(f"{what} need the package {error.name}, which is not installed.", mend=mend) from error
    # A bar of its own for weights that load in a second would cut through the run's.
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return library


def find_weights_and_library(
    library: Callable[[], Any], target: str, revision: str | None = None, *, system: str
) -> tuple[ModelWeightsLocation, Any]:
    """The weights that `target` names and what `library` imports of sentence-transformers: that a model is not there is
    said before the seconds that the import takes. ModelError for either."""
    # Not installed (or blocked by None): then that is said first.
    if sys.modules.get(LIBRARY) is None and (LIBRARY in sys.modules or find_spec(LIBRARY) is None):
        library()
    weights = find_model_weights(target, revision, system=system)
    return weights, library()


LIBRARY = "sentence_transformers"


def format_first_error_line(error: Exception) -> str:
    """The first line of what a library says, as a sentence."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:") + "."


PICKLED = "its weights are a pickle that contains more than tensors, which could run code on this machine"
SAFE_WEIGHTS = "Use the model as safetensors, and do not load this file with other tools either."


def is_pickle_refusal(error: BaseException | None) -> bool:
    """Whether torch refused weights for what it would have to run. Its own words say how to run it all the same."""
    while error is not None:
        if "weights_only" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def find_package_folder(package: str, *, encoder: str, mend: str) -> Path:
    """The folder of an installed package, without importing it; ModelError with `mend` when it is absent."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"{encoder} needs the package {package}, which is not installed.", mend=mend)
    return Path(spec.submodule_search_locations[0])


def read_verified_file(path: Path, checksum: str, *, encoder: str, mend: str) -> bytes:
    """The file's bytes; ModelError with `mend` when it cannot be read or its SHA-256 is not `checksum`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{encoder} cannot read {path}: {error.strerror}.", mend=mend) from error
    actual = hashlib.sha256(content).hexdigest()
    if actual != checksum:
        raise ModelError(
            f"{path} is not the file published with {encoder}: expected SHA-256 {checksum}, found {actual}.", mend=mend
        )
    return content


_COMMIT = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_BESIDE_THE_POINT = {".md", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf"}
_USUAL_FILES = ("config.json", "modules.json", "model.safetensors")
_SECONDS = 10


@dataclass(frozen=True)
class ModelWeightsLocation:
    """Where to load from: a folder, or a repository at a `commit`; `cached`, if it must come from the cache."""

    location: str
    identity: str
    commit: str | None = None
    cached: bool = False

    @property
    def folder(self) -> Path | None:
        """The folder, if it is one."""
        return Path(self.location) if self.commit is None else None


def find_model_weights(target: str, revision: str | None = None, *, system: str) -> ModelWeightsLocation:
    """The weights that `target` names: a folder, ORG/MODEL, or the short name of a known model.

    `system` is the name before the colon, for messages. UsageError for what cannot be a model, ModelError when
    the folder or the repository is not there, or the hub cannot be reached and the cache does not have it.
    """
    folder = Path(target).expanduser()
    if target and folder.is_dir():
        if revision is not None:
            raise UsageError(f"{target} is a folder, and a folder has no revision.", mend="Leave revision out.")
        return ModelWeightsLocation(str(folder), compute_model_folder_checksum(folder))
    listed = find_known_model(target)
    repository = listed.name if listed is not None else target
    if target.startswith((".", "/", "~")) or target.count("/") > 1:
        raise ModelError(f"There is no folder {target}.", mend=f"Pass the model's folder: {system}:./folder.")
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(
            f"{target!r} is neither a folder nor the name of a model.",
            mend=f"Write {system}:ORG/MODEL or {system}:./folder.",
        )
    commit, cached = _find_revision_commit(repository, revision, system)
    return ModelWeightsLocation(repository, f"{repository}@{commit}", commit, cached)


def fetch_model_folder(weights: ModelWeightsLocation, files: Sequence[str]) -> Path:
    """The folder of the weights; of a repository, the cache's, with those `files` (patterns) that it has.
    ModelError when they cannot be had."""
    if weights.folder is not None:
        return weights.folder
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(
                weights.location, revision=weights.commit, allow_patterns=list(files), local_files_only=weights.cached
            )
        )
    except Exception as error:  # the hub's and the network's errors have no root in common
        raise ModelError(f"The files of {weights.location} cannot be downloaded: {error}") from error


OF_LIBRARY = "config_sentence_transformers.json"
"""Where sentence-transformers keeps a model's prompts and how its vectors are compared."""


def read_model_configuration(weights: ModelWeightsLocation, name: str = "config.json") -> dict[str, Any]:
    """What a file of the model's configuration holds; nothing where there is no such file. ModelError where it cannot
    be read."""
    path = fetch_model_folder(weights, (name,)) / name
    try:
        held = parse_bounded_json(path.read_text("utf-8"), halves=True) if path.is_file() else {}
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read: {error}.") from error
    return held if isinstance(held, dict) else {}


def find_foreign_code_repositories(weights: ModelWeightsLocation) -> tuple[str, ...]:
    """The repositories other than its own that a model's configuration takes code from."""
    path = fetch_model_folder(weights, ("config.json",)) / "config.json"
    if not path.is_file():
        return ()
    try:
        classes = parse_bounded_json(path.read_text("utf-8"), halves=True).get("auto_map", {}).values()
    except (OSError, ValueError, AttributeError):
        # Whoever loads the model says what is wrong with its configuration.
        return ()
    names = [name for value in classes for name in (value if isinstance(value, list) else [value]) if name]
    return tuple(sorted({name.partition("--")[0] for name in names if "--" in name} - {weights.location}))


def compute_model_folder_checksum(folder: Path) -> str:
    """The checksum of all files that a model may be made of, their names included; ModelError where none are."""
    if (blocked := find_path_blocking_access(folder)) is not None:
        raise ModelError(f"You have no permission to read {blocked}.", mend=advise_on_denied_reading(blocked))
    digest = hashlib.sha256()
    files = [
        path for path in sorted(list_bounded_folder_entries(folder.rglob("*"), folder)) if _is_model_file(path, folder)
    ]
    if not files:
        raise ModelError(f"The folder {folder} is empty.", mend="Put the model's files into it.")
    for path in files:
        status = path.stat()
        checksum = _file_checksum(path, status.st_size, status.st_mtime_ns)
        digest.update(f"{path.relative_to(folder).as_posix()}\0{checksum}\0".encode())
    return f"sha256={digest.hexdigest()[:32]}"


def _is_model_file(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "__")) for part in path.relative_to(folder).parts)
    return not hidden and path.suffix.lower() not in _BESIDE_THE_POINT and path.is_file()


@cache
def _file_checksum(path: Path, size: int, changed: int) -> str:  # noqa: ARG001 - they tell a changed file
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _find_revision_commit(repository: str, revision: str | None, system: str) -> tuple[str, bool]:
    """The commit that a revision is now, and whether only the cache can give it."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    cached = _find_cached_commit(repository, revision)
    # A commit that the cache has cannot have changed: the hub need not be asked.
    if cached is not None and cached == revision:
        return cached, True
    try:
        commit = HfApi().model_info(repository, revision=revision, timeout=_SECONDS).sha
    except GatedRepoError as error:
        raise ModelError(
            f"The model {repository} requires you to accept its terms.",
            mend="Accept them on its page, then run `hf auth login`.",
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelError(
            f"The hub has no model {repository}, or you have no access to it.",
            mend="Check its name; if it is private, run `hf auth login`.",
        ) from error
    except RevisionNotFoundError as error:
        raise ModelError(f"The model {repository} has no revision {revision}.") from error
    except Exception as error:
        # No network, offline mode, a proxy's answer: the libraries below have no root in common.
        if cached is not None:
            return cached, True
        raise ModelError(
            f"The hub cannot be reached, and the model {repository} is not in the cache.",
            mend=f"Put it into {_find_repository_cache_folder(repository)}, or pass its folder: {system}:./folder.",
        ) from error
    return str(commit), False


def _find_cached_commit(repository: str, revision: str | None) -> str | None:
    """The commit of the revision that the hub's cache on this machine has, if any."""
    from huggingface_hub import try_to_load_from_cache

    for name in _USUAL_FILES:
        path = try_to_load_from_cache(repository, name, revision=revision)
        if isinstance(path, str):
            return Path(*Path(path).parts[: -len(Path(name).parts)]).name
    return None


def _find_repository_cache_folder(repository: str) -> str:
    from huggingface_hub.constants import HF_HUB_CACHE

    return str(Path(HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}")


def is_revision_pinned(revision: str | None) -> bool:
    """Whether a revision is one commit for ever, not a branch or a tag."""
    return revision is not None and _COMMIT.fullmatch(revision) is not None
