"""Becomes the program that its arguments name: a sandbox starts scripts, and this is one.

What leaves that program by a double fork stays its child, so that it is found when it is ended.
"""

import ctypes
import os
import sys

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER, linux/prctl.h; it stays across exec."""

if sys.platform == "linux":
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
