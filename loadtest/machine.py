"""Describe the machine and the versions of a measurement for the head of RESULTS.md."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from exactperm import __version__
from loadtest.server import PROJECT_ROOT

GIB = 2**30
CPUINFO, OS_RELEASE = Path("/proc/cpuinfo"), Path("/etc/os-release")
LIBRARIES = ("numpy", "scipy", "python-flint", "fastapi", "uvicorn", "pydantic", "orjson")


def machine() -> list[tuple[str, str]]:
    """Processor, cores, memory and system."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    return [
        ("processor", _value(CPUINFO, "model name", ":") or platform.processor() or platform.machine()),
        ("cores", str(os.cpu_count())),
        ("memory", f"{memory:.1f} GiB"),
        ("system", f"{_value(OS_RELEASE, 'PRETTY_NAME', '=') or platform.system()}, {_kernel()}"),
    ]


def versions() -> list[tuple[str, str]]:
    """Python, the libraries that the figures depend on, and exactperm itself."""
    libraries = [(name, version(name)) for name in LIBRARIES]
    return [("exactperm", _ours()), ("Python", platform.python_version()), *libraries]


def load_average() -> str:
    """The load average of the last minute; above the number of cores, the machine is busy."""
    return f"{os.getloadavg()[0]:.1f}"


def _kernel() -> str:
    return f"{platform.system()} {platform.release()}, {platform.machine()}"


def _ours() -> str:
    """The version, with the commit of a checkout."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        told = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return __version__
    commit, _, changed = told.stdout.strip().partition("-")
    return f"{__version__} (commit {commit}{' with changes' if changed else ''})"


def _value(file: Path, name: str, sign: str) -> str:
    """The first value of this name in a file of names and values; empty if missing."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    found = (line.partition(sign)[2] for line in lines if line.partition(sign)[0].strip() == name)
    return next(found, "").strip().strip('"')
