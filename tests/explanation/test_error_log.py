"""ErrorLog: a log in pieces of any length, in constant memory."""

from __future__ import annotations

import tracemalloc

from cases import cases

import axiscast
from axiscast.explanation.error_log import ErrorLog

NUMPY = "ValueError: operands could not be broadcast together with shapes (3,4) (5,)"
TORCH = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 3, in forward\n'
    "    return x + self.bias\n"
    "           ~~^~~~~~~~~~~\n"
    "RuntimeError: The size of tensor a (7) must match the size of tensor b (64) at non-singleton dimension 3\n"
)
OPENVINO = (
    "While validating node 'opset1::Add Add_3 (opset1::Parameter Parameter_1[0]:f32[3,4], opset1::Parameter "
    "Parameter_2[0]:f32[5]) -> ()' with friendly_name 'Add_3':\nArgument shapes are inconsistent.\n"
)
LOG = f"start\n{NUMPY}\nepoch 1\n{TORCH}epoch 2\n{OPENVINO}end {NUMPY}"


def fed(text: str, length: int) -> list[str]:
    log = ErrorLog()
    found = [message for at in range(0, len(text), length) for message in log.feed(text[at : at + length])]
    return found + log.feed("", is_last=True)


@cases("length", [1, 7, 64, 1000, 10**6])
def test_each_message_is_found_once_whatever_the_pieces(length: int) -> None:
    answers = [axiscast.why(text) for text in fed(LOG, length)]
    assert [(answer.inputs, answer.sizes) for answer in answers] == [
        ([(3, 4), (5,)], (4, 5)),
        (None, (7, 64)),
        ([(3, 4), (5,)], (4, 5)),
    ]


def test_a_message_is_returned_as_soon_as_its_line_ends() -> None:
    log = ErrorLog()
    assert log.feed(NUMPY) == []
    assert log.feed("\n") == ["operands could not be broadcast together with shapes (3,4) (5,)"]


def test_a_message_is_returned_with_its_traceback() -> None:
    (text,) = fed(f"before\n{TORCH}after\n", 10)
    message = axiscast.why(text).message
    assert ("x" in message, "self.bias" in message) == (True, True)


def test_a_message_without_a_line_end_is_found() -> None:
    assert len(fed("x" * 200_000 + NUMPY, 2**16)) == 1


def test_a_long_log_takes_little_memory() -> None:
    log = ErrorLog()
    log.feed("warm\n")
    line = "2026-01-01 INFO step 1 loss 0.5\n" * 2000
    tracemalloc.start()
    for _ in range(50):
        assert log.feed(line) == []
    log.feed("x" * 2**17)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 2**20


def test_different_messages_are_counted_up_to_a_hundred() -> None:
    assert len(fed("\n".join(f"{NUMPY[:-6]} (5,) ({number},)" for number in range(300)), 2**16)) <= 100


def test_the_topic_is_taken_from_the_last_error_of_another_kind() -> None:
    log = ErrorLog()
    log.feed("IndexError: index 5 is out of bounds for axis 0 with size 3\n")
    log.feed("ValueError: cannot reshape array of size 6 into shape (4,2)\n", is_last=True)
    assert log.topic is not None
    assert "reshape" in log.topic


def test_a_very_long_traceback_is_omitted() -> None:
    (text,) = fed(TORCH.replace("    return", f"{'    frame' * 20_000}\n    return"), 10**6)
    assert len(text) < 200
