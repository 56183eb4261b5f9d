"""The README as a package index shows it: links and pictures that lead somewhere without the repository beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<picture>!?)\[(?P<label>[^]]*)\]\((?!\w+:|#)(?P<path>[^)]+)\)")


def readme_for_index(text: str, repository: str | None, version: str) -> str:
    """`text` with its relative links made absolute, to the files of this version in `repository`.

    Without a repository a link becomes its label, and a picture is left out: better no link than a dead one.
    """
    tag = "main" if "dev" in version else f"v{version}"

    def replaced(link: re.Match[str]) -> str:
        if repository is None:
            return "" if link["picture"] else link["label"]
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['label']}]({repository.rstrip('/')}/{kind}/{tag}/{link['path']})"

    return _LINK.sub(replaced, text)


class ReadmeHook(MetadataHookInterface):
    """Sets the project's description. The repository is `Repository` of pyproject.toml's `[project.urls]`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README to the project's metadata."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": readme_for_index(text, repository, metadata["version"]),
        }
