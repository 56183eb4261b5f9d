"""A study through a real Label Studio and back: tasks and configuration in, answers by its API, its export in here.

Label Studio pins libraries of its own, so it lives in an environment apart:

    python -m venv ELSEWHERE && ELSEWHERE/bin/pip install label-studio
    python -m benchmarks.check_label_studio ELSEWHERE/bin/label-studio

Every family is sampled from the bundled data and answered by two scripted annotators. Into a project with our
configuration go (1) our tasks, then each answer of the first one by the API, as its page would send it, and (2) our
tasks with the answers of both. What comes back must be what was put in.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from embassay.protocols.hume.collection import simulate_task_answers
from embassay.protocols.hume.exchange.export import export
from embassay.protocols.hume.exchange.intake import import_files
from embassay.protocols.hume.exchange.label_studio import label_studio_tasks
from embassay.protocols.hume.sampling import StudySampleRequest, TaskSampleRequest, draw_study
from embassay.protocols.hume.study import (
    FAMILIES,
    AnnotationRow,
    read_jsonl_rows,
    read_study,
    write_annotations,
    write_study,
)

TOKEN = "0123456789abcdef0123456789abcdef01234567"
PATIENCE = 600
ANNOTATORS = ("ann", "bob")


def main() -> None:
    """Start it, or use one that runs; send, fetch, compare; exit code 1 where anything differs."""
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("program", type=Path, help="the label-studio program of its environment")
    given.add_argument("--port", type=int, default=8399)
    given.add_argument("--running", action="store_true", help=f"it runs there already, with --user-token {TOKEN}")
    args = given.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        study = Path(folder) / "study"
        rows = made(study)
        server = f"http://127.0.0.1:{args.port}"
        if not args.running:
            stack.enter_context(served(args.program, args.port, Path(folder) / "data"))
        good = [by_pages(server, study, rows, Path(folder)), by_import(server, study, rows, Path(folder))]
    sys.exit(0 if all(good) else 1)


def made(study: Path) -> list[AnnotationRow]:
    """A study of four families, and answers to it: with seconds, a comment, a flag and an item that has no answer."""
    tasks = [TaskSampleRequest(name=family, data="sample", family=[family], n=18, lang=["eng"]) for family in FAMILIES]
    drawn = draw_study(StudySampleRequest(name="through-label-studio", tasks=tasks))
    write_study(study, drawn.study, drawn.items, drawn.gold)
    folder, rows = read_study(study), []
    for task in folder.study.tasks:
        gold = folder.gold(task.name)
        for name in ANNOTATORS:
            own = [
                row.model_copy(update={"seconds": 1.5 + at})
                for at, row in enumerate(simulate_task_answers(task, gold, name, noise=0.2, seed=1))
            ]
            own[0] = own[0].model_copy(update={"comment": 'Is this "fair"? <b>&</b> = ü'})
            own[1] = own[1].model_copy(update={"value": None, "flag": "garbled"})
            rows += own
    return rows


def by_pages(server: str, study: Path, rows: list[AnnotationRow], folder: Path) -> bool:
    """Each answer of the first annotator, one by one, as the page sends it: without any word of ours beside it."""
    own = [row for row in rows if row.annotator_id == ANNOTATORS[0]]
    export(study, "label-studio", folder / "tasks")
    files = []
    for task in read_study(study).study.tasks:
        project = new_project(server, task.name, (folder / "tasks" / f"{task.name}.config.xml").read_text("utf-8"))
        call(
            server,
            f"projects/{project}/import",
            json.loads((folder / "tasks" / f"{task.name}.tasks.json").read_text("utf-8")),
        )
        for there in call(server, f"tasks?project={project}&page_size=1000&fields=all")["tasks"]:
            item = there["data"]["embassay_item"]
            row = next(row for row in own if row.item_id == item)
            items = [one for one in read_study(study).items if one.id == item]
            (sent,) = label_studio_tasks(task, items, [row])[0]["annotations"]
            for result in sent["result"]:
                result.pop("meta")
            call(server, f"tasks/{there['id']}/annotations/", sent)
        files.append(exported(server, project, folder / f"{task.name}.export.json"))
    user = str(call(server, "current-user/whoami")["id"])
    # Its page knows no simulated people.
    told = ("value", "seconds", "flag", "comment")
    names = (f"{user}={ANNOTATORS[0]}",)
    return same("by its pages", files, study, own, folder / "again", names=names, told=told)


def by_import(server: str, study: Path, rows: list[AnnotationRow], folder: Path) -> bool:
    """All answers at once, in the tasks."""
    write_annotations(study, "both", rows)
    export(study, "label-studio", folder / "with", answers=True)
    files = []
    for task in read_study(study).study.tasks:
        name = f"{task.name} with answers"
        project = new_project(server, name, (folder / "with" / f"{task.name}.config.xml").read_text("utf-8"))
        call(
            server,
            f"projects/{project}/import",
            json.loads((folder / "with" / f"{task.name}.tasks.json").read_text("utf-8")),
        )
        files.append(exported(server, project, folder / f"{task.name}.both.json"))
    return same("with answers", files, study, rows, folder / "both")


def same(
    what: str,
    files: list[Path],
    study: Path,
    rows: list[AnnotationRow],
    copy: Path,
    names: tuple[str, ...] = (),
    told: tuple[str, ...] = ("value", "seconds", "kind", "flag", "comment"),
) -> bool:
    """Whether the exports, imported into an empty copy of the study, are the answers; says what differs."""
    shutil.copytree(study, copy, ignore=shutil.ignore_patterns("annotations"))
    done = import_files(copy, files, annotator=names)
    kept = {
        (row.annotator_id, row.item_id): row for path in done.written for _, row in read_jsonl_rows(path, AnnotationRow)
    }
    wrong = [
        (row, kept.get((row.annotator_id, row.item_id)))
        for row in rows
        if (found := kept.get((row.annotator_id, row.item_id))) is None
        or any(getattr(row, name) != getattr(found, name) for name in told)
    ]
    print(f"{what}: {len(rows)} answers sent, {len(kept)} came back, {len(wrong)} differ")
    for row, found in wrong[:5]:
        print(f"  sent {row}\n  back {found}")
    return not wrong and len(kept) == len(rows)


def new_project(server: str, title: str, config: str) -> int:
    """A project with our configuration, which the server checks."""
    return int(call(server, "projects/", {"title": title[:50], "label_config": config})["id"])


def exported(server: str, project: int, path: Path) -> Path:
    """The project's JSON export."""
    found = call(server, f"projects/{project}/export?exportType=JSON&download_all_tasks=true")
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def call(server: str, path: str, body: Any = None) -> Any:
    """A call of the API; what it answers as JSON."""
    request = urllib.request.Request(
        f"{server}/api/{path}", data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"},
    )  # fmt: skip
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{path}: {error.code} {error.read()[:2000].decode('utf-8', 'replace')}") from None


@contextmanager
def served(program: Path, port: int, data: Path) -> Iterator[str]:
    """A server with an empty database, until it answers."""
    environment = {
        **os.environ, "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true", "COLLECT_ANALYTICS": "false", "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "", "LATEST_VERSION_CHECK": "false", "LABEL_STUDIO_USER_TOKEN": TOKEN,
    }  # fmt: skip
    command = [
        str(program), "start", "--no-browser", "--port", str(port), "--data-dir", str(data), "--log-level", "ERROR",
        "--username", "ann@example.com", "--password", "a-password-for-one-hour", "--user-token", TOKEN,
        "--enable-legacy-api-token",
    ]  # fmt: skip
    log = data.parent / "label-studio.log"
    began = time.monotonic()
    with log.open("wb") as stream:
        process = subprocess.Popen(command, env=environment, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL)
        try:
            server = f"http://127.0.0.1:{port}"
            wait(server, process, log)
            print(f"started in {time.monotonic() - began:.0f} s: {call(server, 'version')['release']}")
            yield server
        finally:
            process.terminate()
            process.wait(60)


def wait(server: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until it answers."""
    for _ in range(PATIENCE):
        if process.poll() is not None:
            raise SystemExit(f"Label Studio ended:\n{log.read_text('utf-8', 'replace')[-3000:]}")
        try:
            urllib.request.urlopen(f"{server}/health", timeout=5).read()
        except OSError:
            time.sleep(1)
        else:
            return
    raise SystemExit(f"Label Studio did not start in {PATIENCE} s.")


if __name__ == "__main__":
    main()
