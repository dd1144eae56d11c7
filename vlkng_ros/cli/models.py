"""``vlkng models``: which models a configuration needs, and bringing them ahead of time."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vlkng_ros.cli import arguments
from vlkng_ros.cli.parameters import add_parameters, read_parameters
from vlkng_ros.config import BuilderConfig
from vlkng_ros.moments import size

if TYPE_CHECKING:
    from vlkng_ros.perception.models import ModelStatus


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb."""
    parser = subparsers.add_parser(
        "models",
        help="list the models that the configuration needs, and fetch them",
        description="List the models that the configuration needs: where they are, how large, under which licence. "
        "Nothing but --fetch asks a model hub.",
    )
    parser.add_argument("--backend", metavar="NAME", help="perception.backend")
    parser.add_argument("--model", metavar="MODEL", help="perception.model")
    parser.add_argument(
        "--fetch", nargs="*", metavar="MODEL", help="bring what is missing into the hub's cache, or these, by hub id"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a model")
    add_parameters(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List, or fetch and list; 1 where a model is missing."""
    from vlkng_ros.perception.models import fetch, models_needed, weights
    from vlkng_ros.perception.weights import looks_like_hub_id

    if args.fetch:
        for model in args.fetch:
            fetch(model)
        return _list([weights("fetched", model) for model in args.fetch], args)

    named = {"perception.backend": args.backend, "perception.model": args.model}
    config = read_parameters(BuilderConfig, args, named, node="builder_node")
    needed = models_needed(config.perception, config.association.text_encoder)
    if args.fetch is not None:
        for model in needed:
            if model.missing and looks_like_hub_id(model.model):
                fetch(model.model)
        needed = models_needed(config.perception, config.association.text_encoder)
    return _list(needed, args)


def _list(needed: Sequence[ModelStatus], args: argparse.Namespace) -> int:
    if args.json:
        for model in needed:
            print(json.dumps(_as_json(model), ensure_ascii=False))
    elif not needed:
        print("this configuration needs no model")
    else:
        for model in needed:
            print(_as_text(model))
    return 1 if any(model.missing for model in needed) else 0


def _as_json(model: ModelStatus) -> dict[str, object]:
    return {
        "role": model.role,
        "model": model.model,
        "where": str(model.where) if model.where is not None else None,
        "bytes": model.size_bytes,
        "licence": model.licence,
        "missing": model.missing,
        "about_bytes": model.about_bytes,
        "bring": model.bring,
    }


def _as_text(model: ModelStatus) -> str:
    lines = [f"{model.role}: {model.model} (licence: {model.licence})"]
    if model.where is not None:
        lines.append(f"  {size(model.size_bytes)} in {model.where}")
    if model.missing:
        about = f" (about {size(model.about_bytes)})" if model.about_bytes else ""
        lines.append(f"  not on this machine{about}; bring it with: {model.bring}")
    return "\n".join(lines)
