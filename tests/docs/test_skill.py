"""What coding agents are given is true: the skill's commands and options, links of llms.txt, the size of AGENTS.md."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
COMMON = REFERENCE.split("### Options of many commands", 1)[1].split("\n### ", 1)[0]


def test_commands_of_the_skill_have_the_options_it_names() -> None:
    """Each `embassay ...` line of SKILL.md against the reference of that command."""
    skill = (files("embassay") / "SKILL.md").read_text(encoding="utf-8")
    lines = re.findall(r"`embassay ([^`]+)`", skill)
    assert len(lines) >= 10
    for line in lines:
        words = line.split()
        sections = [f"### `embassay {' '.join(words[:n])}`\n" for n in (2, 1)]
        section = next(head for head in sections if head in REFERENCE)
        reference = REFERENCE.split(section, 1)[1].split("\n### ", 1)[0] + COMMON
        for option in (word for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word)):
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", reference), (line, option)


def test_pages_that_models_are_sent_to_exist() -> None:
    """Every link of llms.txt."""
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8"))
    assert len(links) > 15
    assert not [link for link in links if not (ROOT / "docs" / link).is_file()]


def test_the_guide_for_agents_is_short() -> None:
    """At most 60 lines, and the files that it names are there."""
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    named = re.findall(r"(?:tests|docs|src)/[\w/]+\.(?:py|md)", text)
    assert not [name for name in named if name != "src/embassay/a/b.py" and not (ROOT / name).is_file()]
