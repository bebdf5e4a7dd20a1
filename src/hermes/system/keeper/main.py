"""Starts the keeper: `python -I -S main.py FD`.

All of it is in `keeper`; a script is compiled at every start, a module once.
"""

import os
import sys

# The folder that holds the package; `-I -S` leaves it out.
sys.path.append(os.path.abspath(f"{__file__}/../../../.."))  # noqa: PTH100  pathlib costs 5 ms

from hermes.system.keeper.keeper import main

main()
