"""A study through the real Argilla library and back: our settings and records in, both forms of its export out.

Argilla pins libraries of its own, so it lives in an environment apart; its server is not needed:

    python -m venv ELSEWHERE && ELSEWHERE/bin/pip install argilla requests
    python -m benchmarks.check_argilla ELSEWHERE/bin/python
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from check_label_studio import made, same

from embassay.protocols.hume.exchange.export import export
from embassay.protocols.hume.study import write_annotations

THERE = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock
from argilla.client import Argilla
Argilla._default_client = MagicMock()
import argilla as rg
from argilla.records._io import GenericIO
folder = Path(sys.argv[1])
for path in sorted(folder.glob("*.settings.json")):
    settings = rg.Settings.from_json(path)
    settings.validate()
    task = path.name.removesuffix(".settings.json")
    dataset = SimpleNamespace(settings=settings)
    told = json.loads((folder / f"{task}.records.json").read_text())
    records = [rg.Record.from_dict(one, dataset=dataset) for one in told]
    for record in records:
        record.api_model()
    for form in ("flat", "nested"):
        place = folder / form
        place.mkdir(exist_ok=True)
        (place / f"{task}.json").write_text(json.dumps(GenericIO.to_list(records, flatten=form == "flat")))
print("argilla", rg.__version__)
"""


def main() -> None:
    """Send, fetch, compare; exit code 1 where anything differs."""
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("python", type=Path, help="the Python of Argilla's environment")
    args = given.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, study = Path(name), Path(name) / "study"
        rows = made(study)
        write_annotations(study, "both", rows)
        export(study, "argilla", folder / "out", answers=True)
        subprocess.run([str(args.python), "-c", THERE, str(folder / "out")], check=True)
        good = []
        for form in ("flat", "nested"):
            place = folder / "out" / form
            shutil.copy(folder / "out" / "users.json", place / "users.json")
            files = [path for path in sorted(place.glob("*.json")) if path.name != "users.json"]
            # Records have no times.
            told = ("value", "flag", "comment")
            good.append(same(f"{form} records", files, study, rows, folder / f"again-{form}", told=told))
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
