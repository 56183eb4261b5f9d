"""What a set of published results holds: whose, of which tasks, on which splits and versions of the data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from embassay.protocols.mteb.document import Document, is_name, languages
from embassay.protocols.mteb.types import task_of

MANY = "mul"
_TEST = "test"


@dataclass
class TaskSurvey:
    """One task: its type, and how many documents there are of each split, version of the data and language."""

    kind: str
    splits: Counter[str] = field(default_factory=Counter)
    revisions: Counter[str] = field(default_factory=Counter)
    langs: Counter[str] = field(default_factory=Counter)

    @property
    def split(self) -> str:
        """The split that counts: `test`, else the one that most documents have."""
        if _TEST in self.splits or not self.splits:
            return _TEST
        return min(self.splits, key=lambda name: (-self.splits[name], name))

    @property
    def lang(self) -> str:
        """The only language, or `mul`."""
        return next(iter(self.langs), "") if len(self.langs) < 2 else MANY


def _revision(document: Document) -> str:
    name = document.body.get("dataset_revision")
    return name if isinstance(name, str) and is_name(name) else ""


@dataclass
class Survey:
    """All documents, counted as they are read."""

    documents: int = 0
    tasks: dict[str, TaskSurvey] = field(default_factory=dict)
    versions: dict[str, dict[tuple[str, str], None]] = field(default_factory=dict)
    """Model -> its revisions with their experiments, in the order in which they came."""

    def add(self, document: Document) -> None:
        """Count a document."""
        self.documents += 1
        self.versions.setdefault(document.model, {})[document.revision, document.experiment] = None
        task = self.tasks.setdefault(document.task, TaskSurvey(task_of(document)))
        task.revisions[_revision(document)] += 1
        for split, entry in document.entries():
            task.splits[split] += 1
            task.langs.update(languages(entry))

    def system(self, document: Document) -> str:
        """What the document's system is called in a run; see `system_name`."""
        return self.system_name(document.model, document.revision, document.experiment)

    def system_name(self, model: str, revision: str, experiment: str) -> str:
        """The model's name; with its revision (and experiment) where the results are of more than one."""
        if len(self.versions[model]) == 1:
            return model
        return f"{model}@{revision}" + (f"/{experiment}" if experiment else "")

    def systems(self) -> dict[str, tuple[str, str, str]]:
        """Every system's name with its model, revision and experiment, in order."""
        return {
            self.system_name(model, *version): (model, *version)
            for model, versions in self.versions.items()
            for version in versions
        }

    @property
    def kinds(self) -> dict[str, list[str]]:
        """Type of task -> the tasks of it, in order."""
        found: dict[str, list[str]] = {}
        for name, task in self.tasks.items():
            found.setdefault(task.kind, []).append(name)
        return found
