"""A SigLIP, or SigLIP2 in its NaFlex form, of 0.2 million weights, taught which caption belongs to which photograph."""

import json
from pathlib import Path
from typing import Any

import torch
import transformers as tf
from PIL import Image
from skimage import data
from tiny_tokenizer import CORPUS
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

CAPTIONS = {"coffee": "a red coffee mug", "chelsea": "a tabby cat", "astronaut": "an astronaut"}
STEPS = 80
IMAGE_PROCESSORS = {"siglip": "SiglipImageProcessor", "siglip2": "Siglip2ImageProcessor"}


def save(folder: Path, which: str) -> None:
    torch.manual_seed(0)
    net, tokenizer, images = _build(which)
    photos = [Image.fromarray(getattr(data, name)()) for name in CAPTIONS]
    texts = tokenizer(list(CAPTIONS.values()), padding="max_length", max_length=64, return_tensors="pt")
    inputs = {**images(images=photos, return_tensors="pt"), "input_ids": texts["input_ids"]}
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    net.train()
    for _ in range(STEPS):
        net(**inputs, return_loss=True).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    net.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    images.save_pretrained(folder)


def _build(which: str) -> tuple[Any, Any, Any]:
    tokenizer = _tokenizer()
    layers = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    text = {**layers, "vocab_size": len(tokenizer), "max_position_embeddings": 64, "pad_token_id": 0}
    text |= {"eos_token_id": 1, "bos_token_id": 2}
    vision = {**layers, "patch_size": 16}
    if which == "siglip2":
        config = tf.Siglip2Config(text_config=text, vision_config={**vision, "num_patches": 64})
        return tf.Siglip2Model(config), tokenizer, _image_processor(which, patch_size=16, max_num_patches=64)
    config = tf.SiglipConfig(text_config=text, vision_config={**vision, "image_size": 64})
    return tf.SiglipModel(config), tokenizer, _image_processor(which, size={"height": 64, "width": 64})


def transformers_is_old() -> bool:
    return tf.__version__ < "5"


def _tokenizer() -> Any:
    """A Gemma-style BPE as SigLIP2's own: lower case, spaces as a letter, single bytes as a last resort."""
    bpe = Tokenizer(models.BPE(unk_token="<unk>"))
    bpe.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Replace(" ", "\u2581")])
    bpe.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"] + [f"<0x{i:02X}>" for i in range(256)]
    bpe.train_from_iterator(
        CORPUS * 20, trainers.BpeTrainer(vocab_size=800, special_tokens=special, show_progress=False)
    )
    model = json.loads(bpe.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    if transformers_is_old():
        tokenizer = tf.GemmaTokenizerFast(
            tokenizer_object=bpe, model_max_length=64, add_bos_token=False, add_eos_token=True
        )
    else:
        tokenizer = tf.Siglip2Tokenizer(vocab=model["vocab"], merges=merges, model_max_length=64)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <eos>", special_tokens=[("<eos>", tokenizer.eos_token_id)]
    )
    return tokenizer


def _image_processor(which: str, **options: Any) -> Any:
    name = IMAGE_PROCESSORS[which]
    try:
        module = __import__(f"transformers.models.{which}.image_processing_pil_{which}", fromlist=[name])
    except ImportError:
        return getattr(tf, name)(**options)
    return getattr(module, f"{name}Pil")(**options)
