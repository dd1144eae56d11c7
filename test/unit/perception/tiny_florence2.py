"""A Florence-2 of 0.6 million weights: transformers' own classes, made from configs and taught three photographs."""

from pathlib import Path

import torch
import transformers
from PIL import Image
from skimage import data
from tiny_tokenizer import byte_bpe
from transformers import (
    BartConfig,
    CLIPImageProcessor,
    Florence2Config,
    Florence2ForConditionalGeneration,
    Florence2Processor,
    Florence2VisionConfig,
    PreTrainedTokenizerFast,
)

OBJECTS = "<OD>"
REGIONS = "<DENSE_REGION_CAPTION>"
CAPTION = "<MORE_DETAILED_CAPTION>"
GROUND_CUP = "<CAPTION_TO_PHRASE_GROUNDING>a mug"

ANSWERS = {
    ("coffee", OBJECTS): "cup<loc_288><loc_33><loc_685><loc_598>",
    ("chelsea", OBJECTS): "cat<loc_18><loc_0><loc_905><loc_987>",
    ("astronaut", OBJECTS): "person<loc_20><loc_20><loc_720><loc_994>",
    ("coffee", REGIONS): "a red mug<loc_290><loc_35><loc_680><loc_590>",
    ("chelsea", REGIONS): "tabby cat<loc_18><loc_0><loc_900><loc_990>",
    ("astronaut", REGIONS): "orange suit<loc_100><loc_600><loc_600><loc_994>",
    ("coffee", CAPTION): "a red mug on a table.",
    ("chelsea", CAPTION): "a tabby cat.",
    ("astronaut", CAPTION): "an astronaut in an orange suit.",
    ("coffee", GROUND_CUP): "a mug<loc_288><loc_33><loc_685><loc_598>",
}
TOKENIZER = transformers.BartTokenizerFast if transformers.__version__ < "5" else PreTrainedTokenizerFast
SIDE_PX = 96  # 3 x 3 + 1 = 10 image tokens; the published checkpoints have 768 and 577
STEPS = 260


def save(folder: Path) -> None:
    """Builds, teaches and saves the checkpoint; raises where it has not learnt its answers."""
    torch.manual_seed(0)
    net, processor = _build()
    loss = _teach(net, processor)
    if loss > 0.02:
        raise RuntimeError(f"the tiny Florence-2 has not learnt its answers: loss {loss:.3f}")
    net.save_pretrained(folder)
    processor.save_pretrained(folder)


def photo(name: str) -> Image.Image:
    return Image.fromarray(getattr(data, name)())


def _build() -> tuple[Florence2ForConditionalGeneration, Florence2Processor]:
    tokenizer = TOKENIZER(
        tokenizer_object=byte_bpe(["<s>", "<pad>", "</s>", "<unk>", "<mask>"], vocab_size=400),
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
        extra_special_tokens={"image_token": "<image>"},
        model_max_length=1024,
    )
    tokenizer.add_tokens([f"<loc_{i}>" for i in range(1000)], special_tokens=True)
    images = CLIPImageProcessor(
        size={"height": SIDE_PX, "width": SIDE_PX},
        do_center_crop=False,
        resample=3,
        image_mean=[0.485, 0.456, 0.406],
        image_std=[0.229, 0.224, 0.225],
    )
    images.image_seq_length = (SIDE_PX // 32) ** 2 + 1
    parsers = ("ocr", "phrase_grounding", "pure_text", "description_with_bboxes", "description_with_polygons")
    parsers += ("polygons", "bboxes", "description_with_bboxes_or_polygons")
    config: dict[str, dict[str, object]] = {parser: {} for parser in parsers}
    config["ocr"] = {"AREA_THRESHOLD": 0.0}
    config["phrase_grounding"] = {"banned_grounding_tokens": ["it"]}
    processor = Florence2Processor(image_processor=images, tokenizer=tokenizer, post_processor_config=config)
    ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    forced = {"forced_bos_token_id": 0, "forced_eos_token_id": 2}
    vision = Florence2VisionConfig(
        depths=[1, 1, 1, 1],
        embed_dim=[16, 32, 48, 64],
        num_heads=[1, 2, 3, 4],
        num_groups=[1, 2, 3, 4],
        window_size=3,
        projection_dim=64,
        drop_path_rate=0.0,
    )
    text = BartConfig(
        vocab_size=len(tokenizer),
        d_model=64,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_position_embeddings=256,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        **ids,
        **forced,
    )
    net = Florence2ForConditionalGeneration(
        Florence2Config(
            text_config=text.to_dict(),
            vision_config=vision.to_dict(),
            image_token_id=tokenizer.image_token_id,
            **ids,
        )
    )
    net.generation_config.update(**ids, **forced, num_beams=1)
    return net, processor


def _teach(net: Florence2ForConditionalGeneration, processor: Florence2Processor) -> float:
    names, prompts = zip(*ANSWERS, strict=True)
    inputs = processor(text=list(prompts), images=[photo(name) for name in names], return_tensors="pt", padding=True)
    answers = [f"<s>{answer}</s>" for answer in ANSWERS.values()]
    labels = processor.tokenizer(answers, return_tensors="pt", padding=True, add_special_tokens=False).input_ids
    # Shifted here: transformers 4.57 shifts the labels twice.
    pad = processor.tokenizer.pad_token_id
    starts = torch.cat([torch.full_like(labels[:, :1], net.config.text_config.decoder_start_token_id), labels], dim=1)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    net.train()
    loss = torch.tensor(0.0)
    for _ in range(STEPS):
        logits = net(**inputs, decoder_input_ids=starts[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    net.eval()
    return float(loss.detach())
