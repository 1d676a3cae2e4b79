"""BERT-base and GPT-2 at their published sizes, with weights drawn from a fixed seed.

Speed does not depend on what the weights are, and no download is needed.
"""

import places

places.forbid_network()

import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

SEED = 20240


class BertBase(torch.nn.Module):
    """(ids, mask) i64[batch, length] -> last hidden state f32[batch, length, 768]."""

    vocabulary = 30522
    longest = 512
    masked = True

    def __init__(self):
        super().__init__()
        config = BertConfig()  # its defaults are bert-base-uncased
        config._attn_implementation = "sdpa"
        self.bert = BertModel(config, add_pooling_layer=False)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state


class Gpt2(torch.nn.Module):
    """ids i64[batch, length] -> logits f32[batch, length, 50257]; no key-value cache."""

    vocabulary = 50257
    longest = 1024
    masked = False

    def __init__(self):
        super().__init__()
        config = GPT2Config(use_cache=False)  # its defaults are the 124M model
        config._attn_implementation = "sdpa"
        self.gpt2 = GPT2LMHeadModel(config)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.gpt2(input_ids=ids, use_cache=False).logits


def load_language_model(name: str) -> torch.nn.Module:
    torch.manual_seed(SEED)
    return {"bert_base": BertBase, "gpt2": Gpt2}[name]().eval()


def example_inputs(model, batch: int, length: int) -> tuple[torch.Tensor, ...]:
    """Tokens from a seed for a model or its class; in a mask, later rows end earlier."""
    generator = torch.Generator().manual_seed(batch * 1000 + length)
    ids = torch.randint(0, model.vocabulary, (batch, length), generator=generator)
    if not model.masked:
        return (ids,)
    mask = torch.ones_like(ids)
    for row in range(1, batch):
        mask[row, max(1, length - row % length) :] = 0
    return ids, mask
