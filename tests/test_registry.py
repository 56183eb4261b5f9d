"""The registry: names, near names, lazy factories, typed parameters and plug-ins of other packages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from embassay.errors import UsageError
from embassay.registry import Registry
from embassay.spec import CALL, COLON, QUERY, Spec, SpecStringParserAndFormatter

Make = Callable[..., Any]


def _registry(factory: Make | str, name: str = "thing", style: SpecStringParserAndFormatter = QUERY) -> Registry[Any]:
    registry: Registry[Any] = Registry("test system", style)
    registry.add(name, factory)
    return registry


def typed(
    dims: int = 3,
    scale: float = 1.0,
    label: str = "",
    on: bool = False,
    limit: int | None = 5,
    mode: Literal["none", "soft"] = "soft",
) -> tuple[Any, ...]:
    """Gives back what it got."""
    return dims, scale, label, on, limit, mode


def test_a_taken_name_is_an_error() -> None:
    """Registering a name twice is refused rather than the last one winning."""
    registry = _registry(typed)
    with pytest.raises(UsageError, match="'thing' is already taken"):
        registry.add("thing", typed)


def test_a_wrong_name_suggests_the_nearest() -> None:
    """A misspelt name is answered with the known names close to it and where to see all."""
    registry = _registry(typed, "levenshtein")
    registry.add("jaccard", typed)
    with pytest.raises(UsageError, match="no test system called 'levenstein'") as caught:
        registry.get("levenstein")
    assert "Did you mean levenshtein?" in caught.value.mend
    assert "embassay list test systems" in caught.value.mend


def test_a_kind_is_spelled_as_english_spells_it() -> None:
    """Of an index there are indexes, and what lacks something is told what an index has."""
    registry: Registry[Any] = Registry("index", makes=[["search"]])
    registry.add("flat", typed)
    assert (registry.plural, registry.group) == ("indexes", "embassay.indexes")
    with pytest.raises(UsageError, match="makes the index 'flat' of the type tuple, which has no search") as caught:
        registry.build("flat")
    assert caught.value.mend == "An index has search."


def test_a_far_name_suggests_nothing() -> None:
    """A name like no other gets no misleading suggestion."""
    with pytest.raises(UsageError) as caught:
        _registry(typed).parse_spec("zzzzzz?x=1")
    assert "Did you mean" not in caught.value.mend


def test_a_decorator_registers_with_the_docstring_as_summary() -> None:
    """`register` takes the factory's first docstring line as what `list` says of it, and extra facts stay."""
    registry: Registry[Any] = Registry("test system")

    @registry.register("one", source="SAGE A.7")
    def one() -> int:
        """The number one.

        More words.
        """
        return 1

    (entry,) = registry
    assert (entry.name, entry.summary, entry.facts) == ("one", "The number one.", (("source", "SAGE A.7"),))
    assert registry.build("one") == 1
    assert one() == 1


def test_a_lazy_factory_is_imported_when_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A "module:attribute" is not imported by listing, checking or parsing names, only by building."""
    (tmp_path / "lazy_module_of_a_test.py").write_text("def make(size: int = 1):\n    return [size]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = _registry("lazy_module_of_a_test:make")
    assert [entry.name for entry in registry] == ["thing"]
    registry.parse_spec("thing?size=2")
    assert "lazy_module_of_a_test" not in sys.modules
    assert registry.build("thing?size=2") == [2]


def test_the_order_of_listing_is_that_of_registration() -> None:
    """Iteration follows registration, so `list` is stable."""
    registry = _registry(typed, "b")
    registry.add("a", typed)
    assert [entry.name for entry in registry] == ["b", "a"]
    assert "a" in registry
    assert "c" not in registry


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("thing", (3, 1.0, "", False, 5, "soft")),
        ("thing?dims=10", (10, 1.0, "", False, 5, "soft")),
        ("thing?scale=2", (3, 2.0, "", False, 5, "soft")),
        ("thing?label=10", (3, 1.0, "10", False, 5, "soft")),
        ("thing?label=true", (3, 1.0, "true", False, 5, "soft")),
        ("thing?label='1.10'", (3, 1.0, "1.10", False, 5, "soft")),
        ("thing?on=true", (3, 1.0, "", True, 5, "soft")),
        ("thing?limit=none", (3, 1.0, "", False, None, "soft")),
        ("thing?mode=none", (3, 1.0, "", False, 5, "none")),
    ],
)
def test_parameters_get_the_types_of_the_signature(text: str, values: tuple[Any, ...]) -> None:
    """What type a parameter has is decided by the factory's signature, not by how the text looks."""
    built = _registry(typed).build(text)
    assert built == values
    assert list(map(type, built)) == list(map(type, values))


@pytest.mark.parametrize(
    ("text", "message", "mend"),
    [
        ("thing?dims=ten", "needs dims as int, found 'ten'", ""),
        ("thing?dims=1.5", "needs dims as int, found 1.5", ""),
        ("thing?dims=true", "needs dims as int, found True", ""),
        ("thing?dims=none", "needs dims as int, found None", ""),
        ("thing?scale=true", "needs scale as float, found True", ""),
        ("thing?on=1", "needs on as bool, found 1", "on=true or on=false"),
        ("thing?label=1.10", "needs label as str, found 1.1", "label='...'"),
        ("thing?label=none", "needs label as str, found None", "label='...'"),
        ("thing?mode=hard", "has no mode 'hard'", "none, soft"),
        ("thing?size=1", "has no parameter 'size'", "Its parameters: dims, scale, label, on, limit, mode"),
        ("thing:target", "takes nothing after ':', found 'target'", "Write 'thing'"),
    ],
)
def test_wrong_parameters_say_what_is_expected(text: str, message: str, mend: str) -> None:
    """A wrong type, an unknown parameter and a needless target are refused, with the mend."""
    with pytest.raises(UsageError, match=message) as caught:
        _registry(typed).build(text)
    assert mend in caught.value.mend


def test_a_float_is_never_taken_for_a_text() -> None:
    """`revision=12e45` is refused where a text is wanted: a number would be spelled otherwise."""

    def make(revision: str) -> str:
        return revision

    with pytest.raises(UsageError, match="needs revision as str"):
        _registry(make).build("thing?revision=12e45")
    assert _registry(make).build("thing?revision='12e45'") == "12e45"
    assert _registry(make).build("thing?revision=4e5f6a7") == "4e5f6a7"


def test_target_and_cutoff_reach_factories_that_take_them() -> None:
    """The part after the colon is `target`, the part after the at sign `cutoff`."""
    assert _registry(lambda target: target).build("thing:ORG/MODEL") == "ORG/MODEL"
    assert _registry(lambda target: target).build("thing") == ""
    assert _registry(lambda cutoff: cutoff, style=CALL).build("thing@10") == 10
    assert _registry(lambda cutoff: cutoff, style=CALL).build("thing") is None


def test_defaults_of_target_and_cutoff_hold() -> None:
    """A factory's own default for target or cutoff is not overwritten by their absence."""
    assert _registry(lambda target="base": target).build("thing") == "base"
    assert _registry(lambda cutoff=10: cutoff, style=CALL).build("thing") == 10


def test_a_cutoff_nobody_takes_is_refused() -> None:
    """`v_measure@10` is an error, not a v_measure that ignores the 10."""
    with pytest.raises(UsageError, match="takes nothing after '@', found 10"):
        _registry(lambda: 0, style=CALL).build("thing@10")


def test_target_and_cutoff_are_no_parameters() -> None:
    """What has its own place in the spelling cannot be given twice."""
    with pytest.raises(UsageError, match="has no parameter 'target'"):
        _registry(lambda target: target).build("thing:x?target=y")


def test_context_is_offered_by_name() -> None:
    """What the caller knows reaches only the factories that ask for it, and a parameter of the spec wins."""
    assert _registry(lambda tokenizer: tokenizer).build("thing", tokenizer="words", seed=1) == "words"
    assert _registry(lambda: 1).build("thing", tokenizer="words") == 1
    assert _registry(lambda seed: seed).build("thing?seed=2", seed=1) == 2
    with pytest.raises(UsageError, match="Its parameters: none"):
        _registry(lambda tokenizer: tokenizer).build("thing?x=1", tokenizer="words")


def test_build_takes_a_spec() -> None:
    """A parsed spec builds the same thing as its text."""
    assert _registry(typed).build(Spec("thing", "", {"dims": 7}))[0] == 7


def test_the_style_is_the_registrys() -> None:
    """Each registry reads and writes its own spelling."""
    registry = _registry(lambda p: p, "insertion", COLON)
    assert registry.build("insertion:p=0.15") == 0.15
    assert registry.format(registry.parse_spec("insertion:p=0.15")) == "insertion:p=0.15"


PLUGIN = """
class Upper:
    def __init__(self, times: int = 1):
        self.times = times

def make(times: int = 1):
    '''Letters made large.'''
    return Upper(times)

def broken():
    return {}["nothing"]
"""

CHILD = """
import sys
from embassay.registry import Registry
registry = Registry("gadget")
registry.add("own", lambda: 0)
assert "gadget_plugin" not in sys.modules
try:
    thing = registry.build("upper?times=3")
    print(thing.times, [entry.name + "|" + entry.summary for entry in registry])
    print([entry.summary for entry in registry.described()])
    registry.build("broken")
except Exception as error:
    print(type(error).__name__, error)
"""


def _install(folder: Path, name: str, entry_points: str) -> None:
    """What an installer leaves behind: a module and the metadata that names its entry points."""
    (folder / "gadget_plugin.py").write_text(PLUGIN)
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[embassay.gadgets]\n{entry_points}\n")


def _child(folder: Path) -> str:
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, "-c", CHILD]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_an_installed_package_joins_by_entry_point(tmp_path: Path) -> None:
    """A package that declares `embassay.<kind>s` is found, listed and built with parameters."""
    _install(tmp_path, "embassay-gadgets", "upper = gadget_plugin:make\nbroken = gadget_plugin:broken")
    listed, described, failed = _child(tmp_path).splitlines()
    assert listed.startswith("3 ['own|', 'upper|from the package embassay-gadgets'")
    assert "'Letters made large. (from the package embassay-gadgets)'" in described
    assert "'broken'" in failed
    assert "(gadget_plugin.py, line 1" in failed


def test_a_registry_of_another_package_names_what_it_has() -> None:
    """`embassay list` does not show it."""
    tasks: Registry[int] = Registry("task", group="shout.tasks")
    tasks.add("capitals", lambda: 1)
    with pytest.raises(UsageError, match="no task called 'quarters'") as caught:
        tasks.build("quarters")
    assert "capitals" in caught.value.mend
    assert "embassay list" not in caught.value.mend


def test_a_plugin_cannot_take_a_name(tmp_path: Path) -> None:
    """A package whose name clashes with a built-in one is named in the error."""
    _install(tmp_path, "embassay-gadgets", "own = gadget_plugin:make")
    answer = _child(tmp_path)
    assert answer.startswith("UsageError The package 'embassay-gadgets' provides the gadget 'own'")
    assert "Uninstall 'embassay-gadgets'" in answer


def test_a_factory_may_take_the_parameters_of_another() -> None:
    """What only `**parameters` take is passed on as it reads; the others keep their types."""

    def make(scale: float = 1.0, **others: object) -> object:
        return scale, others

    made = _registry(make).build("thing?scale=2&base_url=http://x&size=1", seed=3)
    assert made == (2.0, {"base_url": "http://x", "size": 1})


def test_common_parameters_are_split_off():
    """What every one of a kind can be given goes to `common`, converted; a factory's own parameter stays with it."""
    registry = Registry("thing")
    registry.add("plain", lambda size=1: size)
    registry.add("own", lambda dims=1: dims)

    def common(dims: int | None = None, scale: float = 1.0):
        return dims, scale

    rest, made = registry.split(registry.parse_spec("plain?dims=2&scale=3&size=4"), common)
    assert (registry.format(rest), made) == ("plain?size=4", (2, 3.0))
    rest, made = registry.split(registry.parse_spec("own?dims=2"), common)
    assert (registry.format(rest), made) == ("own?dims=2", (None, 1.0))
    with pytest.raises(UsageError, match="needs dims as int"):
        registry.split(registry.parse_spec("plain?dims=few"), common)
    with pytest.raises(UsageError, match=r"has no parameter 'x'\. Its parameters: size, dims\."):
        registry.build("plain?x=1", ("dims",))


@dataclass(frozen=True)
class Place:
    """What several factories have in common."""

    host: str = "here"
    port: int | None = None


def test_a_record_is_made_of_its_fields() -> None:
    """The fields of a default that is a dataclass are parameters of the spec, converted and listed like others."""

    def make(place: Place = Place("there"), scale: float = 1.0) -> object:
        return place, scale

    assert _registry(make).build("thing?port=8&scale=2") == (Place("there", 8), 2.0)
    with pytest.raises(UsageError, match=r"no parameter 'x'.*Its parameters: host, port, scale"):
        _registry(make).build("thing?x=1")
    with pytest.raises(UsageError, match="needs port as int"):
        _registry(make).build("thing?port=here")


def test_every_numeric_parameter_has_a_range() -> None:
    """Whatever registry it is of: a new parameter of a spec string says in RANGES what it may be."""
    from embassay.measures.registry import MEASURES
    from embassay.protocols.rag.judges import JUDGES
    from embassay.protocols.rag.ranking.engines import ENGINES
    from embassay.registry import RANGES, _map_factory_parameters_by_name
    from embassay.search.indexes import INDEXES
    from embassay.systems import SYSTEMS
    from embassay.systems.chat import CHAT_MODELS
    from embassay.systems.rerankers import RERANKERS
    from embassay.text.perturbations import PERTURBATIONS

    found: set[str] = set()
    for registry in (MEASURES, JUDGES, ENGINES, INDEXES, SYSTEMS, CHAT_MODELS, RERANKERS, PERTURBATIONS):
        for entry in registry:
            for name, one in _map_factory_parameters_by_name(registry._load_factory(entry.name))[0].items():
                kinds = getattr(one.annotation, "__args__", (one.annotation,))
                # Neither a target, which is a text, nor what only code gives.
                if {int, float} & set(kinds) and str not in kinds:
                    found.add(name)
    assert len(found) > 40
    assert not found - RANGES.keys()


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ("k1=1e400", "finite and at least 0"),
        ("concurrency=0", "from 1 to 2147483647"),
        ("rpm=0", "finite and above 0"),
        ("timeout=-1", "above 0 to 86400"),
        ("price=-1", "from 0 to 1000000"),
        ("ef=-1", "from 1 to"),
        ("whatever=1e400", "finite"),
    ],
)
def test_numbers_out_of_range_are_refused(given: str, allowed: str) -> None:
    """One table for all kinds; a parameter that is not in it need only be finite. Nothing is made of it."""
    made: list[object] = []

    def factory(**parameters: Any) -> object:
        made.append(parameters)
        return parameters

    with pytest.raises(UsageError, match=f"does not accept {given.partition('=')[0]}=.*{allowed}"):
        _registry(factory).build(f"thing?{given}")
    assert not made
