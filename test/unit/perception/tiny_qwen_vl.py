"""A Qwen2.5-VL or Qwen3-VL of 0.2 million weights: transformers' own classes, taught what two photographs show."""

import json
from pathlib import Path
from typing import Any

import torch
import transformers as tf
from PIL import Image
from skimage import data
from tiny_tokenizer import byte_bpe

SPECIAL = ("endoftext", "im_start", "im_end", "object_ref_start", "object_ref_end", "box_start", "box_end")
SPECIAL += ("quad_start", "quad_end", "vision_start", "vision_end", "vision_pad", "image_pad", "video_pad")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PROMPTS = {"describe_frame": "One frame.", "describe_chunk": "A chunk."}
"""Short ones, in the place of the package's: they are what the model is taught on."""

SHOWN = {"coffee": "cup", "chelsea": "cat"}
CHUNKS = (("coffee",), ("chelsea",), ("coffee", "chelsea"), ("chelsea", "coffee"))
STEPS = 80


def reply(names: tuple[str, ...]) -> str:
    """What the model is taught to say about a chunk: a box in its middle for each frame's thing."""
    objects = [
        {"id": f"{SHOWN[name]}_1", "type": SHOWN[name], "boxes": {str(i): [20, 20, 60, 40]}}
        for i, name in enumerate(names, start=1)
    ]
    return json.dumps({"objects": objects, "summary": " ".join(SHOWN[name] for name in names)})


def photo(name: str) -> Image.Image:
    return Image.fromarray(getattr(data, name)())


def save_prompts(folder: Path) -> Path:
    for name, text in PROMPTS.items():
        (folder / f"{name}.txt").write_text(f"version: 1\n\n{text}")
    return folder


def save(folder: Path, which: str) -> None:
    """Builds, teaches and saves the checkpoint of Qwen ``2.5`` or ``3``."""
    torch.manual_seed(0)
    net, tokenizer, images = _build(which)
    loss = _teach(net, tokenizer, images)
    if loss > 0.05:
        raise RuntimeError(f"the tiny Qwen-VL has not learnt its answers: loss {loss:.3f}")
    net.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    images.save_pretrained(folder)


def _build(which: str) -> tuple[Any, Any, Any]:
    names = [f"<|{name}|>" for name in SPECIAL]
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=byte_bpe(names),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=4096,
        chat_template=TEMPLATE,
    )
    number = tokenizer.convert_tokens_to_ids
    ids = {
        "image_token_id": number("<|image_pad|>"),
        "video_token_id": number("<|video_pad|>"),
        "vision_start_token_id": number("<|vision_start|>"),
        "vision_end_token_id": number("<|vision_end|>"),
    }
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "bos_token_id": number("<|endoftext|>"),
        "eos_token_id": number("<|im_end|>"),
        "pad_token_id": number("<|endoftext|>"),
    }
    vision = {"depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 64}
    vision |= {"spatial_merge_size": 2, "temporal_patch_size": 2}
    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": 10000.0}
    rope_field = "rope_scaling" if tf.__version__ < "5" else "rope_parameters"
    if which == "2.5":
        patch = 14
        text_config = tf.Qwen2_5_VLTextConfig(**text, **{rope_field: {**rope, "mrope_section": [2, 3, 3]}})
        vision |= {"patch_size": patch, "window_size": 56, "fullatt_block_indexes": [1]}
        config = tf.Qwen2_5_VLConfig(text_config=text_config.to_dict(), vision_config=vision, **ids)
        net = tf.Qwen2_5_VLForConditionalGeneration(config)
    else:
        patch = 16
        rope |= {"mrope_section": [4, 2, 2], "mrope_interleaved": True}
        text_config = tf.Qwen3VLTextConfig(**text, head_dim=16, **{rope_field: rope})
        vision |= {"patch_size": patch, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]}
        config = tf.Qwen3VLConfig(text_config=text_config.to_dict(), vision_config=vision, **ids)
        net = tf.Qwen3VLForConditionalGeneration(config)
    side = patch * 2
    size = {"shortest_edge": side * side, "longest_edge": 12 * side * side}  # at most 12 image tokens a frame
    images = _image_processor(patch_size=patch, merge_size=2, temporal_patch_size=2, size=size)
    return net, tokenizer, images


def _image_processor(**options: Any) -> Any:
    """The one that needs no torchvision, whatever this version of transformers calls it."""
    try:
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
    except ImportError:
        size = options.pop("size")
        pixels = {"min_pixels": size["shortest_edge"], "max_pixels": size["longest_edge"]}
        return tf.Qwen2VLImageProcessor(**options, **pixels)
    return Qwen2VLImageProcessorPil(**options)


def _teach(net: Any, tokenizer: Any, images: Any) -> float:
    lessons = [_lesson(net, tokenizer, images, names) for names in CHUNKS]
    optimizer = torch.optim.AdamW(net.parameters(), lr=4e-3)
    net.train()
    loss = torch.tensor(0.0)
    for _ in range(STEPS):
        loss = torch.stack([net(**lesson).loss for lesson in lessons]).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    net.eval()
    return float(loss.detach())


def _lesson(net: Any, tokenizer: Any, images: Any, names: tuple[str, ...]) -> dict[str, Any]:
    pixels = images(images=[photo(name) for name in names], return_tensors="pt")
    counts = (pixels["image_grid_thw"].prod(dim=1) // 4).tolist()
    prompt = PROMPTS["describe_frame" if len(names) == 1 else "describe_chunk"]
    question = "<|im_start|>user\n"
    for i, count in enumerate(counts, start=1):
        question += f"Frame {i}:<|vision_start|>{'<|image_pad|>' * count}<|vision_end|>"
    question += f"{prompt}<|im_end|>\n<|im_start|>assistant\n"
    asked = tokenizer(question, return_tensors="pt", add_special_tokens=False).input_ids
    answered = tokenizer(reply(names) + "<|im_end|>", return_tensors="pt", add_special_tokens=False).input_ids
    tokens = torch.cat([asked, answered], dim=1)
    labels = tokens.clone()
    labels[:, : asked.shape[1]] = -100
    return {
        "input_ids": tokens,
        "attention_mask": torch.ones_like(tokens),
        "labels": labels,
        **({} if tf.__version__ < "5" else {"mm_token_type_ids": (tokens == net.config.image_token_id).long()}),
        **pixels,
    }
