"""``vlkng import``: captions of another program, or an exported memory, into a memory."""

from __future__ import annotations

import argparse
from contextlib import closing

from vlkng_ros.cli import arguments
from vlkng_ros.cli.parameters import add_parameters, read_parameters
from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import GraphFileError
from vlkng_ros.moments import counted


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb and its kinds of files."""
    parser = subparsers.add_parser("import", help="read what another program saw into a memory")
    kinds = parser.add_subparsers(title="kinds of files", metavar="KIND", required=True)
    captions = kinds.add_parser(
        "captions",
        help="a caption file as ReMEmbR and EmbodiedLGR write it",
        description="Read a caption file (a JSON list of entries with time, position, caption, and where there are "
        "any labels and dlabels) into a memory. A file that was read already, or in part, is not read twice.",
    )
    captions.add_argument("file", type=arguments.path, metavar="FILE.json")
    arguments.add_memory(captions)
    arguments.add_robot(captions)
    captions.add_argument("--camera", default="camera", metavar="NAME", help="camera name (default: camera)")
    arguments.add_text_encoder(captions)
    add_parameters(captions)
    captions.set_defaults(run=run, interrupted=arguments.GOES_ON)
    graph = kinds.add_parser(
        "graph",
        help="a memory that 'vlkng export --format json' wrote",
        description="Make a memory again from node-link JSON, with its keyframes, what was seen in each, and its view.",
    )
    graph.add_argument("file", type=arguments.path, metavar="FILE.json")
    arguments.add_memory(graph)
    arguments.add_text_encoder(graph)
    graph.set_defaults(run=run_graph, interrupted=arguments.BEGINS_ANEW)


def run(args: argparse.Namespace) -> int:
    """Import a caption file."""
    from vlkng_ros.bags.caption_file import read_captions
    from vlkng_ros.bags.captions import import_captions
    from vlkng_ros.building.opening import open_writer
    from vlkng_ros.cli.memories import known_keyframes, other_maps
    from vlkng_ros.cli.progress import progress
    from vlkng_ros.perception.told import Teller
    from vlkng_ros.types import PerceptionState

    named = {
        "memory.path": str(args.memory),
        "association.text_encoder": None if args.text_encoder == "auto" else args.text_encoder,
    }
    config = read_parameters(BuilderConfig, args, named, node="builder_node")
    frames = read_captions(args.file, frame_id=args.frame_id)
    known = known_keyframes(args.memory, args.camera, {frame.stamp_ns for frame in frames})
    complete = sum(frame.perception is PerceptionState.DONE for frame in known.values())
    if complete == len(frames):
        place = other_maps(known.values(), args.map_id)
        print(f"{args.memory}: all {complete} frames of {args.file} are in the memory already{place}; nothing to do")
        return 0
    with (
        closing(Teller(config.perception)) as teller,
        open_writer(config) as writer,
        progress(f"import {args.file.name}", len(frames), "frames") as advance,
    ):
        # What is added to a file that was imported in part is in its map, also where the map has no id of its own.
        map_id = args.map_id or next((frame.map_id for frame in known.values()), "")
        done = import_captions(
            frames,
            writer,
            robot=args.robot,
            map_id=map_id,
            camera=args.camera,
            known=known,
            tell=lambda said: teller.tell([said], config.perception.timeout_s)[0],
            advance=advance,
        )
    made, seen = counted(done.added + done.completed, "keyframe"), counted(done.detections, "detection")
    print(f"{args.memory}: {made} and {seen} from {args.file}")
    if done.known:
        print(f"{done.known} of its {len(frames)} frames were in the memory already and are not repeated")
    if done.completed:
        print(f"{done.completed} of them complete an interrupted import")
    return 0


def run_graph(args: argparse.Namespace) -> int:
    """Import an exported memory."""
    from vlkng_ros.bags.node_link_reader import read_node_link
    from vlkng_ros.cli.memories import known_keyframes
    from vlkng_ros.cli.progress import progress
    from vlkng_ros.memory import MemoryWriter, open_encoder
    from vlkng_ros.memory.association.stated import StatedAssociator

    graph = read_node_link(args.file)
    for camera in {frame.capture.camera for frame in graph.keyframes}:
        stamps = {frame.capture.stamp_ns for frame in graph.keyframes if frame.capture.camera == camera}
        known = known_keyframes(args.memory, camera, stamps)
        if known:
            raise GraphFileError(
                f"{args.file}: {len(known)} of its keyframes are in {args.memory} already; import it into a new memory"
            )
    identity = StatedAssociator(graph.view)
    associators = (identity,) if graph.view else ()
    session: int | None = None
    with (
        MemoryWriter.open(args.memory, encoder=open_encoder(args.text_encoder), associators=associators) as writer,
        progress(f"import {args.file.name}", len(graph.keyframes), "keyframes") as advance,
    ):
        for frame in graph.keyframes:
            if frame.session != session:
                frame_id = frame.capture.base_pose.frame_id
                writer.start_session(robot=frame.robot, map_id=frame.map_id, frame_id=frame_id)
                session = frame.session
            keyframe = writer.add_keyframe(frame.capture)
            if frame.perception is not None:
                writer.add_perception(keyframe.keyframe_id, frame.perception)
                identity.expect(frame.entities)
                entities = writer.associate(keyframe.keyframe_id)
                if graph.view:
                    labels = [detection.label for detection in frame.perception.detections]
                    identity.learn([entity.entity_id for entity in entities], labels)
            advance(1)
    made = counted(len(graph.keyframes), "keyframe")
    print(f"{args.memory}: {made} from {args.file}, without pictures; view '{graph.view}'")
    return 0
