"""Typical mistakes in commands. The message of each suggests the right command."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import cases
from test_cli import run

from axiscast import UnusableModel, check_model

MISTAKES: list[tuple[list[str], int, str, list[str] | None]] = [
    # the arguments, the exit status, a part of the message, and the corrected arguments (or None)
    (["check", "-1,3", "2,3"], 2, 'input 0, axis 0: must not be negative: a size is 0 or more; write "?"',
     ["check", "?,3", "2,3"]),
    (["check", "-1"], 2, "input 0, axis 0: must not be negative", ["check", "?"]),
    (["compare", "-1,3", "2,3"], 2, "input 0, axis 0: must not be negative", ["compare", "1,3", "2,3"]),
    (["translate", "-1,3", "--to", "torch.broadcast_tensors"], 2, "input 0, axis 0: must not be negative",
     ["translate", "1,3", "--to", "torch.broadcast_tensors"]),
    (["check", "-3,a!"], 2, "a shape '-3,a!': write a shape as 8,1,6,1", ["check", "3,a"]),
    (["check", "2", "64", "7", "7"], 1,
     "hint: each argument is one shape; to check a single shape with these sizes, write 2,64,7,7",
     ["check", "2,64,7,7"]),
    (["check", "2", "3", "--op", "torch.expand", "--size", "4,2,3"], 2,
     "torch.expand takes 1 input, not 2: did you mean 2,3?",
     ["check", "2,3", "--op", "torch.expand", "--size", "4,2,3"]),
    (["check", "2,", "N", "--op", "numpy.broadcast_to", "--shape", "2,3"], 2, "did you mean 2,N?", None),
    (["check", "model.onx"], 2,
     "'model.onx' is neither a shape nor an existing file, and the name of an ONNX model must end in .onnx", None),
    (["check", "models/net.pt"], 2, "'models/net.pt' is neither a shape nor an existing file", None),
    (["check", "2,3", "3,4", "--op", "einsum", "--equation", "ij,jk"], 2, "did you mean numpy.einsum or torch.einsum",
     ["check", "2,3", "3,4", "--op", "numpy.einsum", "--equation", "ij,jk"]),
    (["check", "README.md"], 2, "'README.md' is not a shape, and the name of an ONNX model must end in .onnx\n", None),
    (["check", "", "3"], 2, "a shape is empty: write () for a scalar. Is a shell variable unset?",
     ["check", "()", "3"]),
    (["check", "3", " "], 2, "a shape is empty: write () for a scalar", ["check", "3", "()"]),
    (["compare", "3", "4,1", "--op", "np.add"], 2,
     "No such option '--op'. (Did you mean one of: '--help', '--json', '--ops'?)",
     ["compare", "3", "4,1", "--ops", "np.add"]),
    (["compare", "3", "4,1", "--ops", "numpyy"], 2,
     "--ops: 'numpyy' is not an op or a framework: did you mean numpy",
     ["compare", "3", "4,1", "--ops", "numpy"]),
    (["compare", "3", "4,1", "--ops", "ngraph"], 2,
     "--ops: ngraph can't take 2 inputs without attributes: check each op in a separate request", None),
    (["compare", "", "3"], 2, "a shape is empty: write () for a scalar", ["compare", "()", "3"]),
    (["compare", "3", "--shape", ""], 2, "--shape is empty: write () for a scalar", ["compare", "3", "--shape", "3"]),
    (["translate", "", "--to", "torch.broadcast_tensors"], 2, "a shape is empty",
     ["translate", "()", "--to", "torch.broadcast_tensors"]),
    (["check", "3", "--op", "torch.expand", "--size", ""], 2, "--size is empty: write () for no sizes",
     ["check", "()", "--op", "torch.expand", "--size", "()"]),
    (["check", "3", "--op", ""], 2, "--op is empty: write the name of an op", ["check", "3"]),
    (["check"], 2, "no shape is given: write shapes separated by spaces, such as 8,1,6,1 7,1,5, or () for a "
    "scalar", ["check", "3"]),
    (["check", "3", "--op", "xarray.broadcast", "--dims", "x,y"], 2,
     "--dims 'x,y': must be JSON, such as [[\"x\", \"y\"], [\"y\"]]\n",
     ["check", "2,3", "--op", "xarray.broadcast", "--dims", '[["x", "y"]]']),
    (["check", "3", "--op", "xarray.broadcast", "--dims", "[['x']]"], 2, "write \" for '",
     ["check", "3", "--op", "xarray.broadcast", "--dims", '[["x"]]']),
    (["check", "3", "--op", "einops.repeat", "--pattern", "a -> a c", "--axes-lengths", "c=3"], 2,
     "--axes-lengths c=3: must be JSON, such as {\"c\": 3}\n".replace("c=3:", "'c=3':"),
     ["check", "3", "--op", "einops.repeat", "--pattern", "a -> a c", "--axes-lengths", '{"c": 3}']),
    (["check", "3", "--op", "ngraph.Broadcast", "--shape", "2,3", "--mode", "explicit", "--axes-mapping", "1"], 2,
     "ngraph.Broadcast does not have this attribute, but openvino.Broadcast-1 and openvino.Broadcast-3 have it (valid",
     ["check", "3", "--op", "openvino.Broadcast-3", "--target-shape", "2,3", "--mode", "explicit", "--axes-mapping",
      "1"]),
    (["check", "3", "4", "--op", "numpy.add", "--lhs-axes", "0"], 2,
     "numpy.add does not have this attribute, but mxnet.broadcast_like has it (valid attributes: none)", None),
    (["check", "3", "--op", "ngraph.Broadcast", "--shap", "2,3"], 2, "No such option", None),
    (["check", "3", "--op", "ngraph.Broadcast-1"], 2, "did you mean openvino.Broadcast-1?", None),
    (["check", "3", "--op", "Broadcast"], 2,
     "did you mean ngraph.Broadcast or openvino.Broadcast-1 or openvino.Broadcast-3 or jax.lax.broadcast", None),
    (["translate", "3,1", "1,4"], 2, "as in `axiscast translate 3,1 1,4 --to torch`",
     ["translate", "3,1", "1,4", "--to", "torch"]),
    (["check", "3,1 1,4"], 2, "'3,1 1,4' is 2 shapes: write them without quotes, as 3,1 1,4", ["check", "3,1", "1,4"]),
    (["translate", "?,3", "--to", "torch.expand"], 2, "? is a size without a name",
     ["translate", "N,3", "--to", "torch.expand"]),
    (["check", "3", "--op", "numpy.broadcast_to"], 2, ": write for instance --shape 4,3",
     ["check", "3", "--op", "numpy.broadcast_to", "--shape", "4,3"]),
    (["check", "3", "--op", "torch.expand", "--shape", "2,3"], 2, "valid attributes: size",
     ["check", "3", "--op", "torch.expand", "--size", "2,3"]),
    (["check", "3", "--op", "torch.expnd", "--size", "2,3"], 2, "did you mean torch.expand",
     ["check", "3", "--op", "torch.expand", "--size", "2,3"]),
    (["check", "3.5"], 2, "a shape '3.5': write a shape as 8,1,6,1 or 8x1x6x1", ["check", "3,5"]),
    (["check", "(3,4)(4)"], 2, "write a shape as 8,1,6,1", ["check", "(3,4)", "(4)"]),
    (["check", "3", "--assume", "N"], 2, "write a name and its sizes, such as N=2..",
     ["check", "N", "--assume", "N=2.."]),
    (["check", "3", "--dtype", "f4"], 2, "did you mean float32?", ["check", "3", "--dtype", "float32"]),
    (["check", "3", "--batch", "README.md"], 2,
     "3 can't be combined with --batch, because each line is a complete request",
     ["check", "3"]),
    (["check", "--batch", "README.md", "--dtype", "int8"], 2, "--dtype can't be combined with --batch", None),
    (["check", "--batch", "README.md", "--assume", "N=2"], 2, "--assume can't be combined with --batch", None),
    (["check", "--batch", "README.md", "--all"], 2, "--all can't be combined with --batch", None),
    (["check", "--batch", "absent.jsonl"], 2, "File 'absent.jsonl' does not exist", None),
    (["check", "absent.onnx"], 2, "absent.onnx: does not exist\n", None),
]  # fmt: skip


@cases(("words", "status", "message", "repaired"), MISTAKES, ids=[" ".join(words)[:60] for words, *_ in MISTAKES])
def test_a_mistaken_command_suggests_the_right_one(
    words: list[str], status: int, message: str, repaired: list[str] | None
) -> None:
    folder = Path(__file__).parents[2]
    done = run(*words, folder=folder)
    assert (done.returncode, message in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr
    assert "body" not in done.stderr
    if repaired is not None:
        assert run(*repaired, folder=folder).returncode == 0


def test_a_misspelt_model_name_suggests_an_existing_file(tmp_path: Path) -> None:
    (tmp_path / "network.onnx").write_text("")
    assert "did you mean network.onnx?" in run("check", "network.onx", folder=tmp_path).stderr
    assert "did you mean network.onnx?" in run("check", "netwrok.onnx", folder=tmp_path).stdout
    with pytest.raises(UnusableModel, match=f"{tmp_path}/networ.onnx: does not exist: did you mean {tmp_path}/network"):
        check_model(tmp_path / "networ.onnx")


def test_the_hint_about_one_shape_appears_only_with_a_conflict() -> None:
    assert "each word" not in run("check", "3", "1").stdout
    assert "each word" not in run("check", "3,1", "2,2").stdout
    assert "each word" not in run("check", "3", "4", "--json").stdout
