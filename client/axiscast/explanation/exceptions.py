"""The diagnosis of an exception object: its message, and the operands of the expression that raised it."""

from __future__ import annotations

from collections.abc import Iterator
from traceback import walk_tb

from ..messages.why import WhyAnswer
from .answers import why_to_dict
from .diagnosis import Diagnosis, completed, diagnose_message, is_in_layer, shortened
from .failing_expression import failing_expressions
from .frame_values import FRAMEWORK_PACKAGES, module_name

_MAX_CAUSES = 10
_NAME = type.__dict__["__name__"]


def answer_exception(error: BaseException) -> WhyAnswer:
    """Return the explanation of an exception. It contains the operand names from the source code."""
    return WhyAnswer.model_validate(why_to_dict(_diagnosed(error)))


def add_why(error: BaseException) -> None:
    """If an exception is about shapes, add axiscast's explanation to the exception as a note.

    If the explanation itself fails, the note describes this failure, so that the original exception is still raised.
    """
    try:
        diagnosis = _diagnosed(error)
        answer = why_to_dict(diagnosis) if diagnosis.is_explained else None
    except Exception as failure:
        error.add_note(f"axiscast could not explain this: {failure!r}")
        return
    if answer is not None and (note := f"axiscast: {answer['message']}") not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _diagnosed(error: BaseException) -> Diagnosis:
    """Return the diagnosis of the first exception about shapes in a chain of exceptions.

    If no exception in the chain is about shapes, return the first exception that is known, or the first exception.
    """
    found = []
    for cause in _chain(error):
        files = [frame.f_code.co_filename for frame, _ in walk_tb(cause.__traceback__)]
        found.append((cause, diagnose_message(_text(cause))._replace(is_layer=is_in_layer(files))))
        if found[-1][1].is_about_shapes:
            break
    last = found[-1] if found[-1][1].is_about_shapes else None
    cause, diagnosis = last or next((each for each in found if each[1].is_known), found[0])
    return completed(diagnosis, failing_expressions(cause.__traceback__) or failing_expressions(error.__traceback__))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_MAX_CAUSES):
        if error is None:
            return
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _text(error: BaseException) -> str:
    """Return the class and the message of an exception. Only code of known frameworks may run to compute them."""
    package = module_name(type(error)).partition(".")[0]
    arguments = BaseException.args.__get__(error)  # type: ignore[attr-defined]
    own = "\n".join(argument for argument in arguments if type(argument) is str)
    message = str(error) if package in FRAMEWORK_PACKAGES else own
    return shortened(f"{_NAME.__get__(type(error))}: {message}")
