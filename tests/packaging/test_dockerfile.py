"""The image's recipe: what can be held without building it. `dockerfile_steps.py` carries it out."""

from __future__ import annotations

import tomllib

import pytest
from dockerfile import Step, cached_folder, context, expanded, steps
from environments import MINILM, ROOT

IGNORE = (ROOT / ".dockerignore").read_text()
STEPS = list(steps((ROOT / "Dockerfile").read_text()))


def said(verb: str) -> list[Step]:
    return [step for step in STEPS if step.verb == verb]


def test_it_is_slim_and_run_by_nobody_in_particular() -> None:
    """A slim base, no torch, another user than root after the last step that changes files; it is the command."""
    assert all("slim" in step.text for step in said("FROM"))
    assert said("ENTRYPOINT")[0].words() == ["embassay"]
    (user,) = said("USER")
    assert user.text not in ("root", "0")
    after = [step.verb for step in STEPS[STEPS.index(user) :]]
    assert not {"RUN", "COPY"} & set(after)
    assert said("VOLUME")[0].words() == ["/runs", "/cache"]


def test_it_installs_extras_that_exist_and_the_weights_that_are_tested() -> None:
    """Its extras are of pyproject.toml, and MiniLM is the version that the tests know."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    extras = said("ARG")[0].text.removeprefix("EXTRAS=").split(",")
    assert set(extras) <= set(declared) - {"torch", "mteb"}
    (install,) = [step for step in said("RUN") if cached_folder(step)]
    assert MINILM in install.text
    assert cached_folder(install) == "/var/cache/pip"


def test_its_context_is_the_package_and_nothing_else() -> None:
    """What .dockerignore leaves is what is copied: no history, tests, environments, runs or caches."""
    copied = [name for step in said("COPY") if "from" not in step.options for name in step.words()[:-1]]
    for name in ("tests", "docs", "Makefile", ".ci", ".gitignore"):
        assert list(context(ROOT, name, IGNORE)) == []
    files = [path for name in copied for path in context(ROOT, name, IGNORE)]
    assert {path.parts[0] for path in files} == {*("LICENSE", "README.md", "hatch_build.py", "pyproject.toml", "src")}
    assert not [path for path in files if "__pycache__" in path.parts or path.suffix in (".nbi", ".nbc", ".pyc")]
    assert ROOT / "src/embassay/py.typed" in [ROOT / path for path in files]


@pytest.mark.parametrize(
    ("text", "values", "said"),
    [("/a:$PATH", {"PATH": "/b"}, "/a:/b"), ("${A}c$B", {"A": "x"}, "xc"), ("none", {}, "none")],
)
def test_variables(text: str, values: dict[str, str], said: str) -> None:
    """As engines replace them."""
    assert expanded(text, values) == said


def test_options_forms_and_comments() -> None:
    """Options stand before the rest, lists are arguments, a comment within a step is none of it."""
    first, second = steps('COPY --from=build \\\n  # why\n  /a /b\nCMD ["one", "two words"]\n')
    assert (first.options, first.words(), first.listed()) == ({"from": "build"}, ["/a", "/b"], None)
    assert second.words() == ["one", "two words"]
