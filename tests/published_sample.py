"""A small sample of published results, as a bundle and as folders."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any


def record(**changes: Any) -> dict[str, Any]:
    """A record of a bundle, in the fields and the order of the public ones."""
    main = changes.pop("main", 0.5)
    made = {
        "model": "org/one", "revision": "r1", "task": "STS22", "category": "sts", "task_short": "STS22",
        "split": "test", "hf_subset": "en", "lang": "eng", "languages": ["eng-Latn"], "main_score": main,
        "scores": {"cosine_spearman": main, "pearson": math.nan, "v_measures": [[0.1, 0.2]], "main_score": main},
        "agreement": None, "dataset_revision": "abc", "mteb_version": "1.34.7",
    }  # fmt: skip
    return {**made, **changes}


def records() -> list[dict[str, Any]]:
    """Two models (one in two revisions), two tasks, subsets, splits, NaN, agreement, and fields of every oddity."""
    people = {"metric": "fleiss_kappa", "value": 0.1, "n_annotators": 2}
    return [
        record(),
        record(hf_subset="ru", languages=["rus-Cyrl"], lang="rus", main=0.25),
        record(model="other/two", main=0.75),
        record(model="other/two", hf_subset="ru", languages=["rus-Cyrl"], lang="rus", main=0.125),
        record(model="other/two", split="dev", hf_subset="en", main=0.3),
        record(model="other/two", revision="r2", main=math.nan),
        record(task="Emotions", category="classification", hf_subset="default", main=0.1 + 0.2, agreement=people),
        record(model="other/two", task="Emotions", category="classification", hf_subset="default", main=1.0),
        {"model": "org/odd", "revision": "r", "task": "Emotions", "scores": {"ap": 1, "deep": {"x": [None, True]}},
         "main_score": None, "hf_subset": "default", "languages": [], "note": "half \ud800 a pair"},
    ]  # fmt: skip


def bundle(path: Path) -> Path:
    """Write them as one file."""
    path.write_text(json.dumps({"source": {"commit": "f00"}, "n": 9, "results": records()}))
    return path


def task_file(folder: Path, name: str = "Toy", main: Any = 0.5, **more: Any) -> Path:
    """Write one task's file as mteb 2 does, and return it."""
    entry = {"accuracy": main, "main_score": main, "hf_subset": "default", "languages": ["eng-Latn"], **more}
    body = {
        "dataset_revision": "d1", "task_name": name, "mteb_version": "2.10.8", "scores": {"test": [entry]},
        "evaluation_time": 1.5, "kg_co2_emissions": None, "date": 1763000000.0,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(body, indent=2))
    return folder / f"{name}.json"
