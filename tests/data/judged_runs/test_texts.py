"""Texts of engines found among passages: with their signs, in scripts of all kinds, and never the first of several."""

from __future__ import annotations

import pytest

from embassay.data.judged_runs.texts import AnswerTextMatcher, normalize_text_for_matching

TWINS = [
    ("The plug-in works with C++ only.", "The plug-in works with C# only."),
    ("Set the valve to +5 °C.", "Set the valve to -5 °C."),
    ("Rate: 1.5 percent of it.", "Rate: 1,5 percent of it."),
    ("if (a == b) return;", "if (a != b) return;"),
    ("x < y holds", "x > y holds"),
    ("\U0001f44d\U0001f44d", "\U0001f44e\U0001f44e"),
    ("\U0001f469\u200d\U0001f467", "\U0001f469\U0001f467"),
    ("10² m", "102 m"),
    ("H₂O", "H2O"),
    ("वह रोज़ बाज़ार जाता था और दूध लाता था।", "वह रोज़ बाज़ार जाती थी और दूध लाती थी।"),
    ("كَتَبَ الولد الدرس في البيت", "كُتِبَ الولد الدرس في البيت"),
    ("שָׁלוֹם עֲלֵיכֶם", "שַׁלוֹם עֲלֵיכֶם"),
    ("เขาไปตลาด", "เขาใปตลาด"),
    ("价格是50%", "价格是50‰"),
    ("5 €", "5 $"),
    ("~5 km", "5 km"),
    ("@home", "#home"),
]


@pytest.mark.parametrize("twins", TWINS)
def test_signs_tell_texts_apart(twins: tuple[str, str]) -> None:
    """Passages and questions, whichever stands first, with other blanks too."""
    for texts in (twins, twins[::-1]):
        names = dict(zip("ab", texts, strict=True))
        for name, text in names.items():
            for asked in (text, f"  {text}\n", text.replace(" ", "\u00a0")):
                assert AnswerTextMatcher(names).find_passage_by_text(asked) == name
                assert AnswerTextMatcher({}, names).question(asked) == name
            twin = next(other for other in "ab" if other != name)
            assert AnswerTextMatcher({twin: names[twin]}).find_passage_by_text(text) is None
            assert AnswerTextMatcher({}, {twin: names[twin]}).question(text) == text


LONG = (
    "The museum opens at nine on weekdays and at ten on Sundays, and closes when the last of its visitors has left it."
)


@pytest.mark.parametrize(
    "changed",
    [
        LONG.upper(),
        LONG.replace(" ", "  \n"),
        f"## {LONG}",
        f"> **{LONG}**",
        LONG.replace("museum", "_museum_"),
        LONG.replace("Sundays,", "Sundays"),
        LONG.replace("opens", "\u200bop\u00adens"),
        LONG.replace("museum", "“museum”"),
        "Before it. " + LONG + " After it.",
        LONG[10:90],
        "closes when the last of its visitors has left it. And this is from what follows.",
    ],
)
def test_converters_change_texts(changed: str) -> None:
    """Case, blanks, Markdown, quotation marks, commas, signs that nobody sees, and another way of cutting."""
    assert (
        AnswerTextMatcher(
            {"other": "Tickets cost twelve euros for adults and six for children.", "d": LONG}
        ).find_passage_by_text(changed)
        == "d"
    )


@pytest.mark.parametrize(
    ("word", "other"),
    [("museum", "library"), ("nine", "-9"), ("Sundays,", "Sundays+"), ("it.", "its."), ("The", "Then")],
)
def test_a_word_that_differs_is_another_text(word: str, other: str) -> None:
    """Where the passage itself is not in the corpus, its twin is not taken for it, nor a part of it."""
    twin = LONG.replace(word, other)
    assert twin != LONG
    for text in (LONG, LONG[4:-4] if word in LONG[4:-4] else LONG):
        assert AnswerTextMatcher({"d": twin}).find_passage_by_text(text) is None


PARTS = {
    "Japanese": (
        "駐車場は建物の裏にあります。訪問者は受付で許可証を受け取ってください。",
        "駐車場は建物の裏にあります。",
    ),
    "Chinese": ("停车场在大楼后面。访客请在前台领取许可证,并在离开时交还。", "访客请在前台\n领取许可证"),
    "Thai": ("ที่จอดรถอยู่ด้านหลังอาคารผู้มาติดต่อโปรดรับบัตรที่แผนกต้อนรับ", "ผู้มาติดต่อโปรดรับบัตร"),
    "Khmer": ("ចំណតរថយន្តស្ថិតនៅខាងក្រោយអគារ សូមទទួលប័ណ្ណនៅកន្លែងទទួលភ្ញៀវ", "ស្ថិតនៅខាងក្រោយអគារ"),
    "Hindi": ("पार्किंग भवन के पीछे है। आगंतुक कृपया स्वागत कक्ष से अनुमति पत्र लें।", "आगंतुक कृपया स्वागत कक्ष से अनुमति पत्र"),
    "Korean": (
        "주차장은 건물 뒤에 있습니다. 방문자는 안내 데스크에서 허가증을 받으세요.",
        "방문자는 안내 데스크에서 허가증을 받으세요",
    ),
    "Arabic": (
        "موقف السيارات خلف المبنى. على الزوار أخذ التصريح من مكتب الاستقبال.",
        "على الزوار أخذ التصريح من مكتب الاستقبال",
    ),
}


@pytest.mark.parametrize(("whole", "part"), PARTS.values(), ids=PARTS)
def test_parts_of_passages_in_any_script(whole: str, part: str) -> None:
    """Scripts without blanks by their signs."""
    other = "会議室の予約は総務部で受け付けます。前日までに申し込んでください。"
    assert AnswerTextMatcher({"other": other, "d": whole}).find_passage_by_text(part) == "d"


def test_what_fits_several_is_none_of_them() -> None:
    """Equal texts, texts that differ in case alone, a part of two, and a text that holds two; each is counted."""
    ten = "Tickets for the museum cost twelve euros for adults and six for children."
    known = AnswerTextMatcher(
        {"a": LONG, "b": LONG, "c": "US rules", "d": "us rules", "e": ten, "f": f"Prices. {ten} And so on."}
    )
    for text in (LONG, "Us rules", "the museum cost twelve euros for adults and six"):
        assert known.place(text, "q") is None
    assert known.place("us rules", "q") == "d"
    two = AnswerTextMatcher({"a": LONG, "e": ten})
    assert two.place(f"{LONG} {ten}", "q") is None
    assert (known.ambiguous, known.matched, known.unmatched, two.ambiguous) == (3, 1, 0, 1)


def test_of_equal_passages_the_judged_one() -> None:
    """They are one to a reader, so a judgement of one is it; two that were judged differently are none."""
    texts = {"a": LONG, "b": LONG}
    assert AnswerTextMatcher(texts, {}, lambda: {"q": {"b": 5.0}}).place(LONG, "q") == "b"
    assert AnswerTextMatcher(texts, {}, lambda: {"q": {"a": 1.0, "b": 5.0}}).place(LONG, "q") is None
    alike = AnswerTextMatcher(texts, {}, lambda: {"q": {"a": 5.0, "b": 5.0}})
    assert [alike.place(LONG, "q", taken) for taken in ([], ["a"], ["a", "b"])] == ["a", "b", None]


def test_questions_that_are_one_text() -> None:
    """The judged one of two, else neither."""
    twice = {"q1": "How long?", "q2": "How long?"}
    assert AnswerTextMatcher({}, twice, lambda: {"q2": {"d": 1.0}}).question("how long") == "q2"
    assert AnswerTextMatcher({}, twice).question("how long") == "how long"


def test_nothing_is_found_by_a_text_of_nothing() -> None:
    """Blank texts, and signs that nobody sees, are equal to no text."""
    known = AnswerTextMatcher({"blank": " ", "unseen": "\u200b", "dots": "...", "d": LONG}, {"q": ""})
    for text in ("", " ", "\ufeff", "\u200b\u200b"):
        assert known.find_passage_by_text(text) is None
        assert known.question(text) == text
    assert known.find_passage_by_text("...") == "dots"
    assert known.find_passage_by_text("?") is None


def test_plain_texts() -> None:
    """What is passed over last, and what is not."""
    assert normalize_text_for_matching("See [the page](http://a.b) at 5 p.m., “now”!") == "see the page at 5 p.m now"
    assert normalize_text_for_matching("2*3*4 = 24; f(x)!") == "2*3*4 = 24 f(x)!"
