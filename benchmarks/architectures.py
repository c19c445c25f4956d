"""Count the warnings of axiscast.watch in a training step of small, correct models of transformers.

    python benchmarks/architectures.py [bert gpt2 ...]

Takes torch and transformers (`make models` installs them). A step is forward, loss and backward. Each architecture is
built from its configuration, tiny and without weights, with each head that it has; what can't be built so small, or
takes other inputs than text, images or sound, is left out. Every finding is a line, and a false one.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is downloaded

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import axiscast

HEADS = [
    transformers.AutoModel,
    transformers.AutoModelForCausalLM,
    transformers.AutoModelForMaskedLM,
    transformers.AutoModelForSequenceClassification,
    transformers.AutoModelForImageClassification,
]
TINY = {
    name: size
    for size, names in {
        16: """hidden_size d_model n_embd dim embedding_size emb_dim word_embed_proj_dim moe_intermediate_size""",
        2: """num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers num_decoder_layers
            num_attention_heads num_key_value_heads num_heads n_head n_heads encoder_attention_heads
            decoder_attention_heads type_vocab_size num_experts_per_tok eos_token_id""",
        32: "intermediate_size encoder_ffn_dim decoder_ffn_dim ffn_dim d_ff hidden_dim image_size",
        64: "vocab_size max_position_embeddings n_positions",
        4: "num_experts num_local_experts n_routed_experts rotary_dim",
        8: "head_dim d_kv patch_size",
        0: "pad_token_id",
        1: "bos_token_id",
        3: "num_labels",
    }.items()
    for name in names.split()
}
"""The sizes of a model, by all names that architectures use."""
MOST_PARAMETERS = 5_000_000


def models(name: str) -> Iterator[torch.nn.Module]:
    """Yield the models of each architecture that can be created with small sizes."""
    kind = CONFIG_MAPPING[name]
    there = kind()
    names = {*vars(there), *there.attribute_map}
    configuration = kind(**{option: size for option, size in TINY.items() if option in names})
    for head in HEADS:
        if kind not in head._model_mapping:
            continue
        with torch.device("meta"):
            parameters = sum(each.numel() for each in head.from_config(configuration).parameters())
        if parameters <= MOST_PARAMETERS:
            yield head.from_config(configuration).train()


def inputs(model: Any) -> Iterator[dict[str, torch.Tensor]]:
    """Return possible inputs of a model: text, an image, text for a decoder, or sound."""
    tokens = torch.randint(3, 60, (2, 9))
    mask = torch.ones_like(tokens)
    mask[0, -3:] = 0
    of_text: dict[str, torch.Tensor] = {"input_ids": tokens, "attention_mask": mask}
    of_images = {"pixel_values": torch.rand(2, 3, 32, 32)}
    head = type(model).__name__
    if head.endswith("Classification"):
        of_text["labels"] = of_images["labels"] = torch.tensor([0, 1])
    elif head.endswith(("LM", "LMHeadModel", "ConditionalGeneration")):
        of_text["labels"] = tokens
    yield of_text
    yield of_images
    yield of_text | {"decoder_input_ids": tokens}
    yield {"input_values": torch.rand(2, 4000)}
    yield {"input_features": torch.rand(2, 80, 128)}


def findings(model: Any) -> list[axiscast.Finding] | None:
    """Return the findings of a watch in a step, or None if the model takes none of the inputs."""
    for tried in inputs(model):
        with axiscast.watch(on=lambda finding: None) as seen:
            try:
                output = model(**tried)
            except Exception:  # what is no input of this model makes it raise anything
                continue
            loss = output.get("loss")
            if loss is None:
                first = next(value for value in output.values() if isinstance(value, torch.Tensor))
                loss = torch.nn.functional.mse_loss(first.float(), torch.zeros_like(first.float()))
            loss.backward()
        return seen.findings
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="some architectures, as transformers calls them; by default all")
    names = parser.parse_args().names or sorted(CONFIG_MAPPING)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    architectures = count = false = 0
    for name in names:
        ran = 0
        try:
            for model in models(name):
                found = findings(model)
                ran += found is not None
                for each in found or ():
                    false += 1
                    print(
                        name,
                        type(model).__name__,
                        each.op,
                        [value.shape for value in each.operands],
                        each.file,
                        each.line,
                    )
        except Exception as error:  # as do configurations that can't be so small
            print(f"{name}: {type(error).__name__}: {str(error)[:80]!r}", flush=True)
        print(f"{name}: {ran} models", flush=True)
        architectures += ran > 0
        count += ran
    print(f"{architectures} architectures of {len(names)}, {count} models: {false} findings")


if __name__ == "__main__":
    main()
