"""Where a torch model runs, in which type, and what happens when the GPU's memory does not suffice."""

from __future__ import annotations

import gc
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from vlkng_ros.errors import ModelError, ModelUnavailableError

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_log = logging.getLogger(__name__)


def pick_device(device: str) -> str:
    """``cuda`` where asked for or, with ``auto``, where there is one; else ``cpu``.

    Raises:
        ModelError: ``cuda`` is asked for and torch sees none.
    """
    import torch

    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        raise ModelError(
            f"perception.device is 'cuda', but torch {torch.__version__} sees no GPU here; set it to 'auto' or 'cpu', "
            "or install a CUDA build of torch"
        )
    return "cuda" if available and device != "cpu" else "cpu"


def pick_dtype(dtype: str, device: str) -> Any:
    """The torch type; ``auto`` is float16 on cuda (RTX 20 cards have no bfloat16) and float32 on cpu."""
    import torch

    if dtype == "auto":
        return torch.float16 if device == "cuda" else torch.float32
    return {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}[dtype]


def hide_progress_bars() -> None:
    """Keeps transformers from drawing on a log."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()


def image_processor_options() -> dict[str, Any]:
    """How this version of transformers is asked for an image processor that needs PIL alone, not torchvision."""
    import transformers

    return {"backend": "pil"} if int(transformers.__version__.split(".")[0]) >= 5 else {"use_fast": False}


class HalvingBatches:
    """Runs batches, and after the GPU ran out of memory, smaller ones from then on."""

    def __init__(self, counters: Counter[str]) -> None:
        """``counters`` grows by ``out_of_memory``."""
        self._counters = counters
        self._largest: int | None = None

    def run(self, work: Callable[[Sequence[ItemT]], list[ResultT]], items: Sequence[ItemT]) -> list[ResultT]:
        """The results of ``work`` on all items, in order.

        Raises:
            ModelUnavailableError: a single item does not fit now; others may have freed memory later.
        """
        import torch

        results: list[ResultT] = []
        while len(results) < len(items):
            rest = items[len(results) :]
            size = min(len(rest), self._largest or len(rest))
            try:
                results.extend(work(rest[:size]))
                continue
            except torch.cuda.OutOfMemoryError as error:
                self._counters["out_of_memory"] += 1
                reason = str(error).splitlines()[0]
            # Outside the except block: the exception's frames hold the tensors that are to be freed.
            free_gpu_memory()
            if size == 1:
                raise ModelUnavailableError(f"perception: the GPU's memory does not suffice for one frame: {reason}")
            self._largest = size // 2
            _log.warning("GPU out of memory with %d frames at once; %d from now on", size, self._largest)
        return results


def free_gpu_memory() -> None:
    """Gives back what torch holds and does not use."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
