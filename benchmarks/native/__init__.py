"""Programs in C that benches measure against or put load on servers with, compiled when needed.

``echo`` and ``slices`` are servers, ``load`` and ``drain`` their clients.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).parent


def compiled(into: Path, *names: str) -> dict[str, str]:
    """Compile programs into a directory; return their paths by name."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise SystemExit("this bench compares with programs in C: install gcc or another cc")
    programs = {name: str(into / name) for name in names}
    for name, program in programs.items():
        command = [compiler, "-O2", "-Wall", "-Wextra", "-o", program, str(SOURCES / f"{name}.c")]
        subprocess.run(command, check=True)
    return programs
