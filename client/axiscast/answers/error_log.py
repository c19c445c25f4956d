"""ErrorLog: the errors about shapes in a log of any length, which is read piece by piece in constant memory."""

from __future__ import annotations

from .error_topics import topic_of
from .wordings import readings, single_blanks

_KEPT = 2**13
"""Characters of the text before, in which a message of several lines may begin."""
_LONGEST_LINE = 2**16
"""Characters of a line that are read as if it ended there."""
_LONGEST_TRACEBACK = 2**15
"""Characters of a traceback that are taken along: a service takes twice as many."""
_MOST = 100
"""Different messages that are found."""
_TRACEBACK = "Traceback (most recent call last)"


class ErrorLog:
    """Finds each message once. What is fed is searched as soon as its line is complete."""

    def __init__(self) -> None:
        self._text = ""
        self._searched = 0
        self._found: set[str] = set()
        self.topic: str | None = None
        """What the last error that is not about broadcasting is about, if a phrase tells."""

    def feed(self, piece: str, is_last: bool = False) -> list[str]:
        """Return the texts of the messages that end in this piece and have not been found before: each from its
        traceback on, if there is one."""
        self._text += piece
        end = len(self._text) if is_last else self._text.rfind("\n", self._searched) + 1
        if len(self._text) - end > _LONGEST_LINE:
            end = len(self._text)
        if end <= self._searched:
            return []
        text = self._text[:end]
        blanks = single_blanks(text)
        texts = []
        for reading in readings(blanks):
            message = blanks[reading.start : reading.end]
            if message not in self._found and len(self._found) < _MOST:
                self._found.add(message)
                texts.append(message)
        if len(texts) == 1 and (start := text.rfind(_TRACEBACK, max(len(text) - _LONGEST_TRACEBACK, 0))) >= 0:
            texts = [text[start:] if _is_last_message(text[start:], texts[0]) else texts[0]]
        self.topic = topic_of(single_blanks(text[max(self._searched - 200, 0) :])) or self.topic
        self._text = self._text[max(end - _KEPT, 0) :]
        self._searched = min(end, _KEPT)
        return texts


def _is_last_message(text: str, message: str) -> bool:
    blanks = single_blanks(text)
    found = readings(blanks)
    return bool(found) and blanks[found[-1].start : found[-1].end] == message
