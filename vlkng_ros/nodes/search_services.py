"""The services that look things up: by name, place and time, one thing whole, and the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import PoseStamped

from vlkng_ros.config import QueryConfig
from vlkng_ros.errors import InvalidInputError, NotInMemoryError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.nodes import searches
from vlkng_ros.nodes.memory_thread import OpenMemory
from vlkng_ros.nodes.messages import keyframe_ref, memory_object, ns_of, window_of
from vlkng_ros.nodes.requests import Requests
from vlkng_ros.srv import ExportGraph, GetObject, SearchByLabel, SearchByPosition, SearchByTime
from vlkng_ros.types import Pose


class SearchServices:
    """Serves the searches.

    Args:
        requests: takes requests and runs jobs on the memory.
        config: read anew for each request.
        asker: the pose that a message means, and the field that it came in; an empty frame is the robot's own, None
            where that is not known.
    """

    def __init__(
        self,
        requests: Requests,
        config: Callable[[], QueryConfig],
        asker: Callable[[PoseStamped, str], Pose | None],
    ) -> None:
        self._requests = requests
        self._config = config
        self._asker = asker
        requests.serve(SearchByLabel, "search_by_label", self._search_by_label)
        requests.serve(SearchByPosition, "search_by_position", self._search_by_position)
        requests.serve(SearchByTime, "search_by_time", self._search_by_time)
        requests.serve(GetObject, "get_object", self._get_object)
        requests.serve(ExportGraph, "export_graph", self._export_graph)

    async def _search_by_label(self, request: SearchByLabel.Request, response: SearchByLabel.Response) -> None:
        since_ns, as_of_ns = window_of(request)
        limit = self._limit(request)

        def job(memory: OpenMemory) -> searches.Named:
            view = self._view(memory.reader, request)
            return searches.named(
                memory.query, memory.reader, view, request.label, limit, since_ns=since_ns, as_of_ns=as_of_ns
            )

        found = await self._requests.in_memory(job, response)
        response.objects = [memory_object(entity, score) for entity, score in found.entities]
        response.keyframes = [keyframe_ref(ranked.keyframe, ranked) for ranked in found.keyframes]
        self._say_nothing_found(response, f"nothing remembered as '{request.label}'")

    async def _search_by_position(self, request: SearchByPosition.Request, response: SearchByPosition.Response) -> None:
        since_ns, as_of_ns = window_of(request)
        limit, place = self._limit(request), self._place(request.position)
        if not request.radius_m >= 0:
            raise InvalidInputError(f"radius_m is {request.radius_m}; give metres, or 0 for no limit")

        def job(memory: OpenMemory) -> searches.Near:
            view = self._view(memory.reader, request)
            return searches.near(
                memory.reader,
                view,
                place.position_m,
                request.radius_m,
                limit,
                map_id=self._config().robot.map_id,
                since_ns=since_ns,
                as_of_ns=as_of_ns,
            )

        found = await self._requests.in_memory(job, response)
        response.objects = [memory_object(entity) for entity in found.entities]
        response.object_distances_m = found.entity_distances_m
        response.keyframes = [keyframe_ref(keyframe) for keyframe in found.keyframes]
        response.keyframe_distances_m = found.keyframe_distances_m
        self._say_nothing_found(response, f"nothing remembered within {request.radius_m:g} m")

    def _place(self, message: Any) -> Pose:
        stamped = PoseStamped(header=message.header)
        stamped.pose.position = message.point
        stamped.pose.orientation.w = 1.0
        place = self._asker(stamped, "position")
        if place is None:
            raise InvalidInputError(
                "position has no frame_id, which means the robot's own place, and that is not known yet; "
                f"give the position in '{self._config().robot.map_frame}'"
            )
        return place

    async def _search_by_time(self, request: SearchByTime.Request, response: SearchByTime.Response) -> None:
        _, as_of_ns = window_of(request)
        limit, stamp_ns = self._limit(request), ns_of(request.stamp)
        if not request.tolerance_s >= 0:
            raise InvalidInputError(f"tolerance_s is {request.tolerance_s}; give seconds, or 0 for no limit")

        def job(memory: OpenMemory) -> searches.Around:
            view = self._view(memory.reader, request)
            return searches.around(memory.reader, view, stamp_ns, request.tolerance_s, limit, as_of_ns)

        found = await self._requests.in_memory(job, response)
        response.keyframes = [keyframe_ref(keyframe) for keyframe in found.keyframes]
        response.objects = [memory_object(entity) for entity in found.entities]
        self._say_nothing_found(response, "nothing remembered around that time")

    async def _get_object(self, request: GetObject.Request, response: GetObject.Response) -> None:
        _, as_of_ns = window_of(request)

        def job(memory: OpenMemory) -> searches.Everything:
            view = self._view(memory.reader, request)
            return searches.everything(memory.reader, view, request.entity_id, request.max_sightings, as_of_ns)

        found = await self._requests.in_memory(job, response)
        response.object = memory_object(found.entity)
        response.sightings = [keyframe_ref(ranked.keyframe, ranked) for ranked in found.sightings]
        response.relations = [f"{r.subject_id} {r.predicate} {r.object_id}" for r in found.relations]

    async def _export_graph(self, request: ExportGraph.Request, response: ExportGraph.Response) -> None:
        _, as_of_ns = window_of(request)

        def job(memory: OpenMemory) -> tuple[str, str, int, int]:
            view = self._view(memory.reader, request)
            if view not in memory.reader.views():
                raise NotInMemoryError("the memory has no identity view yet: nothing has been described")
            text, entities, relations = searches.export(memory.reader, view, request.format or "node-link", as_of_ns)
            if not request.file_name:
                return text, "", entities, relations
            path = searches.write_export(memory.reader.path, request.file_name, text)
            return "", str(path), entities, relations

        response.data, response.path, response.entities, response.relations = await self._requests.in_memory(
            job, response
        )

    def _limit(self, request: Any) -> int:
        return searches.limit_of(request.max_results, self._config().retrieval.max_keyframes)

    def _view(self, reader: MemoryReader, request: Any) -> str:
        return searches.chosen_view(reader, request.view, self._config().association.associator)

    @staticmethod
    def _say_nothing_found(response: Any, message: str) -> None:
        if not response.objects and not response.keyframes:
            response.status, response.message = response.NOT_FOUND, message
