"""Sends what an engine says of itself to its fleet's owner: a few datagrams a second, each numbered.

The scheduler's thread sends. One of its own sends what it could not: that an engine has become idle so soon
after a report that the next was not due, and now and then, while it is idle or within a long step, the latest
report again, to say that it is still there.
"""

from __future__ import annotations

import math
import socket
import threading
import time

from relserve.machine.state_message import Target, encode
from relserve.policies.dispatch.state import Report

EVERY_S = 0.02
ALIVE_S = 0.4  # between reports of an engine of which there is no news; owners get suspicious after 1.2 s
STUCK_S = 30.0  # a step that takes longer is taken never to end, and nothing more is said


class StateSender:
    """Numbers reports and sends them; whatever the network does costs the engine nothing.

    A process that starts later has a higher incarnation as long as the wall clock is not set back.

    Attributes:
        num_sent: datagrams so far.
    """

    def __init__(self, target: Target, every_s: float = EVERY_S, alive_s: float = ALIVE_S) -> None:
        self._target, self._every_s, self._alive_s = target, every_s, alive_s
        self._socket: socket.socket | None = None
        self._to: tuple[object, ...] = ()
        self._incarnation, self.num_sent = time.time_ns(), 0
        self._latest, self._is_idle = Report(), False
        self._next_s = self._put_s = 0.0  # nothing is sent before; when the latest report came
        self._due_s = self._wakes_s = math.inf  # when the thread is to send; when it wakes by itself
        self._is_closed = False
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="relserve-fleet-state", daemon=True)
        self._thread.start()

    def is_due(self, now_s: float) -> bool:
        """Whether a report may be sent, by the monotonic clock."""
        return now_s >= self._next_s

    def put(self, report: Report, is_idle: bool, now_s: float) -> None:
        """Send a report, now or as soon as it is due; one that is not due is only kept of an idle engine."""
        with self._news:
            self._latest, self._is_idle, self._put_s = report, is_idle, now_s
            if now_s >= self._next_s:
                self._send(now_s)
            elif is_idle:
                self._due_s = self._next_s
            if self._due_s < self._wakes_s:
                self._news.notify()

    def _send(self, now_s: float) -> None:
        """To be called by whoever holds the lock."""
        self.num_sent += 1
        self._next_s = now_s + self._every_s
        is_stuck = not self._is_idle and now_s - self._put_s > STUCK_S
        self._due_s = math.inf if is_stuck else now_s + self._alive_s
        report = self._latest._replace(incarnation=self._incarnation, sequence=self.num_sent)
        try:
            if self._socket is None:
                self._open()
            if self._socket is not None:
                self._socket.sendto(encode(report, self._target, time.time()), self._to)
        except OSError:  # nobody by that name, no room, no network: the next one may come through
            pass

    def _open(self) -> None:
        host, port = self._target.host_and_port
        family, kind, protocol, _, self._to = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        self._socket = socket.socket(family, kind, protocol)
        self._socket.setblocking(False)

    def _run(self) -> None:
        with self._news:
            while not self._is_closed:
                now_s = time.monotonic()
                if self._due_s <= now_s:
                    self._send(now_s)
                    continue
                self._wakes_s = self._due_s
                self._news.wait(None if self._due_s == math.inf else self._due_s - now_s)

    def close(self) -> None:
        """Send no more."""
        with self._news:
            self._is_closed = True
            self._news.notify()
        self._thread.join(1.0)
        if self._socket is not None:
            self._socket.close()
