"""Calls of query_node's services from the test's thread."""

from __future__ import annotations

import threading

from fake_robot import DEADLINE_S

from vlkng_ros.srv import Ask


class Caller:
    """Calls services through the fake robot's executor, with a deadline."""

    def __init__(self, robot, node_name="query_node") -> None:
        self._robot = robot
        self._node_name = node_name
        self._clients = {}

    def client(self, kind, name):
        if name not in self._clients:
            self._clients[name] = self._robot.create_client(kind, f"{self._node_name}/{name}")
        client = self._clients[name]
        assert client.wait_for_service(timeout_sec=DEADLINE_S), f"no service {name}"
        return client

    def start(self, kind, name, request):
        """Send a request; the returned function waits for its reply."""
        done = threading.Event()
        future = self.client(kind, name).call_async(request)
        future.add_done_callback(lambda _: done.set())

        def reply(timeout_s=DEADLINE_S):
            assert done.wait(timeout_s), f"no reply from {name} within {timeout_s} s"
            return future.result()

        return reply

    def call(self, kind, name, request):
        """The reply to a request of an active node."""
        while True:
            reply = self.start(kind, name, request)()
            if reply.status != getattr(reply, "INACTIVE", -1):
                return reply

    def ask(self, question, **fields):
        return self.call(Ask, "ask", Ask.Request(question=question, **fields))
