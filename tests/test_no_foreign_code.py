"""Nothing in the package runs code that it is given: no pickles, no eval, no shells, no guessable temporary files."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pytest

from source import PACKAGE, on_one_worker, parsed

MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle", "jsonpickle", "pty"}
CALLS = {"eval", "exec", "compile", "__import__"}
ATTRIBUTES = {
    "mktemp", "unsafe_load", "full_load", "load_all", "extractall", "unpack_archive", "read_pickle",
    "to_pickle",
}  # fmt: skip
ALLOWED = {
    ("runs/cluster/connection.py", "cloudpickle"): "Ray's own, between processes of one run that it started itself"
}
"""File and what it may use, with the reason."""


def faults(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and name of everything that could run what is given."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [one.name for one in node.names]
            origin = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
            yield from ((node.lineno, name) for one in (*names, *origin) if (name := one.split(".")[0]) in MODULES)
        elif isinstance(node, ast.Attribute) and node.attr in MODULES | ATTRIBUTES:
            yield node.lineno, node.attr
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, what) for what in _called(node))


def _called(node: ast.Call) -> Iterator[str]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    owner = getattr(getattr(node.func, "value", None), "id", "")
    given = {one.arg: one.value for one in node.keywords}
    if isinstance(node.func, ast.Name) and name in CALLS:
        yield name
    if isinstance(node.func, ast.Name) and name in ("import_module",) and node.args and _is_text(node.args[0]):
        yield from (one for one in MODULES if str(node.args[0].value) == one)  # type: ignore[attr-defined]
    for switch in ("shell", "allow_pickle", "trust_remote_code"):
        if isinstance(given.get(switch), ast.Constant) and given[switch].value:  # type: ignore[attr-defined]
            yield f"{switch}=True"
    if owner == "os" and name in ("system", "popen"):
        yield f"os.{name}"
    if (owner, name) == ("torch", "load") and not _true(given.get("weights_only")):
        yield "torch.load"
    if (owner, name) == ("yaml", "load") and "Loader" not in given:
        yield "yaml.load"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


@on_one_worker
def test_nothing_runs_what_it_is_given() -> None:
    """What is allowed is named above with its reason, and is still there."""
    found = {
        (path.relative_to(PACKAGE).as_posix(), what): line
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, what in faults(parsed(path))
    }
    assert not {f"{file}:{found[file, what]} {what}" for file, what in found if (file, what) not in ALLOWED}
    assert set(ALLOWED) <= set(found), "no longer needed"


def test_the_loader_of_yaml_is_a_safe_one() -> None:
    """It builds nothing but texts, numbers, lists and mappings, whatever its tags say."""
    import yaml

    from embassay.data import yaml as yaml12

    assert issubclass(yaml12._Yaml12Loader, yaml.SafeLoader | getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    with pytest.raises(yaml.YAMLError):
        yaml.load("!!python/object/apply:os.getcwd []", Loader=yaml12._Yaml12Loader)


@pytest.mark.parametrize(
    "line",
    [
        "import pickle", "from pickle import loads", "import joblib.memory", "eval(x)", "exec(x)",
        "np.load(p, allow_pickle=True)", "torch.load(p)", "torch.load(p, weights_only=False)", "yaml.load(x)",
        "yaml.unsafe_load(x)", "subprocess.run(x, shell=True)", "os.system(x)", "tempfile.mktemp()",
        "AutoModel.from_pretrained(p, trust_remote_code=True)", "archive.extractall(p)", "pd.read_pickle(p)",
        "import_module('pickle')",
    ],
)  # fmt: skip
def test_the_search_knows_what_runs_code(line: str) -> None:
    """The test above would notice."""
    assert list(faults(ast.walk(ast.parse(line))))


@pytest.mark.parametrize(
    "line",
    [
        "re.compile(x)", "ast.literal_eval(x)", "torch.load(p, weights_only=True)", "yaml.load(x, Loader=Safe)",
        "model.eval()", "load(p, trust_remote_code=trust_remote_code)", "subprocess.run([x], shell=False)",
        "import_module('numpy')",
    ],
)  # fmt: skip
def test_the_search_leaves_the_rest_alone(line: str) -> None:
    assert not list(faults(ast.walk(ast.parse(line))))
