"""A byte-level BPE tokenizer made on the spot: all 256 bytes, so that every string survives."""

from collections.abc import Sequence

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CORPUS = (
    "a red coffee mug on the kitchen table next to a laptop",
    "where did I leave my keys? they are on the shelf in the hallway",
    "Locate the objects with category name in the image.",
    "Locate the objects in the image, with their descriptions.",
    "Describe with a paragraph what is shown in the image.",
    "a tabby cat lying on a sofa looks at the camera",
    "an astronaut in an orange suit, a person and a bus in the street",
    '{"objects": [{"id": "cup_1", "type": "cup", "frames": [{"frame": 1, "box": [100, 200, 300, 400]}]}]}',
)


def byte_bpe(special_tokens: Sequence[str], vocab_size: int = 600) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(special_tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS * 20, trainer)
    return tokenizer
