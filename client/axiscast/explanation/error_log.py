"""ErrorLog: finds the shape errors in a log of any length. It reads the log piece by piece in constant memory."""

from __future__ import annotations

from ..words.error_topics import Topic
from .topic_search import topic_of
from .wordings import readings, single_blanks

_KEPT = 2**13
"""The number of characters that are kept from earlier pieces, because a message of several lines may begin there."""
_LONGEST_LINE = 2**16
"""The number of characters after which a line is searched even if its end has not arrived."""
_LONGEST_TRACEBACK = 2**15
"""The maximum length of a traceback that is returned with its message. A service accepts twice this length."""
_MOST = 100
"""The maximum number of different messages that are reported."""
_TRACEBACK = "Traceback (most recent call last)"


class ErrorLog:
    """A reader that reports each shape error in a log only once. It searches each line when the line is complete."""

    def __init__(self) -> None:
        self._text = ""
        self._searched = 0
        self._found: set[str] = set()
        self.topic: Topic | None = None
        """The topic of the last error that is not about broadcasting, or None if no known phrase was found."""

    def feed(self, piece: str, is_last: bool = False) -> list[str]:
        """Return the error messages that end in this piece of the log and have not been reported before.

        If only one message is found and it ends a traceback, the traceback is returned with the message.
        """
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
