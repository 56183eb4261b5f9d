"""The project's old name, which another project on the package index has, is gone."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

OLD = re.compile("(?<!re)" + "sembl" + "ance", re.IGNORECASE)
"""But for "resemblance", which is a measure."""


def test_the_old_name_stands_in_one_line_of_the_changelog_alone(root: Path) -> None:
    """Neither in a text nor in a path, so that no command, variable or file of ours is taken for another project's."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True)
    paths = [path for path in listed.stdout.decode().split("\0") if path and (root / path).is_file()]
    assert len(paths) > 300
    assert [path for path in paths if OLD.search(path)] == []
    places = []
    for path in paths:
        text = (root / path).read_bytes().decode("utf-8", "ignore")
        places += [path for line in text.splitlines() if OLD.search(line)]
    assert places == ["CHANGELOG.md"]
