"""`python -m hermes`: the same door as the `hermes` command."""

import sys

from hermes.app.main import main

if __name__ == "__main__":
    sys.exit(main())
