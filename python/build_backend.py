"""What pip calls to build the package: maturin, with a stand-in for the CUDA driver's library to link with.

What is linked with the stand-in looks for the driver when it starts, so the wheel works with and without one.
"""

import os
import subprocess
from pathlib import Path

import maturin
from maturin import *  # noqa: F403 - the hooks

ROOT = Path(__file__).resolve().parent.parent


def _link_with_stub():
    stub = ROOT / "target" / "cuda-stub"
    subprocess.run([ROOT / "scripts" / "cuda-stub.sh", stub], check=True, cwd=ROOT)
    os.environ["CUDA_LIBRARY_PATH"] = str(stub)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _link_with_stub()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _link_with_stub()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
