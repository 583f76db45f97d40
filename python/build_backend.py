"""The build backend of the package: maturin, with a stand-in for the CUDA driver's library to link with.

Code linked with the stand-in looks for the driver at startup, so the wheel works with and without one. A source
distribution gets the files that maturin leaves out: this file, and the script that makes the stand-in.
"""

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import maturin
from maturin import *  # noqa: F403 - the hooks

STUB = Path("scripts/cuda-stub.sh")
# Beside this file in a source distribution, and in the parent folder in a clone.
ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / STUB).exists())


def _link_with_stub():
    folder = ROOT / "target" / "cuda-stub"
    subprocess.run(["bash", ROOT / STUB, folder], check=True, cwd=ROOT)
    os.environ["CUDA_LIBRARY_PATH"] = str(folder)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _link_with_stub()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _link_with_stub()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    name = maturin.build_sdist(sdist_directory, config_settings)
    archive = Path(sdist_directory) / name
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(archive, folder)
        (root,) = Path(folder).iterdir()
        _complete(root)
        with tarfile.open(archive, "w:gz") as complete:
            complete.add(root, root.name, filter=_of_nobody)
    return name


def _complete(root):
    """Adds the missing files to the folder of a source distribution."""
    (root / STUB.parent).mkdir()
    shutil.copy(ROOT / STUB, root / STUB)
    shutil.copy(__file__, root / "build_backend.py")
    # The workspace's manifest names all files in them.
    for folder in ("examples", "benches"):
        shutil.copytree(ROOT / folder, root / folder, dirs_exist_ok=True)
    # The README.md there is that of the whole repository.
    project = root / "pyproject.toml"
    here = 'readme = "README.md"'
    text = project.read_text()
    if text.count(here) != 1:
        raise RuntimeError(f"pyproject.toml has no line {here}")
    project.write_text(text.replace(here, 'readme = "python/README.md"'))
    # The workspace there has fewer members, so the lock file drops dependencies that only the others need.
    metadata = ["cargo", "metadata", "--format-version", "1", "--manifest-path", root / "Cargo.toml"]
    subprocess.run(metadata, check=True, stdout=subprocess.DEVNULL)


def _of_nobody(member):
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
