"""`python -m clusterlens`: the console command."""

import sys

from clusterlens.ui.cli import main

if __name__ == "__main__":
    sys.exit(main())
