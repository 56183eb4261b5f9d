"""What a release takes beside the distributions: the workflow that publishes, the citation, conda's recipe."""

from __future__ import annotations

import re
import tomllib

import yaml
from environments import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def _yaml(name: str):
    # Keys as in YAML 1.2, where `on` is no truth value.
    return yaml.load((ROOT / name).read_text("utf-8"), Loader=yaml.BaseLoader)


def test_only_the_job_that_uploads_may_ask_for_a_token() -> None:
    """It runs none of our code, waits for the build and for a maintainer; nobody else may do anything but read."""
    workflow = _yaml(".github/workflows/release.yml")
    assert workflow["on"] == {"push": {"tags": ["v*"]}}
    assert workflow["permissions"] == {}
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert build["permissions"] == {"contents": "read"}
    assert publish["permissions"] == {"id-token": "write"}
    assert (publish["needs"], publish["environment"]) == ("build", "release")
    assert [step for step in publish["steps"] if "run" in step] == []
    assert "secrets." not in str(workflow)


def test_the_workflow_refuses_a_tag_of_another_version() -> None:
    """The command that compares them reads the version where it stands."""
    (check,) = [
        step["run"]
        for step in _yaml(".github/workflows/release.yml")["jobs"]["build"]["steps"]
        if "GITHUB_REF_NAME" in step.get("run", "")
    ]
    pattern = re.search(r"s/\^(.*?)\$/", check)[1].replace(r"\(.*\)", "(.*)")
    import embassay

    source = (ROOT / "src/embassay/__init__.py").read_text("utf-8")
    assert re.findall(f"(?m)^{pattern}$", source) == [embassay.__version__]


def test_the_recipe_has_the_core_of_pyproject() -> None:
    """Every dependency with its bound, and the Python; licence and command too."""
    recipe = _yaml("conda/recipe.yaml")
    python, *run = recipe["requirements"]["run"]
    assert sorted(line.replace(" ", "") for line in run) == sorted(PROJECT["dependencies"])
    assert python == "python >=${{ python_min }}"
    assert PROJECT["requires-python"] == f">={recipe['context']['python_min']}"
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["license_file"] == PROJECT["license-files"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    (entry,) = PROJECT["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(entry)]


def test_the_citation_is_of_this_project() -> None:
    """What a tool needs to cite it; the version is left to the release that is cited."""
    citation = _yaml("CITATION.cff")
    assert {"cff-version", "message", "title", "authors", "license", "type"} <= citation.keys()
    assert (citation["license"], citation["type"]) == ("Apache-2.0", "software")
    assert citation["keywords"] == PROJECT["keywords"]
    assert citation["title"] in (ROOT / "README.md").read_text("utf-8")
