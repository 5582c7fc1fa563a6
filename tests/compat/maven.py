"""Judges in Java: built with Maven, offline if they were ever built before."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path


@cache
def class_path(project: Path, target: str = "target", *options: str) -> str:
    """Build a project below ``tests/compat``; return what Java needs to find it.

    Each project writes the jars it stands on into ``classpath``, beside its classes.
    """
    if not (shutil.which("mvn") and shutil.which("java")):
        raise RuntimeError("Apache Kafka's classes need Maven and JDK 17 on the path")
    maven = ["mvn", "--batch-mode", "--quiet", *options]
    offline = [*maven, "--offline", "compile"]
    if subprocess.run(offline, cwd=project, capture_output=True, check=False).returncode:
        online = subprocess.run(
            [*maven, "compile"], cwd=project, capture_output=True, text=True, check=False
        )
        if online.returncode:
            raise RuntimeError(
                f"Maven cannot build {project.name}; the first time it needs a repository to "
                f"download from:\n{online.stdout}"
            )
    made = project / target
    return os.pathsep.join([str(made / "classes"), (made / "classpath").read_text()])
