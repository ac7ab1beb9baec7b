"""Property tests explore here and repeat themselves in the gate: a red gate must mean that this change is wrong.

Tests press Ctrl-C; where the suite runs in the background of a shell, Ctrl-C was ignored from the start.
"""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("gate", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("gate")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
