"""sse.py - a reader of server-sent events, as the standard says, for the tests of /v1/stream."""
import http.client
import json

from process import PATIENCE, Deadline


class Frame:
    def __init__(self, event, data, id):
        self.event, self.data, self.id = event, data, id

    def __repr__(self):
        return f"<{self.id} {self.event} {self.data}>"


class Stream:
    """One open stream. next() answers its next frame; last is what a browser would come back with."""

    def __init__(self, peal, query="", last=None, headers=None, seconds=20):
        self.connection = http.client.HTTPConnection(peal.host, timeout=seconds * PATIENCE)
        sent = {"Authorization": f"Bearer {peal.key}", **(headers or {})}
        if last is not None:
            sent["Last-Event-ID"] = str(last)
        self.connection.request("GET", f"/v1/stream{query}", headers=sent)
        self.answer = self.connection.getresponse()
        self.status, self.last, self.comments, self.seconds = self.answer.status, None, 0, seconds
        if self.status == 200:
            assert self.answer.headers["Content-Type"] == "text/event-stream", self.answer.headers
            assert self._frame() is None and self.last is not None  # where it begins
        else:
            self.problem = json.loads(self.answer.read())
            self.close()

    def _frame(self):
        """The next block: a frame, or None where it dispatches nothing. StopIteration at the end."""
        event, data = "message", []
        while True:
            line = self.answer.readline()
            if not line:
                raise StopIteration
            line = line.decode().rstrip("\n")
            if line == "":
                return Frame(event, json.loads("\n".join(data)), self.last) if data else None
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "":
                self.comments += 1
            elif name == "id":
                self.last = int(value)
            elif name == "event":
                event = value
            elif name == "data":
                data.append(value)

    def next(self):
        """The next frame, for which it waits as long as for a byte: signs of life keep no test waiting for ever."""
        deadline = Deadline(self.seconds)
        while (frame := self._frame()) is None:
            assert not deadline.has_passed(), f"nothing but signs of life since {self.last}"
        return frame

    def take(self, count):
        return [self.next() for _ in range(count)]

    def rest(self):
        """All that is left, to the end of the stream."""
        frames = []
        try:
            while True:
                frames.append(self.next())
        except StopIteration:
            return frames

    def close(self):
        self.connection.close()
