"""COPY between a client and the database: rows of a query to it, rows that it sends into a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from relserve.errors import ProtocolError
from relserve.server.client.channel import Channel
from relserve.server.client.executor import Executor, Outcome
from relserve.server.client.state import ClientState
from relserve.server.wire import backend, frontend
from relserve.server.wire.copying import CopyFrom, CopyTo
