"""Languages, hashes and reading of answers: what the specification lists as checks (spec hteb 14, 1 and 4)."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.contracts import Completion, Usage
from embassay.errors import UsageError
from embassay.protocols.hteb.options import (
    PIVOTS,
    TARGETS,
    TRANSFORMATIONS,
    HtebOptions,
    TransformOptions,
    draw_text_language,
    draw_translation_language,
    exclude_own_languages,
    format_step_instruction,
    parse_language_names,
    parse_model_families,
    parse_transformations,
    set_options_to_reference,
)
from embassay.protocols.hteb.slots import TASKS, NumberedTextSlots, TransformationSlot
from embassay.protocols.hteb.transformers import LLMTextTransformer, has_wrong_length_change, parse_transformed_text

LANGUAGES = {
    "banking77": ("Turkish", "Turkish", "Arabic"),
    "stsbenchmark-sts": ("Arabic", "Arabic", "Arabic"),
    "SciFact": ("Arabic", "German", "German"),
    "arguana": ("Arabic", "French", "Arabic"),
    "biosses-sts": ("Spanish", "French", "German"),
    "summeval": ("German", "Turkish", "Turkish"),
    "TwitterHjerneRetrieval": ("Arabic", "Turkish", "German"),
}


@pytest.mark.parametrize("dataset", LANGUAGES)
def test_a_dataset_goes_to_the_language_of_the_reference(dataset):
    """Seven datasets with three seeds each, as the authors' code draws them."""
    assert tuple(draw_translation_language(dataset, seed, TARGETS) for seed in (1337, 1338, 1339)) == LANGUAGES[dataset]


def test_texts_go_to_the_languages_of_the_reference():
    """The first eight draws of two seeds, which are each other's moved by one, and the counts over Banking77."""
    drawn = [[draw_text_language(seed, i, TARGETS) for i in range(9)] for seed in (1337, 1338)]
    words = "Arabic German French German Turkish Spanish German Turkish Spanish"
    assert drawn[0] == words.split()
    assert drawn[1][:8] == drawn[0][1:]
    counts = Counter(draw_text_language(1337, i, TARGETS) for i in range(13_069))
    assert counts == {"Spanish": 2675, "Arabic": 2637, "Turkish": 2621, "French": 2592, "German": 2544}


def test_a_text_never_goes_to_its_own_language():
    """The source is no candidate, unless it is the only one; pivots begin with English."""
    assert exclude_own_languages(TARGETS, ["Arabic"]) == TARGETS[:4]
    assert exclude_own_languages(["Arabic"], ["Arabic"]) == ("Arabic",)
    assert ("English", *TARGETS) == PIVOTS


def test_varieties_of_arabic():
    """They are Arabic, or, as in the reference, languages that may be translated to Arabic."""
    for code in ("arb", "arq", "ary"):
        assert exclude_own_languages(TARGETS, parse_language_names(code)) == TARGETS[:4]
        assert exclude_own_languages(TARGETS, parse_language_names(code, varieties=True)) == TARGETS


@pytest.mark.parametrize("transformation", TRANSFORMATIONS.values(), ids=lambda one: one.name)
def test_every_step_has_an_instruction_that_forbids_answering(transformation):
    """And that asks for the text alone; translations name both languages."""
    for step in transformation.steps:
        said = format_step_instruction(step, "English", "German")
        assert "{" not in said
        assert "never answer" in said
        assert ("from English to German" in said) == (step == "translation")


READ = {
    '{"transformed_text": " A fox. "}': "A fox.",
    '```json\n{"transformed_text": "A fox."}\n```': "A fox.",
    'Here it is: {"transformed_text": "A fox."} I hope it helps.': "A fox.",
    "{'transformed_text': 'A fox.'}": "A fox.",
    '{"transformed_text": "A \\"red\\" fox.", "note": oops': 'A "red" fox.',
    '<think>{"transformed_text": "no"}</think>{"transformed_text": "A fox."}': "A fox.",
    '{"transformed_text": "[text] is a word"}': "[text] is a word",
    '{"transformed_text": "😂👍"}': "😂👍",
    '{"transformed_text": "你好吗？"}': "你好吗？",
}
UNUSABLE = {
    "[]": "invalid JSON", '"x"': "invalid JSON", '{"text": "x"}': "invalid JSON", "...": "invalid JSON",
    "": "invalid JSON", "A fox.": "invalid JSON", '{"transformed_text": 5}': "invalid JSON", "null": "invalid JSON",
    '{"transformed_text": "n/a"}': "invalid text", '{"transformed_text": "<TEXT>"}': "invalid text",
    '{"transformed_text": "..."}': "invalid text", '{"transformed_text": "。！—"}': "invalid text",
    '{"transformed_text": " "}': "invalid text",
}  # fmt: skip


@pytest.mark.parametrize("answer", READ)
def test_an_answer_is_read_however_it_is_wrapped(answer):
    """JSON, fenced, with words around it, a Python literal, or broken with a readable field."""
    assert parse_transformed_text(answer).text == READ[answer]


@pytest.mark.parametrize("answer", UNUSABLE)
def test_what_is_no_text_is_refused_with_its_kind(answer):
    """Another shape, or a placeholder in place of a text."""
    assert parse_transformed_text(answer).outcome == UNUSABLE[answer]


def test_without_structure_the_whole_answer_is_the_text():
    """Thinking is taken off."""
    assert parse_transformed_text("<think>Hm.</think> A fox.", structured=False).text == "A fox."


@given(st.text(max_size=60))
def test_any_text_survives_its_wrapping(text):
    """What is put into the field comes out stripped, or is said to be no text."""
    import json

    found = parse_transformed_text(json.dumps({"transformed_text": text}))
    assert found.outcome in ("ok", "invalid text")
    if found.outcome == "ok":
        assert found.text == text.encode("utf-8", "replace").decode().strip()


@given(st.text(max_size=200))
def test_no_answer_breaks_the_reader(answer):
    """Whatever a model says."""
    assert parse_transformed_text(answer).outcome in ("ok", "invalid JSON", "invalid text")


def test_axes_and_names_can_be_chosen_together():
    """In the order of the paper, each once; what is none is refused with the nearest."""
    assert parse_transformations(["language, paraphrasing", "translation"]) == (
        "paraphrasing", "translation", "cross_translation",
    )  # fmt: skip
    with pytest.raises(UsageError, match="names no transformation"):
        parse_transformations([" , "])
    with pytest.raises(UsageError, match="expanson") as refused:
        parse_transformations(["expanson"])
    assert "expansion" in refused.value.mend


def test_reference_sets_every_trap():
    """Each option with a value of that name has it afterwards."""
    options, texts = set_options_to_reference(HtebOptions()), set_options_to_reference(TransformOptions())
    assert (options.languages, options.corpus, options.evaluation_seed) == ("reference",) * 3
    assert (options.semrel, options.candidates, options.prompts) == ("reference",) * 3
    assert (texts.length, texts.seeds, texts.documents, texts.arabic) == ("reference",) * 4


@pytest.mark.parametrize("wrong", [{"top_k": 0}, {"top_p": 0}, {"max_tokens": 0}, {"retries": -1}, {"length": "x"}])
def test_settings_that_cannot_be_are_refused(wrong):
    """Before anything is asked."""
    with pytest.raises(UsageError):
        TransformOptions(**wrong)


def test_families_are_sorted_by_size():
    """And one of a single member is none."""
    assert parse_model_families(["e5=b:2,a:0.1"]) == (("e5", (("a", 0.1), ("b", 2.0))),)
    for wrong in ("e5", "e5=a:1", "=a:1,b:2", "e5=a:x,b:2"):
        with pytest.raises(UsageError):
            parse_model_families([wrong])


def test_the_way_a_length_goes():
    """Equal is neither longer nor shorter."""
    assert has_wrong_length_change("longer", "abc", "abc")
    assert has_wrong_length_change("shorter", "abc", "abc")
    assert not has_wrong_length_change("longer", "abc", "abcd")


def _slots(rows, dataset="mine"):
    return NumberedTextSlots(
        "sts", dataset, tuple((f"first:{i}", text, label, i) for i, (text, label) in enumerate(rows))
    )


def test_equal_texts_are_asked_for_once_but_where_languages_are_drawn():
    """One language for all: one answer; a language for each: as many as there are places."""
    slots = _slots([("a b", "en"), ("a b", "en"), ("c d", "en")])
    options = TransformOptions()
    assert len({one.place for one in slots.list_slots_to_fill(TRANSFORMATIONS["expansion"], 1337, options)}) == 1
    assert (
        len({one.place for one in slots.list_slots_to_fill(TRANSFORMATIONS["cross_translation"], 1337, options)}) == 3
    )


def test_translation_leaves_out_both_languages_of_a_pair():
    """So partners stay in one language, and equal texts of other pairs are told apart."""
    label = "de-fr"
    slots = _slots([("ein Satz", label), ("ein Satz", "en-de")], "biosses")
    found = list(slots.list_slots_to_fill(TRANSFORMATIONS["translation"], 1337, TransformOptions()))
    assert [one.written for one in found] == ["German", "English"]
    assert found[0].language == draw_translation_language("biosses-sts", 1337, ("Spanish", "Turkish", "Arabic"))
    assert found[0].place != found[1].place


def test_title_and_body_share_a_language_unless_as_in_the_reference():
    """One draw for a document, the title's."""
    rows = (("title:d", "Foxes", "en", 0), ("document:d", "Red ones.", "en", 1), ("query:q", "Which?", "en", 2))
    slots = NumberedTextSlots("retrieval", "mine", rows)
    for documents, alike in (("one-language", True), ("reference", False)):
        options = TransformOptions(documents=documents)
        title, body, _ = slots.list_slots_to_fill(TRANSFORMATIONS["cross_translation"], 1337, options)
        assert (title.language == body.language) is alike


def test_independent_seeds_have_nothing_in_common():
    """Neighbouring seeds share no draw and no sampling seed; those of the reference are moved by one."""
    slots = _slots([(f"text {i}", "en") for i in range(40)])
    of = TRANSFORMATIONS["cross_translation"]
    near, far = (
        [
            [
                (one.language, one.seed(seed, independent=seeds == "independent"))
                for one in slots.list_slots_to_fill(of, seed, options)
            ]
            for seed in (1337, 1338)
        ]
        for seeds in ("reference", "independent")
        for options in [TransformOptions(seeds=seeds)]
    )
    assert [language for language, _ in near[0][1:]] == [language for language, _ in near[1][:-1]]
    assert [language for language, _ in far[0][1:]] != [language for language, _ in far[1][:-1]]
    assert not {seed for _, seed in far[0]} & {seed for _, seed in far[1]}


ENGLISH = "The committee will publish its report about the new bridge before the end of the winter."
GERMAN = "Der Ausschuss wird seinen Bericht über die neue Brücke vor dem Ende des Winters veröffentlichen."


@pytest.mark.parametrize(
    ("name", "step", "said", "outcome"),
    [
        ("expansion", 0, "As an AI language model, I cannot expand this text.", "refused"),
        ("backtranslation", 1, "I'm sorry, but I can't assist with that.", "refused"),
        ("expansion", 0, "これはまったく別の文です。橋についての報告です。", "wrong language"),
        ("backtranslation", 1, "これはまったく別の文です。橋についての報告です。", "wrong language"),
        ("backtranslation", 0, GERMAN, "ok"),
        ("translation", 0, GERMAN, "ok"),
        ("expansion", 0, f"{ENGLISH} Everybody in the town has waited for it.", "ok"),
    ],
)
def test_a_refusal_or_another_language_is_no_transformation(name, step, said, outcome):
    """What the model declines, and what is to stay in its language and did not; translations go where they should."""
    transformer = object.__new__(LLMTextTransformer)
    transformer.of, transformer.options = TRANSFORMATIONS[name], TransformOptions(structured=False)
    slot = TransformationSlot(ENGLISH, "en", "", written="English", language="German")
    answer = Completion(said, None, Usage(), "m", "stop")
    assert transformer._convert_answer_to_wording_draw(slot, step, ENGLISH, answer).outcome == outcome


def test_training_texts_keep_their_words_where_asked():
    """`--classification-texts test`, as in PTEB."""
    options = replace(HtebOptions(), classification_texts="test")
    assert TASKS.build("classification").unworded(options) == ("train:",)
    assert TASKS.build("classification").unworded(HtebOptions()) == ()
