"""Which models a configuration needs, and bringing them from a hub (one on this machine)."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ModelError
from vlkng_ros.perception.models import ModelStatus, fetch, licence_of, models_needed

NEEDED = "only transformers brings the hub's client: pip install 'vlkng_ros[florence]'"

COMMIT = "c" * 40
FILES = {
    "config.json": b'{"model_type": "florence2"}',
    "model.safetensors": b"w" * 1000,
    "README.md": b"---\nlicense: mit\n---\n# A model",
    "pytorch_model.bin": b"the same in another format",
}


class Hub(BaseHTTPRequestHandler):
    asked: list[str]
    refuse = False

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        self.asked.append(self.path)
        name = self.path.rpartition("/")[2].partition("?")[0]
        content, status = b"", 404
        if self.path.startswith("/api/models/some/model") and not self.refuse:
            content, status = self._listing(), 200
        elif self.path.startswith("/some/model/resolve/") and name in FILES:
            content, status = FILES[name], 200
        self.send_response(status)
        if status == 404:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("ETag", f'"{name}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def _listing(self) -> bytes:
        if "/tree/" in self.path:
            entries = [{"type": "file", "path": n, "size": len(c), "oid": n} for n, c in FILES.items()]
            return json.dumps(entries).encode()
        siblings = [{"rfilename": name} for name in FILES]
        return json.dumps({"id": "some/model", "sha": COMMIT, "siblings": siblings}).encode()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    pytest.importorskip("huggingface_hub", reason=NEEDED)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    Hub.asked, Hub.refuse = [], False
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def only(config: PerceptionConfig, text_encoder: str = "none") -> ModelStatus:
    (status,) = models_needed(config, text_encoder)
    return status


def test_a_model_is_fetched_once_without_its_copies_in_other_formats(hub: str) -> None:
    config = PerceptionConfig(backend="florence2", model="some/model")
    before = only(config)
    assert (before.where, before.size_bytes, before.missing, before.bring) == (
        None,
        0,
        True,
        "vlkng models --fetch some/model",
    )
    folder = fetch("some/model", endpoint=hub)
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    after = only(config)
    assert (after.where, after.missing, after.licence) == (folder, False, "mit")
    assert after.size_bytes == sum(len(FILES[name]) for name in ("README.md", "config.json", "model.safetensors"))
    Hub.asked.clear()
    assert fetch("some/model", endpoint=hub) == folder
    assert not any(path.endswith(".safetensors") for path in Hub.asked)


def test_a_model_the_hub_does_not_have_is_said_so(hub: str) -> None:
    Hub.refuse = True
    with pytest.raises(ModelError, match="some/model: the hub has no such model"):
        fetch("some/model", endpoint=hub)


def test_a_hub_that_is_not_there_is_said_so(hub: str) -> None:
    with pytest.raises(ModelError, match="some/model: cannot be fetched: "):
        fetch("some/model", endpoint="http://127.0.0.1:9")


def test_without_a_client_of_the_hub_it_is_said_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    status = only(PerceptionConfig(backend="florence2", model="some/model"))
    assert status.bring == "pip install 'vlkng_ros[florence]' && vlkng models --fetch some/model"
    with pytest.raises(ModelError, match=r"pip install 'vlkng_ros\[florence\]' brings it"):
        fetch("some/model")


def test_offline_nothing_is_asked() -> None:
    pytest.importorskip("huggingface_hub", reason=NEEDED)
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE is set"):
        fetch("some/model")


@pytest.mark.parametrize("name", ["./folder", "model", "a/b/c"])
def test_what_is_no_hub_id_is_not_fetched(name: str) -> None:
    with pytest.raises(ModelError, match="is no hub id"):
        fetch(name)


def test_the_packaged_models_are_listed_with_their_size() -> None:
    detector, text = models_needed(PerceptionConfig(backend="opencv_dnn"), text_encoder="auto")
    assert (detector.role, detector.missing, detector.licence) == ("perception", False, "not stated")
    assert detector.size_bytes > 60e6
    assert (text.role, text.model, text.licence) == ("text", "packaged all-MiniLM-L6-v2", "Apache-2.0")
    assert text.where is not None
    assert text.size_bytes > 50e6


def test_every_model_of_a_configuration_is_listed() -> None:
    pytest.importorskip("huggingface_hub", reason=NEEDED)
    config = PerceptionConfig(backend="qwen_vl", crop_model="google/siglip2-base-patch16-224")
    needed = models_needed(config, text_encoder="some/encoder")
    assert [(status.role, status.model, status.bring) for status in needed] == [
        ("perception", "Qwen/Qwen2.5-VL-3B-Instruct", "vlkng models --fetch Qwen/Qwen2.5-VL-3B-Instruct"),
        ("crops", "google/siglip2-base-patch16-224", "vlkng models --fetch google/siglip2-base-patch16-224"),
        ("text", "some/encoder", "vlkng models --fetch some/encoder"),
    ]


def test_a_model_on_a_server_needs_nothing_here() -> None:
    status = only(PerceptionConfig(backend="vlm_server", model="qwen", server_url="http://robot:8000/v1"))
    assert (status.model, status.missing) == ("qwen at http://robot:8000/v1", False)


@pytest.mark.parametrize("backend", ["recorded", "none"])
def test_other_backends_need_no_model(backend: str) -> None:
    assert models_needed(PerceptionConfig(backend=backend)) == []


def test_a_detector_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    status = only(PerceptionConfig(backend="opencv_dnn", model=str(tmp_path / "no.pb")))
    assert status.missing
    assert "no detector at" in status.bring


@pytest.mark.parametrize(
    ("model", "licence"),
    [
        ("florence-community/Florence-2-large", "MIT"),
        ("google/siglip2-so400m-patch14-384", "Apache-2.0"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "Apache-2.0"),
        ("Qwen/Qwen2.5-VL-3B-Instruct", "Qwen Research License (not for commercial use)"),
        ("who/knows", "not stated"),
    ],
)
def test_licences_are_known_by_family(model: str, licence: str) -> None:
    assert licence_of(model) == licence


def test_a_card_with_a_licence_of_its_own_names_it(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("---\nlicense: other\nlicense_name: robot-1.0\n---\n")
    assert licence_of("who/knows", tmp_path) == "robot-1.0"


@pytest.mark.parametrize(
    ("model", "about"),
    [("Qwen/Qwen2.5-VL-7B-Instruct", 16.6e9), ("florence-community/Florence-2-base-ft", 0.5e9), ("some/model", 0)],
)
def test_how_much_there_is_to_bring_is_said_where_it_is_known(model: str, about: float) -> None:
    status = only(PerceptionConfig(backend="qwen_vl", model=model))
    assert (status.missing, status.size_bytes, status.about_bytes) == (True, 0, about)
