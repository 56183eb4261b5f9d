"""A hundred mistakes that a newcomer makes: each is told what to write instead, with no traceback."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import embassay

NOTES = [{"text": f"note {n} says a thing of its own", "label": "ab"[n % 2]} for n in range(12)]

SYSTEMS = {
    "BAAI/bge-m3": "st:BAAI/bge-m3",
    "sentence-transformers/all-MiniLM-L6-v2": "minilm",
    "all-MiniLM-L6-v2": "st:sentence-transformers/all-MiniLM-L6-v2",
    "multilingual-e5-small": "st:intfloat/multilingual-e5-small",
    "text-embedding-3-small": "openai:text-embedding-3-small",
    "voyage-3-large": "voyage:voyage-3-large",
    "embed-v4.0": "cohere:embed-v4.0",
    "gemini-embedding-001": "gemini:gemini-embedding-001",
    "gpt-4o": "openai:text-embedding-3-small",
    "minilm,bm25": "-s minilm -s bm25",
    "MiniLM": "Did you mean minilm?",
    "minilmm": "minilm",
    "BM25": "Did you mean bm25?",
    "word-llama": "wordllama",
    "open-ai:text-embedding-3-small": "openai",
    "bm25?k=1": "k1",
    "minilm?dims=abc": "dims=256",
    "minilm?dims=-1": "dims must be from 1",
    "openai/text-embedding-3-small": "-s openai:text-embedding-3-small",
    "ollama/nomic-embed-text": "-s ollama:nomic-embed-text",
    "minilm:384": "Write 'minilm'",
    "minilm+bm25": "-s 'ensemble:minilm+bm25'",
    "rrf:minilm+bm25": "ensemble:minilm+bm25?of=ranks",
    "ensemble:minilm+bm25?weights=0.7": "weights=1,1",
    "wordllama?dims=64,clean=case": "wordllama?dims=64&clean=case",
    "model2vec:minishlab/potion-base-8M": "-s static:minishlab/potion-base-8M",
    "hf:BAAI/bge-m3": "-s st:BAAI/bge-m3",
    "http://localhost:8080/v1": "openai:MODEL?base_url=http://localhost:8080/v1",
    "cross:./reranker": "embassay rag sweep",
    "openai:": "openai:MODEL",
    "./models/own": "-s st:./models/own",
    "./models/sparse": "-s splade:./models/sparse",
    "./models/reranker": "cross:./models/reranker",
    "st:./models/sparse": "-s splade:./models/sparse",
    "": "NAME",
}
"""A system as a stranger names it -> what the mend must hold."""

WORDS = {
    "run": "embassay sage run",
    "run -s minilm": "embassay sage run",
    "run nosuch -s minilm": "list protocols",
    "choose": "embassay choose docs",
    "compare minilm bm25": "compare RUN -a minilm -b bm25",
    "help": "--help",
    "version": "--version",
    "evaluate -s minilm": "embassay sage run",
    "benchmark": "embassay sage run",
    "hmue run": "hume",
    "reprot": "report",
    "sage": "run",
    "sage -s minilm": "embassay sage run",
    "sage rnu": "run",
    "sage run": "-s minilm -s bm25",
    "sage run minilm": "-s minilm -s bm25",
    "sage run -s jaccard rouge": "-s minilm -s bm25",
    "sage run -s": "-h",
    "sage run --model minilm": "-s NAME",
    "sage run -m minilm": "-s NAME",
    "sage run -s jaccard -o out": "--out DIR",
    "sage run -s jaccard --add": "To add to a run",
    "sage run -s jaccard -n 5": "Did you mean --limit?",
    "hume sample -d sample -n 5": "Did you mean --n?",
    "sage run -s jaccard -w 2": "--workers",
    "rag questions --corpus sample -z 5": "-h",
    "sage run -s jaccard --data notes.jsonl": "-d FILE",
    "sage run -s jaccard --datset notes.jsonl": "--dataset",
    "sage run -s jaccard --seed abc": "whole number",
    "sage run -s jaccard --limit 0": "--limit",
    "sage run -s jaccard --workers 0": "--workers",
    "sage run -s jaccard --tokenizer bert": "list tokenizers",
    "sage run -s jaccard --tokenizer words -t sts": "embassay pteb run",
    "sage run -s jaccard --tokenizer words -t retrival": "retrieval",
    "sage run -s jaccard --tokenizer words -d nosuch.jsonl": "notes.jsonl",
    "sage run -s jaccard --tokenizer words -d scifacts": "scifact",
    "sage run -s jaccard --tokenizer words -d notes.jsonl --map text:label": "text=body",
    "sage run -s jaccard --tokenizer words -d notes.jsonl --map body=text": "text",
    "sage run -s jaccard --tokenizer words -d notes.jsonl -t retrieval": "--map",
    "sage run -s jaccard --tokenizer words -d notes.jsonl --map text=txt": "leave text=txt out of --map",
    "sage run -s jaccard --tokenizer words -d .": "BEIR",
    "pteb run -s jaccard --tokenizer words -d notes.jsonl": "-p recorded",
    "pteb run -s jaccard --tokenizer words -p gemma3:27b": "ollama:gemma3:27b",
    "pteb run -s jaccard --tokenizer words -p gpt-4o": "openai:gpt-4o",
    "pteb run -s jaccard --tokenizer words -p recordd": "recorded",
    "pteb run -s jaccard --tokenizer words --original-only -t sensitivity": "embassay sage run",
    "pteb run -s jaccard --runs 0 -p recorded": "--runs",
    "rag golden -s jaccard --corpus notes.jsonl --judge gpt-4o": "--queries",
    "rag golden -s wordllama --tokenizer words -d sample --judge gpt-4o": "openai:gpt-4o",
    "rag golden -s wordllama --tokenizer words -d sample --judge gemma3:27b": "ollama:gemma3:27b",
    "rag score --qrels no.tsv --run no.trec": "name",
    "rag sweep": "embassay rag sweep sweep.yaml",
    "rag sweep no.yaml": "no.yaml",
    "report": "embassay report runs",
    "report nosuch": "--out",
    "compare notes.jsonl": "--out",
    "compare runs/new minilm bm25": "-a minilm -b bm25",
    "sage run -s jaccard --tokenizer words -d sage?task=robustness": "sage?tasks=robustness",
    "sage run -s jaccard --tokenizer words -d sage?tasks=robustnes": "Did you mean robustness?",
    "gate": "-h",
    "serve nosuch": "your runs",
    "hume serve nosuch": "hume sample",
    "hume score -s jaccard": "study",
    "data check": "-h",
    "data check nosuch.csv": "data list",
    "data fetch scifacts": "scifact",
    "list": "systems",
    "list model": "models",
    "export nosuch --to excel --out x": "latex",
    "doctor --all": "-h",
}
"""Words after `embassay` -> what must be said. The empty system and those above are tried under `sage run`."""


FILES = {
    "notes.zip": "unzip notes.zip",
    "notes.jsonl.zst": "zstd -d notes.jsonl.zst",
    "notes.tar.gz": "tar xzf notes.tar.gz",
    "notes.json": "jq -c",
    "notes.xlsx": "Save the sheet as CSV",
    "notes.pkl": "pickles are never opened",
    "vectors.npy": "not vectors",
    "utf16.jsonl": "iconv -f UTF-16 -t UTF-8 utf16.jsonl",
    "latin.csv": "UTF-8",
    "semicolons.csv": "--map delimiter=semicolon",
    "twice.jsonl": "--map id=",
    "nested.jsonl": "--map text=COLUMN",
    "empty.jsonl": "the file is empty",
    "cut.jsonl": "one complete JSON object per line",
    "packed.jsonl": "Add .gz",
}
"""A file that a stranger brings -> what the mend must hold."""
ADDRESSES = {
    "https://example.org/notes.jsonl": "curl -LO https://example.org/notes.jsonl",
    "hf://datasets/mteb/scifact/corpus.jsonl": "-d hub:mteb/scifact",
    "https://huggingface.co/datasets/mteb/scifact": "-d hub:mteb/scifact",
    "notes.jsonl,sample": "-d notes.jsonl -d sample",
    "notes.jsonl sample": "-d notes.jsonl -d sample",
}
"""What is given in place of one dataset -> what the mend must hold."""


OF_FILES = ("BEIR", "--out", "name", "hume sample", "leave text=txt out of --map")
"""Said of what lies in a file or folder, not of the words: the exit code is 4."""


@pytest.mark.parametrize("words", WORDS)
def test_words(embassay, tmp_path, words):
    """A command as a newcomer types it."""
    _said(embassay, tmp_path, words.split(), WORDS[words])


@pytest.mark.parametrize("system", SYSTEMS)
def test_systems(embassay, tmp_path, system):
    """A model by the name that it has elsewhere; no vocabulary is needed to hear of it."""
    kinds = {"own": "SentenceTransformer", "sparse": "SparseEncoder", "reranker": "CrossEncoder"}
    for name, kind in kinds.items():
        folder = tmp_path / "models" / name
        folder.mkdir(parents=True)
        (folder / "config_sentence_transformers.json").write_text(json.dumps({"model_type": kind}))
    _said(embassay, tmp_path, ["sage", "run", "-d", "notes.jsonl", "--dry-run", "-s", system], SYSTEMS[system])


@pytest.mark.parametrize("name", FILES)
def test_files(embassay, tmp_path, name):
    """A file that is not read as it is: the mend is a command or an option."""
    text = "".join(json.dumps(row) + "\n" for row in NOTES)
    content = {
        "utf16.jsonl": text.encode("utf-16"),
        "latin.csv": "text,label\ncaf\u00e9,a\nmus\u00e9e,b\n".encode("latin-1"),
        "semicolons.csv": b"text;label\none thing;a\nanother thing;b\n",
        "twice.jsonl": "".join(json.dumps({"id": "1", **row}) + "\n" for row in NOTES).encode(),
        "nested.jsonl": "".join(json.dumps({"data": row}) + "\n" for row in NOTES).encode(),
        "empty.jsonl": b"",
        "cut.jsonl": text.encode()[:-9],
        "packed.jsonl": gzip.compress(text.encode()),
    }
    (tmp_path / name).write_bytes(content.get(name, text.encode()))
    words = ["sage", "run", "-s", "jaccard", "--tokenizer", "words", "-d", name, "--dry-run"]
    _said(embassay, tmp_path, words, FILES[name], code=4)


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses(embassay, tmp_path, address):
    """What is no dataset, but shows which was meant."""
    words = ["sage", "run", "-s", "jaccard", "--tokenizer", "words", "-d", address, "--dry-run"]
    _said(embassay, tmp_path, words, ADDRESSES[address])


def _said(embassay, folder, words, wanted, code=None):
    (folder / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in NOTES))
    done = embassay(*words, check_code=code or (4 if wanted in OF_FILES else 2))
    said = done.stdout + done.stderr
    assert wanted in " ".join(said.split())
    assert "Traceback" not in said
    assert "Value error" not in said
    assert not (folder / "runs").exists()


def test_the_command_alone_says_what_to_type_first(embassay):
    """Questions, then every command, in a terminal of 80 columns."""
    said = embassay().stdout
    assert "embassay demo" in said
    assert max(map(len, said.splitlines())) <= 80
    for command in ("sage", "pteb", "rag", "hume", "report", "compare", "gate", "serve", "export", "import", "data"):
        assert command in said.split()


def test_what_is_wrong_is_said_before_a_vocabulary_is_looked_for(embassay, tmp_path):
    """A machine without a network hears of its typing error, and not of a file that it may not need."""
    empty = {"TIKTOKEN_CACHE_DIR": str(tmp_path / "none"), "HTTPS_PROXY": "http://127.0.0.1:9"}
    said = embassay("sage", "run", "-s", "minilmm", "--dry-run", env=empty, check_code=2).stderr
    assert "minilm" in said
    assert "cl100k" not in said
    said = embassay("sage", "run", "-s", "jaccard", env=empty, check_code=3).stderr
    assert "--tokenizer words" in said
    # A plan counts with a tokenizer that comes along, and says so.
    told = embassay("sage", "run", "-s", "jaccard", "--limit", "3", "--dry-run", env=empty).stdout
    assert "tokens are counted with wordllama" in told


LOCKED = {
    "data check locked": 4,
    "sage run -s jaccard --tokenizer words -d locked": 4,
    "sage run -s jaccard --tokenizer words -d locked/notes.jsonl": 4,
    "sage run -s jaccard --tokenizer words -d secret.jsonl": 4,
    "choose locked -s jaccard -s bm25": 4,
    "sage run -s static:./locked --tokenizer words -d notes.jsonl": 3,
    "rag sweep locked/sweep.yaml": 4,
    "report locked": 2,
    "serve locked": 2,
}
"""Words on a folder or file without permission to read -> the exit code."""


UNWRITABLE = (
    "sage run -s jaccard --tokenizer words -d notes.jsonl --out shut/run",
    "calibrate -s jaccard --tokenizer words -d notes.jsonl --out shut",
    "choose sample -s jaccard -s bm25 --out shut/choice",
    "rag questions --corpus sample --out shut/asked",
    "hume sample -d sample --out shut/study",
    "sage run -s jaccard --tokenizer words -d notes.jsonl --out notes.jsonl/run",
)
"""Words that write where nothing may be written."""


@pytest.mark.slow
def test_what_may_not_be_written(tmp_path):
    """The place is named, with the exit code of a file that is at fault, and no traceback."""
    (tmp_path / "shut").mkdir()
    (tmp_path / "notes.jsonl").write_text("\n".join(json.dumps(one) for one in NOTES))
    (tmp_path / "shut").chmod(0o555)
    plain, env = _without_rights()
    try:
        for words in UNWRITABLE:
            command = [*plain, sys.executable, "-m", "embassay", *words.split()]
            done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
            assert done.returncode == 4, (words, done.stderr)
            assert "Traceback" not in done.stderr
            assert words.rpartition(" ")[2] in done.stderr, (words, done.stderr)
    finally:
        (tmp_path / "shut").chmod(0o755)


def _without_rights():
    """What a command begins with where it may not read and write all, and its environment."""
    less = "-dac_override,-dac_read_search"
    plain = ["setpriv", f"--bounding-set={less}", f"--inh-caps={less}"] if os.geteuid() == 0 else []
    if plain and shutil.which("setpriv") is None:
        pytest.skip("root without setpriv may read everything")
    return plain, {**os.environ, "PYTHONPATH": str(Path(embassay.__file__).parents[1])}


@pytest.mark.slow
def test_what_may_not_be_read(tmp_path):
    """The folder itself is named, not a file that was looked for in it; what to do; no traceback. Root may read all, so
    the commands run without its right to."""
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked" / "notes.jsonl").write_text("{}")
    lines = [json.dumps(one) for one in NOTES]
    for name in ("notes.jsonl", "secret.jsonl"):
        (tmp_path / name).write_text("\n".join(lines))
    (tmp_path / "locked").chmod(0)
    (tmp_path / "secret.jsonl").chmod(0)
    plain, env = _without_rights()
    try:
        for words, code in LOCKED.items():
            command = [*plain, sys.executable, "-m", "embassay", *words.split()]
            done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
            said = done.stdout + done.stderr
            assert done.returncode == code, (words, said)
            assert "Traceback" not in said
            assert "chmod u+rX" in said, (words, said)
            assert "train.jsonl" not in said, (words, said)
    finally:
        (tmp_path / "locked").chmod(0o755)
