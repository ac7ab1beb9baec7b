"""Property tests explore here and repeat themselves in the gate: a red gate must mean that this change is wrong."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("gate", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("gate")
