"""What the clients need: a virtual environment and an npm folder under build/bi, and packages of the system.

The first two are set up here from pinned lists; what the system lacks is only told.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.provenance import ROOT

BUILD = ROOT / "build" / "bi"
PYTHON = BUILD / "venv" / "bin" / "python"
NODE = BUILD / "node"
JAVA = BUILD / "java"
JDBC = Path("/usr/share/java/postgresql.jar")
HERE = Path(__file__).parent.parent


def install() -> None:
    """Set up what is missing or older than its list; the first time takes a minute.

    Raises:
        subprocess.CalledProcessError: pip, npm or javac failed; what they said is on the screen.
    """
    _python()
    if shutil.which("npm"):
        _node()
    if shutil.which("javac") and JDBC.is_file():
        _java()


def lacking(packages: tuple[str, ...]) -> list[str]:
    """Which of these Debian packages this system lacks."""
    return [package for package in packages if not _has(package)]


def _has(package: str) -> bool:
    said = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${db:Status-Status}", package],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return said.stdout == "installed"


def _python() -> None:
    wanted = HERE / "requirements.txt"
    if not _is_older(BUILD / "venv" / ".installed", wanted):
        return
    print("installing the Python clients into build/bi/venv", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", BUILD / "venv"], check=True)
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "-r", wanted], check=True)
    (BUILD / "venv" / ".installed").touch()


def _node() -> None:
    wanted = HERE / "package.json"
    if not _is_older(NODE / ".installed", wanted):
        return
    print("installing node-postgres into build/bi/node", file=sys.stderr)
    NODE.mkdir(parents=True, exist_ok=True)
    shutil.copy(wanted, NODE)
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=NODE, check=True)
    (NODE / ".installed").touch()


def _java() -> None:
    sources = sorted((HERE / "programs").glob("*.java"))
    if all(not _is_older(JAVA / ".compiled", source) for source in sources):
        return
    JAVA.mkdir(parents=True, exist_ok=True)
    subprocess.run(["javac", "-cp", JDBC, "-d", JAVA, *sources], check=True)
    (JAVA / ".compiled").touch()


def _is_older(made: Path, source: Path) -> bool:
    return not made.exists() or made.stat().st_mtime < source.stat().st_mtime
