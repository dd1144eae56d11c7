"""Every parameter of the package, with its unit, range and default: the one home of each.

A group is a frozen dataclass; a node's or command's configuration is made of groups. ``parameters_of`` lists a
configuration flat (``keyframe.min_distance_m``), which is what ROS parameter descriptors, the YAML files and the
README's tables are made from or checked against.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from vlkng_ros.errors import ConfigError

ParameterValue = bool | int | float | str
ConfigT = TypeVar("ConfigT")
_NEEDED = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def _param(
    default: ParameterValue,
    doc: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    live: bool = False,
) -> Any:
    """A parameter: bounds are inclusive; ``live`` ones can change while the node runs."""
    metadata = {"doc": doc, "unit": unit, "low": low, "high": high, "choices": choices, "live": live}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter as a user sees it."""

    name: str
    type: type
    default: ParameterValue
    doc: str
    unit: str
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    live: bool

    def check(self, value: object) -> ParameterValue:
        """The value, converted from int to float where that is meant.

        Raises:
            ConfigError: wrong type, out of range, or not among the choices.
        """
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not self.type:
            quoted = f"; as text it is written '{value}', in quotes" if self.type is str else ""
            raise ConfigError(f"parameter '{self.name}': needs {_NEEDED[self.type]}, got {value!r}{quoted}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"parameter '{self.name}': needs a finite number, got {value}")
        if self.low is not None and typing.cast(float, value) < self.low:
            raise ConfigError(f"parameter '{self.name}': {value} is below {self.low:g} {self.unit}".rstrip())
        if self.high is not None and typing.cast(float, value) > self.high:
            raise ConfigError(f"parameter '{self.name}': {value} is above {self.high:g} {self.unit}".rstrip())
        if self.choices and value not in self.choices:
            raise ConfigError(f"parameter '{self.name}': {value!r} is not one of {', '.join(self.choices)}")
        return typing.cast(ParameterValue, value)


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """Where the memory lives and what it keeps."""

    path: str = _param("~/.ros/vlkng/memory.db", "database file; created with its folder where absent")
    keep_images: bool = _param(True, "keep a JPEG of every keyframe beside the database")
    keep_images_days: float = _param(
        0.0, "drop images older than this; what was seen in them stays; 0 keeps all", unit="days", low=0.0, high=1e5
    )
    keep_images_gb: float = _param(
        0.0, "drop the oldest images beyond this much; what was seen in them stays; 0 keeps all", unit="GB", low=0.0
    )
    keep_observations_days: float = _param(
        0.0,
        "keep observations older than this in summary only: entities stay; 0 keeps all",
        unit="days",
        low=0.0,
        high=1e5,
    )
    keep_observations: int = _param(
        0, "keep the oldest observations beyond this many in summary only: entities stay; 0 keeps all", low=0
    )
    image_width: int = _param(640, "width that keyframe images are reduced to", unit="px", low=64, high=4096)
    jpeg_quality: int = _param(85, "quality of kept keyframe images", low=10, high=100)


@dataclass(frozen=True, slots=True)
class RobotConfig:
    """Who remembers, and in which frames."""

    name: str = _param("robot", "name stored with every keyframe")
    map_id: str = _param(
        "", "name of the map that localisation uses; empty: each start is a new map and older goals are refused"
    )
    map_frame: str = _param("map", "frame that poses are in")
    base_frame: str = _param("base_link", "frame that navigation goals move")


@dataclass(frozen=True, slots=True)
class PoseConfig:
    """Where the pose at an image's stamp comes from."""

    source: str = _param("topic", "pose topic(s), or TF at the image's stamp", choices=("topic", "tf"))
    type: str = _param(
        "pose_with_covariance",
        "message type of the pose topic: PoseWithCovarianceStamped (SLAM Toolbox), PoseStamped or Odometry",
        choices=("pose_with_covariance", "pose", "odometry"),
    )
    use_odometry: bool = _param(True, "carry the last pose forward with the odometry topic")
    wait_s: float = _param(2.0, "how long an image waits for a pose after its stamp", unit="s", low=0.0, high=60.0)
    buffer_s: float = _param(60.0, "span of poses and odometry kept", unit="s", low=1.0, high=3600.0)
    hold_distance_m: float = _param(
        0.7,
        "without odometry: the pose topic is silent until the robot moved this far, so a held pose is this uncertain",
        unit="m",
        low=0.0,
        high=100.0,
    )
    follow_map: bool = _param(
        True,
        "move keyframes with SLAM Toolbox's pose graph (slam_toolbox/graph_visualization); with pose.source=topic only",
    )


@dataclass(frozen=True, slots=True)
class CameraConfig:
    """The camera and how it is mounted; extrinsics are those of the optical frame in the base frame."""

    name: str = _param("camera", "camera name stored with every keyframe")
    extrinsics: str = _param("parameters", "where the mounting comes from", choices=("parameters", "tf", "none"))
    frame_id: str = _param("", "optical frame for TF; empty: the image's frame_id")
    x_m: float = _param(0.0, "optical centre ahead of the base", unit="m", low=-10.0, high=10.0)
    y_m: float = _param(0.0, "optical centre left of the base", unit="m", low=-10.0, high=10.0)
    z_m: float = _param(0.5, "optical centre above the base", unit="m", low=-10.0, high=10.0)
    roll_rad: float = _param(0.0, "camera body roll", unit="rad", low=-math.pi, high=math.pi)
    pitch_rad: float = _param(0.0, "camera body pitch, positive looks down", unit="rad", low=-math.pi, high=math.pi)
    yaw_rad: float = _param(0.0, "camera body yaw, positive looks left", unit="rad", low=-math.pi, high=math.pi)
    qos_reliability: str = _param("best_effort", "QoS of the image subscription", choices=("best_effort", "reliable"))
    transport: str = _param(
        "auto", "image message type; auto follows the publisher", choices=("auto", "raw", "compressed")
    )
    others: str = _param(
        "",
        "further cameras, comma-separated: NAME/image and NAME/camera_info, mounted as camera.extrinsics says",
    )
    others_mounts: str = _param(
        "",
        "where those are with camera.extrinsics=parameters: 'NAME: x y z roll pitch yaw' as above in m and rad, "
        "semicolons between cameras",
    )
    depth: bool = _param(
        False, "measure how far detections are in the depth topic, aligned to the image (16UC1 mm or 32FC1 m)"
    )


@dataclass(frozen=True, slots=True)
class KeyframeConfig:
    """Which frames become keyframes."""

    min_distance_m: float = _param(0.5, "travel that makes a new keyframe", unit="m", low=0.0, high=100.0, live=True)
    min_angle_rad: float = _param(0.35, "turn that makes a new keyframe", unit="rad", low=0.0, high=math.pi, live=True)
    min_period_s: float = _param(0.25, "least time between keyframes", unit="s", low=0.0, high=3600.0, live=True)
    max_period_s: float = _param(
        30.0, "a keyframe at least this often, parked too; 0 for never", unit="s", low=0.0, high=86400.0, live=True
    )
    min_sharpness: float = _param(
        0.0, "variance of the Laplacian below which a frame is blurred; 0 keeps all", low=0.0, high=1e6, live=True
    )
    min_image_change: float = _param(
        0.0,
        "while the robot stands: share of the picture that changed which makes a new keyframe, such as 0.05; 0: never",
        low=0.0,
        high=1.0,
        live=True,
    )
    queue_size: int = _param(
        32, "keyframes that wait for perception in memory; the oldest is dropped", low=1, high=10000
    )


@dataclass(frozen=True, slots=True)
class PerceptionConfig:
    """Which model looks at keyframes."""

    backend: str = _param(
        "florence2",
        "what describes keyframes",
        choices=("florence2", "opencv_dnn", "qwen_vl", "vlm_server", "recorded", "none"),
    )
    model: str = _param("", "hub id, folder or file of the model; empty: the backend's default")
    device: str = _param("auto", "where the model runs; auto: cuda where there is one", choices=("auto", "cpu", "cuda"))
    dtype: str = _param(
        "auto",
        "weights' type; auto: float16 on cuda, float32 on cpu",
        choices=("auto", "float16", "bfloat16", "float32"),
    )
    min_score: float = _param(
        0.5, "detections below are dropped, where the model gives scores", low=0.0, high=1.0, live=True
    )
    max_new_tokens: int = _param(
        0, "token limit of a generated answer; 0: what suits the backend (Florence-2 512, VLMs 4096)", low=0, high=32768
    )
    num_beams: int = _param(1, "beams of generation", low=1, high=16)
    timeout_s: float = _param(60.0, "a model silent for longer is restarted", unit="s", low=0.1, high=3600.0)
    start_timeout_s: float = _param(180.0, "time a model may take to load", unit="s", low=1.0, high=3600.0)
    recording: str = _param("", "JSONL file that the 'recorded' backend reads")
    record: str = _param("", "JSONL file that everything the backend says is appended to; empty: none")
    batch_size: int = _param(
        0, "frames described at once; 0: what suits the backend (chunks of 8 for VLMs)", low=0, high=64
    )
    batch_wait_s: float = _param(
        20.0,
        "how long a chunk waits for its last frame, backends that describe chunks only",
        unit="s",
        low=0.0,
        high=3600.0,
    )
    niceness: int = _param(
        5, "how far the worker's CPU priority is lowered, so that callbacks come first", low=0, high=19
    )
    names_file: str = _param("", "opencv_dnn: class names, a line each or 'id name'; empty: COCO's")
    input_size_px: int = _param(300, "opencv_dnn: side of the square the network sees", unit="px", low=32, high=2048)
    input_mean: float = _param(0.0, "opencv_dnn: subtracted from each pixel", low=-255.0, high=255.0)
    input_scale: float = _param(1.0, "opencv_dnn: factor on each pixel after that", low=0.0, high=255.0)
    input_bgr: bool = _param(False, "opencv_dnn: the network wants BGR (Caffe's do)")
    temperature: float = _param(0.1, "VLMs: randomness of what is said; as VL-KnG builds its graphs", low=0.0, high=2.0)
    box_units: str = _param(
        "auto",
        "VLMs: how the model writes boxes; auto: pixels for Qwen2.5-VL, else thousandths of the image",
        choices=("auto", "thousandths", "pixels"),
    )
    prompts_folder: str = _param("", "VLMs, captions=llm: folder whose .txt files replace the prompts")
    server_url: str = _param("http://127.0.0.1:8000/v1", "vlm_server: address of an OpenAI-compatible server")
    api_key_env: str = _param("VLKNG_API_KEY", "vlm_server: environment variable that holds the server's key")
    geometric_relations: bool = _param(
        True,
        "relations from the boxes (left of, above, on, inside, next to) where the model gives none, put right by where "
        "things are (near, on, next to) where depth says it",
    )
    captions: str = _param(
        "rules",
        "persons, places, things and events that captions tell of, for the views of EgoGraph and Vgent: by rules, by a "
        "language model (rules while it is away), or none",
        choices=("rules", "llm", "none"),
    )
    captions_url: str = _param(
        "http://127.0.0.1:8000/v1", "captions=llm: address of an OpenAI-compatible server for the language model"
    )
    captions_model: str = _param("", "captions=llm: name that the server knows the language model by")
    crop_model: str = _param(
        "", "SigLIP or SigLIP2 that embeds every box for visual search, by hub id or folder; empty: none"
    )


@dataclass(frozen=True, slots=True)
class AssociationConfig:
    """What is the same thing."""

    associator: str = _param(
        "hybrid",
        "what tells which detections show the same thing; it writes the view of its name live",
        choices=("hybrid", "proximity", "text_merge"),
    )
    others: str = _param(
        "", "further associators that write their views live, comma-separated: retrieval presets ask for them"
    )
    distance_m: float = _param(
        5.0,
        "proximity, and where there are no boxes: delta_P, same entity within this distance (EmbodiedLGR's code)",
        unit="m",
        low=0.0,
        high=1000.0,
    )
    cosine: float = _param(
        0.75, "proximity and hybrid: delta_E, labels above this similarity may be one thing's", low=-1.0, high=1.0
    )
    text_encoder: str = _param(
        "auto", "sentence-transformers model by hub id or folder; auto: all-MiniLM-L6-v2 where it is, else none"
    )


@dataclass(frozen=True, slots=True)
class RetrievalConfig:
    """How questions are answered."""

    preset: str = _param(
        "hybrid",
        "how keyframes are found: ours, or as a paper does it",
        choices=(
            "hybrid",
            "vlkng-gr",
            "vlkng-ger",
            "vlkng-full",
            "vlkng-cwgr",
            "embodied-lgr",
            "vgent",
            "egograph",
        ),
        live=True,
    )
    channels: str = _param(
        "",
        "hybrid: what may speak, of lexical, dense, visual, spatial, temporal, relations, separated by commas; "
        "empty: all",
    )
    max_keyframes: int = _param(5, "keyframes returned with an answer", low=1, high=100, live=True)
    min_confidence: float = _param(0.47, "below it the answer is 'I have not seen ...'", low=0.0, high=1.0, live=True)
    timeout_s: float = _param(10.0, "longest a question may take", unit="s", low=0.1, high=600.0, live=True)
    answerer: str = _param(
        "extractive",
        "what words the answer: rules, or a language model in one shot, with tools, or by divide and verify; "
        "when it fails the rules answer",
        choices=("extractive", "llm", "agent", "structured"),
        live=True,
    )
    rewrite: bool = _param(
        False, "let the language model put what a question is about into the memory's words first (VL-KnG, step 1)"
    )
    server_url: str = _param(
        "http://127.0.0.1:8000/v1",
        "address of an OpenAI-compatible server for the language model; empty: it runs in this process (transformers)",
    )
    model: str = _param("", "name that the server knows the language model by; without a server its hub id or folder")
    api_key_env: str = _param("VLKNG_API_KEY", "environment variable that holds that server's key")
    temperature: float = _param(0.7, "temperature of answers (VL-KnG's value)", low=0.0, high=2.0, live=True)
    max_tokens: int = _param(400, "token limit of one reply of the language model", low=16, high=8192, live=True)
    context_tokens: int = _param(
        3000, "tokens of retrieved frames in a prompt, best evidence first", low=100, high=1000000, live=True
    )
    max_steps: int = _param(8, "tool calls of the agent", low=1, high=50, live=True)
    show_images: bool = _param(
        False, "structured: show the model the frames themselves; it must take images", live=True
    )
    prompts: str = _param("", "folder with prompts that take the packaged ones' places")
    visual_model: str = _param(
        "", "vlkng-ger: SigLIP or SigLIP2 by hub id or folder, the one of perception.crop_model; empty: labels stand in"
    )


@dataclass(frozen=True, slots=True)
class NavigationConfig:
    """How goals reach Nav2."""

    action: str = _param("navigate_to_pose", "NavigateToPose action")
    server_wait_s: float = _param(2.0, "wait for the action server", unit="s", low=0.0, high=60.0, live=True)
    response_wait_s: float = _param(5.0, "wait for a goal to be accepted", unit="s", low=0.1, high=60.0, live=True)
    result_wait_s: float = _param(600.0, "longest a drive may take", unit="s", low=1.0, high=86400.0, live=True)
    max_attempts: int = _param(3, "keyframes tried when goals are rejected or aborted", low=1, high=20, live=True)
    arrived_distance_m: float = _param(
        0.25, "closer than this the robot is already there", unit="m", low=0.0, high=10.0, live=True
    )
    arrived_angle_rad: float = _param(0.5, "and turned by less than this", unit="rad", low=0.0, high=math.pi, live=True)
    approach: bool = _param(
        False,
        "drive up to the object and face it, where its position is known; else to where it was seen from",
        live=True,
    )
    standoff_m: float = _param(
        1.0, "distance kept from an object that is approached", unit="m", low=0.1, high=10.0, live=True
    )
    check_path: bool = _param(
        False, "ask the planner (compute_path_to_pose) whether there is a way before a goal is sent", live=True
    )


@dataclass(frozen=True, slots=True)
class MarkersConfig:
    """What RViz shows."""

    period_s: float = _param(1.0, "least time between marker updates", unit="s", low=0.1, high=3600.0, live=True)
    max_entities: int = _param(500, "entities shown, nearest to the robot first", low=0, high=10000, live=True)


@dataclass(frozen=True, slots=True)
class GalleryConfig:
    """The gallery robot: a simulated building, drive and sensors."""

    world: str = _param("demo", "the demo's building, or one generated from the seed", choices=("demo", "generated"))
    seed: int = _param(0, "noise of the sensors, and the generated building", low=0, high=2**31 - 1)
    rooms: int = _param(6, "rooms of a generated building", low=2, high=100)
    things: int = _param(40, "pictures in a generated building", low=0, high=2000)
    laps: int = _param(3, "tours through a generated building; things move in between", low=1, high=100)
    tour: bool = _param(True, "drive the tour; false: stand at its start until a goal comes")
    speed: float = _param(1.0, "simulated seconds in a real one", low=0.01, high=100.0, live=True)
    start_s: float = _param(0.0, "simulated time at the start, since 1970", unit="s", low=0.0, high=4e9)
    wait_for_subscribers_s: float = _param(
        0.0, "hold the start until camera and pose are subscribed to, at most this long", unit="s", low=0.0, high=3600.0
    )
    transport: str = _param("raw", "image messages", choices=("raw", "compressed", "both"))
    jpeg_quality: int = _param(90, "quality of compressed images", low=10, high=100)
    camera_hz: float = _param(10.0, "frames a second", unit="Hz", low=0.1, high=100.0)
    slam_position_sigma_m: float = _param(0.02, "noise of SLAM positions", unit="m", low=0.0, high=10.0)
    slam_yaw_sigma_rad: float = _param(0.0087, "noise of SLAM headings", unit="rad", low=0.0, high=math.pi)
    odometry_scale_sigma: float = _param(0.02, "odometry's error of scale, drawn once", low=0.0, high=1.0)


@dataclass(frozen=True, slots=True)
class BuilderConfig:
    """Parameters of ``builder_node`` and ``vlkng build``."""

    memory: MemoryConfig = MemoryConfig()
    robot: RobotConfig = RobotConfig()
    pose: PoseConfig = PoseConfig()
    camera: CameraConfig = CameraConfig()
    keyframe: KeyframeConfig = KeyframeConfig()
    perception: PerceptionConfig = PerceptionConfig()
    association: AssociationConfig = AssociationConfig()
    markers: MarkersConfig = MarkersConfig()


@dataclass(frozen=True, slots=True)
class QueryConfig:
    """Parameters of ``query_node`` and ``vlkng ask``."""

    memory: MemoryConfig = MemoryConfig()
    robot: RobotConfig = RobotConfig()
    pose: PoseConfig = PoseConfig()
    association: AssociationConfig = AssociationConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    navigation: NavigationConfig = NavigationConfig()
    markers: MarkersConfig = MarkersConfig()


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """Parameters of ``vlkng eval``."""

    association: AssociationConfig = AssociationConfig()
    perception: PerceptionConfig = PerceptionConfig()
    retrieval: RetrievalConfig = RetrievalConfig()


@dataclass(frozen=True, slots=True)
class GalleryRobotConfig:
    """Parameters of ``gallery_robot``."""

    gallery: GalleryConfig = GalleryConfig()


@dataclass(frozen=True, slots=True)
class BagPlayerConfig:
    """Parameters of ``bag_player``."""

    bag: str = _param("", "the bag's folder, or its .mcap or .db3 file")
    rate: float = _param(1.0, "recorded seconds in a real one", low=0.001, high=1000.0)
    loop: bool = _param(False, "start again at the end")
    wait_for_subscribers_s: float = _param(
        3.0,
        "hold the start until the bag's topics are subscribed to, at most this long",
        unit="s",
        low=0.0,
        high=3600.0,
    )
    wait_for_topic: str = _param(
        "", "the topic (or its /compressed) whose subscriber the start is held for; empty: whichever of the bag's"
    )


CONFIGURATIONS = (BuilderConfig, QueryConfig, GalleryRobotConfig, BagPlayerConfig)
"""Those of the nodes."""


def parameters_of(config: type[Any]) -> dict[str, Parameter]:
    """Every parameter of a configuration by its flat name, in order of declaration."""
    return {parameter.name: parameter for parameter in _walk(config, "")}


def _walk(config: type[Any], prefix: str) -> Iterator[Parameter]:
    hints = typing.get_type_hints(config)
    for item in dataclasses.fields(config):
        kind = hints[item.name]
        if dataclasses.is_dataclass(kind):
            yield from _walk(typing.cast(type[Any], kind), f"{prefix}{item.name}.")
        else:
            known = {key: item.metadata[key] for key in ("doc", "unit", "low", "high", "choices", "live")}
            default = typing.cast(ParameterValue, item.default)
            yield Parameter(name=f"{prefix}{item.name}", type=kind, default=default, **known)


def from_values(config: type[ConfigT], values: Mapping[str, object]) -> ConfigT:
    """A configuration from flat names; what is not named keeps its default.

    Raises:
        ConfigError: an unknown name (with the nearest known ones) or a value that ``Parameter.check`` refuses.
    """
    known = parameters_of(config)
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise ConfigError(f"unknown parameter '{name}'{hint}")
    checked = {name: known[name].check(value) for name, value in values.items()}
    return typing.cast(ConfigT, _build(config, checked, ""))


def _build(config: type[Any], values: Mapping[str, ParameterValue], prefix: str) -> object:
    hints: Mapping[str, Any] = types.MappingProxyType(typing.get_type_hints(config))
    arguments: dict[str, object] = {}
    for item in dataclasses.fields(config):
        name = f"{prefix}{item.name}"
        if dataclasses.is_dataclass(hints[item.name]):
            arguments[item.name] = _build(hints[item.name], values, f"{name}.")
        elif name in values:
            arguments[item.name] = values[name]
    return config(**arguments)
