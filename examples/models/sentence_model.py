"""The trained sentence model: 6-layer BERT, masked mean over the tokens, length 1.

ids, mask: i64[batch, length], mask 1 at tokens and 0 at padding; the result is f32[batch, 384].
"""

import json

import places

places.forbid_network()

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel


class SentenceModel(torch.nn.Module):
    vocabulary = 30522
    longest = 512
    masked = True

    def __init__(self, bert: BertModel):
        super().__init__()
        self.bert = bert

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, p=2.0, dim=1)


def load_sentence_model(attention: str = "sdpa") -> SentenceModel:
    """attention: how transformers writes attention, "sdpa" (one operator) or "eager" (many)."""
    folder = places.minilm_folder()
    config = BertConfig(**json.loads((folder / "config.json").read_text()))
    config._attn_implementation = attention
    bert = BertModel(config, add_pooling_layer=False)
    weights = load_file(folder / "model.safetensors")
    # Stored for a pooling layer that sentence embeddings do not use, and for constant positions.
    unused = {"pooler.dense.weight", "pooler.dense.bias", "embeddings.position_ids"}
    for name in unused:
        weights.pop(name, None)
    result = bert.load_state_dict(weights, strict=False)
    missing = set(result.missing_keys) - {"embeddings.position_ids", "embeddings.token_type_ids"}
    if missing or result.unexpected_keys:
        raise ValueError(f"missing weights {missing}, unexpected {result.unexpected_keys}")
    return SentenceModel(bert).eval()


def tokenize(sentences: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """(ids, mask), i64[len(sentences), longest], padded with 0 on the right."""
    tokenizer = Tokenizer.from_file(str(places.minilm_folder() / "tokenizer.json"))
    tokenizer.no_padding()  # the file itself asks for both, at 128 tokens
    tokenizer.no_truncation()
    rows = [tokenizer.encode(sentence).ids for sentence in sentences]
    ids = np.zeros((len(rows), max(len(row) for row in rows)), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(rows):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return ids, mask
