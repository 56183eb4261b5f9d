"""Sentences in which a model declines or thinks aloud, in place of the text that it was asked for."""

from __future__ import annotations

import re

_REWORD = r"(paraphrase|rephrase|reword|rewrite)"
_THIS = r"(this|that|such|the (text|sentence|input|request)|your (text|sentence|request))"
_UNABLE = (
    r"\bi( can ?not| can'?t| could not| won't| will not| must (respectfully )?decline to"
    r"|( am|'?m) (unable|not able) to)"
)

THINKING = re.compile(
    r"</?(think|thinking|thought|reasoning)>|◁/?think▷|<\|channel\|>|\[/?think\]"
    r"|\A(here's|here is) (a|my) (thinking|thought) process|\Athinking( process)?(:|\.\.\.|…)|\Aanalysis: ?we\b"
    r"|\A((okay|ok|alright|right|hmm|first|so|let's see|let me see)[,.]? ){0,3}"
    r"(the user (wants|asks|is asking|has asked|sent|gave|provided)|let me think|let's think"
    rf"|(i|we) (need|have) to ({_REWORD}|understand the (sentence|text|user)))",
    re.IGNORECASE,
)

REFUSAL = re.compile(
    r"\b(as|i am|i'?m|being) an? (ai|artificial intelligence)( (language )?(model|assistant)|,|;|\.| i\b)"
    r"|\b(as|i am|i'm) a (large )?language model\b|\bi am programmed to be\b"
    rf"|{_UNABLE} (assist (you )?(with|in) {_THIS}|comply|fulfill? {_THIS}|paraphrase|rephrase|reword|rewrite {_THIS}"
    rf"|help (you )?with {_THIS}|engage with {_THIS}|process {_THIS}"
    r"|provide (a |the |that |this |any )?(paraphrase|rewording|content|text)"
    r"|(create|generate|produce|continue with) (content|that|this|such))"
    r"|\bi must respectfully decline\b"
    r"|\A(i('?m| am)? )?(very |so )?(sorry|apologi[sz]e),? (but )?i('?m| am)? (can ?not|can'?t|not able|unable)"
    rf"|\Aplease (provide|give|send|share|paste)( me)?( with)? the text (that )?(you|to) [^.]*{_REWORD}"
    r"|\Alo siento,? (pero )?no puedo|\A(je suis )?désolée?,? (mais )?je ne (peux|suis pas en mesure)"
    r"|\A(es )?tut mir leid,? (aber )?(\w+ )?(kann ich|ich kann)|\Ami dispiace,? (ma )?non posso"
    r"|\A(抱歉|对不起)[,，]?我(无法|不能)|\A我(无法|不能)(满足|回答|处理|提供|改写)|\A申し訳(ありません|ございません)が、"
    r"|\A(извините|простите),? (но )?я не могу|\Aعذر[اًا]+،? (لكن )?لا (يمكنني|أستطيع)",
    re.IGNORECASE,
)


def find_mark_added_by_wording(marks: re.Pattern[str], text: str, wording: str) -> str:
    """What of the marks is in the wording, where the text has none; empty otherwise.

    >>> find_mark_added_by_wording(REFUSAL, "A fox.", "I can’t assist with that.")
    "I can't assist with that"
    >>> find_mark_added_by_wording(REFUSAL, "I can't comply.", "I cannot comply.")
    ''
    """
    # Typographic apostrophes are taken for plain ones.
    mark = marks.search(wording.replace("’", "'"))
    return mark[0] if mark and not marks.search(text.replace("’", "'")) else ""
