"""The GitHub Action, its steps run as the runner would, with a `gh` that keeps comments in a file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
GH = """#!{python}
import json, sys
from pathlib import Path
words = sys.argv[1:]
kept = Path({kept!r})
comments = json.loads(kept.read_text()) if kept.is_file() else []
bodies = [Path(word.removeprefix("body=@")).read_text() for word in words if word.startswith("body=@")]
if "--jq" in words:
    marker = words[words.index("--jq") + 1].split('"')[1]
    print("\\n".join(str(place) for place, body in enumerate(comments) if body.startswith(marker)))
elif "POST" in words:
    comments.append(bodies[0])
else:
    comments[int(words[-3].rpartition("/")[2])] = bodies[0]
kept.write_text(json.dumps(comments))
"""


@dataclass
class Runner:
    """A checkout with its environment; `comments` are those on the pull request."""

    place: Path
    env: dict[str, str]

    def run(self, event: str, **given: str) -> dict[str, int]:
        """The exit code of each step with a script, by name, until one fails; later ones only with `always()`."""
        inputs = {name: given.get(name, about.get("default", "")) for name, about in ACTION["inputs"].items()}
        outputs: dict[str, str] = {}
        codes: dict[str, int] = {}
        for step in ACTION["runs"]["steps"]:
            is_always = "always()" in step.get("if", "")
            is_skipped = "pull_request'" in step.get("if", "") and event != "pull_request"
            needed = re.search(r"hashFiles\('([^']+)'\)", step.get("if", ""))
            is_skipped |= needed is not None and not (self.place / needed[1]).is_file()
            if "run" not in step or step["name"] == "Install" or is_skipped or (any(codes.values()) and not is_always):
                continue
            said = self.place / "output"
            said.write_text("")
            env = {name: _filled(str(value), inputs, outputs) for name, value in step.get("env", {}).items()}
            done = subprocess.run(
                ["bash", "-c", step["run"]], cwd=self.place, capture_output=True, text=True, check=False,
                env={**self.env, **env, "GITHUB_EVENT_NAME": event, "GITHUB_OUTPUT": str(said)}
            )  # fmt: skip
            codes[step["name"]] = done.returncode
            outputs |= dict(line.split("=", 1) for line in said.read_text().splitlines())
            assert "Traceback" not in done.stderr, done.stderr
        return codes

    @property
    def comments(self) -> list[str]:
        kept = self.place / "comments.json"
        return json.loads(kept.read_text()) if kept.is_file() else []


def _filled(text: str, inputs: dict[str, str], outputs: dict[str, str]) -> str:
    """An expression of the runner's with what it stands for."""
    known = {f"inputs.{name}": value for name, value in inputs.items()}
    known |= {f"steps.gate.outputs.{name}": value for name, value in outputs.items()}
    known["github.event.pull_request.number"] = "7"
    return re.sub(r"\$\{\{ (\S+) \}\}", lambda match: known[match[1]], text)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "embassay").write_text(f'#!/bin/sh\nexec {sys.executable} -m embassay "$@"\n')
    (tools / "gh").write_text(GH.format(python=sys.executable, kept=str(tmp_path / "comments.json")))
    for tool in tools.iterdir():
        tool.chmod(0o755)
    rows = [{"text": f"The {word} is on shelf {n}", "label": word} for n in range(8) for word in ("kettle", "atlas")]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    env = {
        **os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src"),
        "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_REPOSITORY": "org/repo", "EMBASSAY_CACHE": str(tmp_path / "cache"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "GH_TOKEN": "none"
    }  # fmt: skip
    return Runner(tmp_path, env)


COMMAND = "embassay sage run -s jaccard -d notes.jsonl -t clustering --tokenizer words"
BAR = "--min 'sage.clustering[jaccard]>={}'"


def test_a_push_is_the_base_of_pull_requests(runner: Runner) -> None:
    """The run of the base branch is kept; a pull request that is as good passes and says so in one comment, which later
    pushes renew; one that misses a threshold fails, with the table."""
    assert not any(runner.run("push", command=COMMAND, gate=BAR.format(0.1)).values())
    assert (runner.place / ".embassay-action" / "base" / "manifest.json").is_file()
    assert runner.comments == []
    codes = runner.run("pull_request", command=COMMAND, gate=BAR.format(0.1))
    assert not any(codes.values())
    assert {"Run", "Gate", "Comment", "Verdict"} <= codes.keys()
    (said,) = runner.comments
    assert said.startswith("<!-- embassay-gate run -->")
    assert "| Threshold |" in said
    failed = runner.run("pull_request", command=COMMAND, gate=BAR.format(1.01))
    assert failed["Verdict"] != 0
    (renewed,) = runner.comments
    assert renewed != said
    assert (runner.place / ".embassay-action" / "report" / "report.html").is_file()
    assert "embassay-gate" in (runner.place / "summary.md").read_text()


def test_a_first_pull_request_has_nothing_to_compare_with(runner: Runner) -> None:
    """No stored run and no threshold: it passes, and says that nothing was gated."""
    assert not any(runner.run("pull_request", command=COMMAND).values())
    assert "nothing was gated" in runner.comments[0]


def test_a_run_that_fails_gates_nothing(runner: Runner) -> None:
    """The job fails at the run, and no comment claims anything."""
    codes = runner.run("pull_request", command="embassay sage run -s nonesuch -d notes.jsonl")
    assert codes["Run"] != 0
    assert "Gate" not in codes
    assert not runner.comments
