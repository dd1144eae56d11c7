"""What can still be read of a ``.db3`` file that is cut off, damaged or was left with a write-ahead log.

SQLite refuses a file with fewer pages than its header promises, unless ``writable_schema`` is on; then what lies
before the cut can be read, if it is looked up by row and not through the index on time, which is spread over the file.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import quote

from vlkng_ros.bags.recording import BagMessage, BagTopic, in_order, is_latched

_LONGEST_SKIP = 1 << 20


class SqliteSalvage:
    """A rosbag2 ``.db3`` file read row by row, past what is damaged; messages in order of time.

    Raises:
        sqlite3.Error: not even the list of topics can be read.
    """

    def __init__(self, path: Path) -> None:
        self.problems: list[str] = []
        self._path = path
        # A write-ahead log is only seen without `immutable`.
        mode = "mode=ro" if has_log(path) else "mode=ro&immutable=1"
        self._connection = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True)
        self._ids, self._topic_ids, self._times = array("q"), array("q"), array("q")
        try:
            self._connection.execute("PRAGMA writable_schema = ON")
            columns = {row[1] for row in self._connection.execute("PRAGMA table_info(topics)")}
            qos = "offered_qos_profiles" if "offered_qos_profiles" in columns else "''"
            rows = self._connection.execute(f"SELECT id, name, type, {qos} FROM topics").fetchall()
            self._scan()
        except sqlite3.Error:
            self._connection.close()
            raise
        self._topics = {topic_id: (str(name), str(msgtype)) for topic_id, name, msgtype, _ in rows}
        self._order = in_order(self._times)
        counts = Counter(self._topic_ids)
        self.topics: tuple[BagTopic, ...] = tuple(
            BagTopic(str(name), str(msgtype), counts[topic_id], is_latched(str(qos)))
            for topic_id, name, msgtype, qos in rows
        )
        self.start_ns = min(self._times, default=0)
        self.end_ns = max(self._times, default=0)

    def messages(self, topics: Collection[str]) -> Iterator[BagMessage]:
        """The messages of these topics in order of time."""
        wanted = {topic_id for topic_id, (name, _) in self._topics.items() if name in topics}
        lost = 0
        for i in self._order:
            if self._topic_ids[i] not in wanted:
                continue
            try:
                (data,) = self._connection.execute("SELECT data FROM messages WHERE id = ?", (self._ids[i],)).fetchone()
            except sqlite3.Error:
                lost += 1
                continue
            name, msgtype = self._topics[self._topic_ids[i]]
            yield BagMessage(name, msgtype, self._times[i], bytes(data))
        if lost:
            damaged = "1 message is" if lost == 1 else f"{lost} messages are"
            self.problems.append(f"{self._path.name}: {damaged} damaged and left out")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _scan(self) -> None:
        after, skip = -1, 0
        while skip <= _LONGEST_SKIP:
            try:
                for row in self._connection.execute(
                    "SELECT id, topic_id, timestamp FROM messages NOT INDEXED WHERE id > ? ORDER BY id", (after + skip,)
                ):
                    for column, value in zip((self._ids, self._topic_ids, self._times), row, strict=True):
                        column.append(value)
                    after, skip = row[0], 0
                break
            except (sqlite3.Error, TypeError, OverflowError):
                skip = max(1, 2 * skip)
        if skip:
            self.problems.append(
                f"{self._path.name}: cut off or damaged after {len(self._ids)} messages; those are read"
            )


def has_log(path: Path) -> bool:
    """Whether a recorder that died left messages in a write-ahead log or a journal beside the file."""
    logs = (path.with_name(path.name + suffix) for suffix in ("-wal", "-journal"))
    return any(log.exists() and log.stat().st_size > 0 for log in logs)
