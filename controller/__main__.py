"""``python -m controller``: parse the options, run the process until it is told to stop."""

from __future__ import annotations

import sys

import uvloop

from controller.logs import configure_logs
from controller.options import parse_options
from controller.process import run_until_stopped


def main() -> int:
    options = parse_options(sys.argv[1:])
    configure_logs()
    uvloop.run(run_until_stopped(options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
