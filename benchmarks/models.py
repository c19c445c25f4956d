"""Count the findings of `axiscast check model.onnx` in correct models, which are false alarms.

Each model is built from its configuration, small and without weights, and exported by both exporters of torch if they
support it. Needs torch, onnxscript and transformers: `make models`.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import axiscast

TEXT = ("input_ids", "attention_mask")
SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100,
}  # fmt: skip
GROUPED = SMALL | {"num_key_value_heads": 2}
DECODER = {"use_cache": False}
PATCHES = {name: value for name, value in SMALL.items() if name != "vocab_size"} | {"image_size": 32, "patch_size": 8}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100}
BART = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 100,
}  # fmt: skip

MODELS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "Albert": ("Model", SMALL | {"embedding_size": 16}, TEXT),
    "Bart": ("Model", BART | DECODER, TEXT),
    "Bert": ("Model", SMALL, TEXT),
    "Bloom": ("ForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100} | DECODER, TEXT),
    "CLIPText": ("Model", SMALL, TEXT),
    "ConvNext": ("Model", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "image_size": 32}, ("images",)),
    "DebertaV2": (
        "Model",
        SMALL | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8},
        TEXT,
    ),
    "DeiT": ("Model", PATCHES, ("images",)),
    "DistilBert": ("Model", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": 100}, TEXT),
    "Electra": ("Model", SMALL | {"embedding_size": 16}, TEXT),
    "Falcon": (
        "ForCausalLM",
        {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100} | DECODER,
        TEXT,
    ),
    "GPT2": ("LMHeadModel", GPT | DECODER, TEXT),
    "GPTNeoX": ("ForCausalLM", SMALL | DECODER, TEXT),
    "Gemma": ("ForCausalLM", GROUPED | {"head_dim": 8} | DECODER, TEXT),
    "Llama": ("ForCausalLM", SMALL | DECODER, TEXT),
    "MPNet": ("Model", SMALL, TEXT),
    "Mamba": (
        "Model",
        {"hidden_size": 32, "num_hidden_layers": 1, "vocab_size": 100, "state_size": 4} | DECODER,
        TEXT[:1],
    ),
    "Mistral": ("ForCausalLM", GROUPED | DECODER, TEXT),
    "MobileNetV2": ("Model", {"depth_multiplier": 0.35, "image_size": 32}, ("any images",)),
    "OPT": (
        "ForCausalLM",
        {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 64, "vocab_size": 100}
        | {"word_embed_proj_dim": 32}
        | DECODER,
        TEXT,
    ),
    "Phi": ("ForCausalLM", SMALL | DECODER, TEXT),
    "Qwen2": ("ForCausalLM", GROUPED | DECODER, TEXT),
    "ResNet": ("Model", {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]}, ("any images",)),
    "Roberta": ("Model", SMALL, TEXT),
    "Segformer": (
        "Model",
        {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 4]},
        ("any images",),
    ),
    "Swin": (
        "Model",
        {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "image_size": 32, "patch_size": 4, "window_size": 4},
        ("images",),
    ),
    "T5": (
        "EncoderModel",
        {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 100},
        TEXT,
    ),
    "ViT": ("Model", PATCHES, ("images",)),
}
"""The architectures of transformers, each with its model, configuration and inputs. "any images" have free heights."""


def export(name: str, exporter: str, path: Path) -> None:
    """Write the file of a model. Raises the exceptions of the exporter."""
    import torch
    import transformers

    head, options, inputs = MODELS[name]
    model = getattr(transformers, name + head)(getattr(transformers, f"{name}Config")(**options)).eval()
    names = TEXT[: len(inputs)] if inputs[0] in TEXT else ("pixel_values",)

    class First(torch.nn.Module):
        """Return the first output of the model."""

        def forward(self, *arguments: Any) -> Any:
            return model(**dict(zip(names, arguments, strict=True)), return_dict=True)[0]

    wrapped = First()
    wrapped.model = model
    if inputs[0] in TEXT:
        arguments = (torch.randint(0, 99, (2, 12)), torch.ones(2, 12, dtype=torch.long))[: len(names)]
        axes: dict[int, str] = {0: "batch", 1: "seq"}
    else:
        arguments = (torch.randn(2, 3, 32, 32),)
        axes = {0: "batch"} | ({2: "height", 3: "width"} if inputs == ("any images",) else {})
    if exporter == "dynamo":
        free = {axis: torch.export.Dim(size) if axis < 2 else torch.export.Dim.DYNAMIC for axis, size in axes.items()}
        torch.onnx.export(
            wrapped, arguments, path, dynamo=True, external_data=False, verbose=False, input_names=list(names),
            dynamic_shapes=((free,) * len(names),),
        )  # fmt: skip
    else:
        torch.onnx.export(
            wrapped, arguments, path, dynamo=False, input_names=list(names), dynamic_axes=dict.fromkeys(names, axes)
        )


def rows(folder: Path, wanted: Callable[[str], bool]) -> None:
    print("| model | exporter | nodes | need | square | pinned, incompatible or unchecked | CPU s |")
    print("|---|---|---|---|---|---|---|")
    total = [0] * 4
    for name in filter(wanted, MODELS):
        for exporter in ("dynamo", "script"):
            path = folder / f"{name}.{exporter}.onnx"
            if not path.exists():
                try:
                    export(name, exporter, path)
                except (
                    Exception
                ) as error:  # exporters raise all kinds of exceptions; a model that can't be exported has no row
                    print(f"{name}, {exporter}: {type(error).__name__}", file=sys.stderr)
                    continue
            start = process_time()
            counts = axiscast.check_model(path).counts
            seconds = process_time() - start
            wrong = sum(counts[kind] for kind in ("pinned", "incompatible", "unchecked"))
            figures = [counts["nodes"], counts["needs"], counts["square"], wrong]
            total = [one + other for one, other in zip(total, figures, strict=True)]
            print(f"| {name} | {exporter} | {' | '.join(map(str, figures))} | {seconds:.2f} |", flush=True)
    print(f"| all | | {' | '.join(map(str, total))} | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="some of them")
    parser.add_argument("--folder", type=Path, help="where exported files are, and stay")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    with TemporaryDirectory() as folder:
        rows(arguments.folder or Path(folder), lambda name: not arguments.models or name in arguments.models)


if __name__ == "__main__":
    main()
