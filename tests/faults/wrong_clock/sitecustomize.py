"""Sets the clock of one process wrong: Python imports this at its start from a folder on PYTHONPATH.

`WRONG_CLOCK_S` says by how many seconds the wall clock is ahead. Time that only ever runs on (monotonic) is
left alone, as it is where an operator or a time server sets a clock. Our code asks for the time by
`time.time` and `time.time_ns` alone, so nothing else has to be faked; Redis, Kafka and PostgreSQL have their
own clocks, which stay right.
"""

import os
import time

_AHEAD_NS = int(os.environ.get("WRONG_CLOCK_S", "0")) * 1_000_000_000
_true_time, _true_time_ns = time.time, time.time_ns

time.time = lambda: _true_time() + _AHEAD_NS / 1_000_000_000
time.time_ns = lambda: _true_time_ns() + _AHEAD_NS
