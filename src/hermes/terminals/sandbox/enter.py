"""Goes into a sandbox and runs a program there: `python -I -S enter.py WORD ... -- PROGRAM ...`.

All of it is in `inside.py`; a script is compiled at every start, a module once.
"""

import os
import sys

# The folder that holds the package; `-I -S` leaves it out.
sys.path.append(os.path.abspath(f"{__file__}/../../../.."))  # noqa: PTH100  pathlib costs 5 ms

from hermes.terminals.sandbox.inside import main

main()
