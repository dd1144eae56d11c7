"""Models of the published sizes with random weights: what they say is noise, what they cost is real.

python benchmarks/synthetic_weights.py florence2 FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

QWEN_SPECIAL = ("endoftext", "im_start", "im_end", "vision_start", "vision_end", "image_pad", "video_pad")
QWEN_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for c in m['content'] %}{% if c['type'] == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c['text'] }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endfor %}<|im_start|>assistant\n"
)


def florence2(folder: Path) -> None:
    """Florence-2-base: 0.23e9 weights, pictures of 768 px, 577 image tokens."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=_bytes_tokenizer(special),
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
        extra_special_tokens={"image_token": "<image>"},
        model_max_length=1024,
    )
    tokenizer.add_tokens([f"<loc_{i}>" for i in range(1000)], special_tokens=True)
    images = tf.CLIPImageProcessor(size={"height": 768, "width": 768}, do_center_crop=False, resample=3)
    images.image_seq_length = 577
    processor = tf.Florence2Processor(image_processor=images, tokenizer=tokenizer, post_processor_config={})
    ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    vision = tf.Florence2VisionConfig(
        depths=[1, 1, 9, 1],
        embed_dim=[128, 256, 512, 1024],
        num_heads=[4, 8, 16, 32],
        num_groups=[4, 8, 16, 32],
        window_size=12,
        projection_dim=768,
    )
    text = tf.BartConfig(
        vocab_size=51289,
        d_model=768,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=12,
        decoder_attention_heads=12,
        encoder_ffn_dim=3072,
        decoder_ffn_dim=3072,
        max_position_embeddings=1024,
        **ids,
    )
    image_token = tokenizer.image_token_id
    config = tf.Florence2Config(
        text_config=text.to_dict(), vision_config=vision.to_dict(), image_token_id=image_token, **ids
    )
    net = tf.Florence2ForConditionalGeneration(config)
    net.generation_config.update(**ids, num_beams=1)
    _save(folder, net, processor)


def siglip2(folder: Path) -> None:
    """SigLIP2-base with patches of 16 and pictures of 224 px: 0.38e9 weights, most of them words."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=_bytes_tokenizer(special), pad_token="<pad>", eos_token="<eos>", model_max_length=64
    )
    text = {"vocab_size": 256000, "max_position_embeddings": 64, "pad_token_id": 0, "eos_token_id": 1}
    config = tf.SiglipConfig(text_config=text, vision_config={"image_size": 224, "patch_size": 16})
    images = tf.SiglipImageProcessor(size={"height": 224, "width": 224})
    _save(folder, tf.SiglipModel(config), tokenizer, images)


def qwen_vl(folder: Path) -> None:
    """Qwen2.5-VL-3B: 3.75e9 weights; needs 8 GB in half precision, 15 GB in single."""
    names = [f"<|{name}|>" for name in QWEN_SPECIAL]
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=_bytes_tokenizer(names),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=32768,
        chat_template=QWEN_TEMPLATE,
    )
    number = tokenizer.convert_tokens_to_ids
    ids = {f"{name}_token_id": number(f"<|{name}|>") for name in ("vision_start", "vision_end")}
    ids |= {"image_token_id": number("<|image_pad|>"), "video_token_id": number("<|video_pad|>")}
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}
    text = tf.Qwen2_5_VLTextConfig(
        vocab_size=151936,
        hidden_size=2048,
        intermediate_size=11008,
        num_hidden_layers=36,
        num_attention_heads=16,
        num_key_value_heads=2,
        max_position_embeddings=32768,
        rope_parameters=rope,
        tie_word_embeddings=True,
    )
    vision = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 2048}
    vision |= {"fullatt_block_indexes": [7, 15, 23, 31], "window_size": 112}
    torch.set_default_dtype(torch.bfloat16)
    config = tf.Qwen2_5_VLConfig(text_config=text.to_dict(), vision_config=vision, tie_word_embeddings=True, **ids)
    net = tf.Qwen2_5_VLForConditionalGeneration(config)
    torch.set_default_dtype(torch.float32)
    _save(folder, net, tokenizer, _qwen_images())


def _qwen_images() -> Any:
    try:
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
    except ImportError:
        return tf.Qwen2VLImageProcessor()
    return Qwen2VLImageProcessorPil()


def _save(folder: Path, *parts: Any) -> None:
    for part in parts:
        part.save_pretrained(folder)


def _bytes_tokenizer(special: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(["a mug on a table"], trainer)
    return tokenizer


if __name__ == "__main__":
    {"florence2": florence2, "siglip2": siglip2, "qwen_vl": qwen_vl}[sys.argv[1]](Path(sys.argv[2]))
