#!/usr/bin/env python3
"""Prints properties of the assembled kernels as a Markdown table.

    scripts/sass.py [--architecture sm_90] [--ptx FILE] [REGEX ...]

FILE is PTX, or an archive of PTX per family of kernels. Prints for each entry point whose name matches one of the
expressions (by default, all): registers; the warps per multiprocessor that these allow; loads from global memory by
width; the largest number of loads in flight before the first result is used; atomic operations; shared memory. Fails if a
kernel uses local memory, or generic addresses. ptxas, cuobjdump and nvdisasm are those on PATH, or those of the Python
packages nvidia-cuda-nvcc, nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm.
"""

import argparse
import collections
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

WARPS, REGISTERS = 64, 65536  # per multiprocessor


def tool(name):
    """Returns the path of a CUDA tool."""
    if found := shutil.which(name):
        return found
    try:
        import nvidia

        for folder in nvidia.__path__:
            if found := sorted(glob.glob(f"{folder}/*/bin/{name}")):
                return found[-1]
    except ImportError:
        pass
    sys.exit(f"{sys.argv[0]}: {name} is missing: install a CUDA toolkit, or pip install nvidia-cuda-nvcc")


def said_by(command, **options):
    """Returns a completed command with its output; exits with its message if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{sys.argv[0]}: {(done.stderr or done.stdout).strip()}")
    return done


def modules(file, folder):
    """Returns the unpacked PTX files of an archive, or the file itself."""
    if not zipfile.is_zipfile(file):
        return [file]
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder)
    return sorted(glob.glob(os.path.join(folder, "*.ptx")))


def wanted(ptx, expressions):
    """Returns whether an expression matches the name of an entry point."""
    names = re.findall(r"^\.visible \.entry (\w+)", pathlib.Path(ptx).read_text(), re.MULTILINE)
    return not expressions or any(expression.fullmatch(name) for expression in expressions for name in names)


def functions(ptx, architecture):
    """Yields name, registers and instructions of each entry point."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "kernels.cubin")
        command = [tool("ptxas"), "--verbose", "--gpu-name", architecture, "--output-file", cubin, ptx]
        said = said_by(command).stderr
        path = os.pathsep.join([os.path.dirname(tool("nvdisasm")), os.environ.get("PATH", "")])
        command = [tool("cuobjdump"), "--dump-sass", cubin]
        text = said_by(command, env={**os.environ, "PATH": path}).stdout
    registers = dict(re.findall(r"entry function '(\w+)'.*?\n(?:.*\n)*?.*Used (\d+) registers", said))
    for part in text.split("Function : ")[1:]:
        name, body = part.split("\n", 1)
        # /*0040*/   @!P0 LDG.E.64.CONSTANT R4, desc[UR4][R2.64] ;   /* 0x... */
        lines = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z][\w.]*)\s*([^;]*);", body, re.MULTILINE)
        yield name.strip(), int(registers.get(name.strip(), 0)), lines


def numbers(text):
    """Returns the registers that an operand names."""
    return {int(number) for number in re.findall(r"\bR(\d+)\b", text)}


def under_way(lines):
    """Returns the largest number of loads from global memory in flight before the first result of any of them is used."""
    most, waiting = 0, {}
    for place, (operation, operands) in enumerate(lines):
        written, _, read = operands.partition(",")
        # Stores read all operands; other instructions write the first one.
        used = numbers(operands if operation.startswith(("ST", "RED", "ATOM")) else read)
        if operation.startswith(("BRA", "EXIT")) or used & waiting.keys():
            waiting = {}
        if operation.startswith("LDG"):
            width = 4 if ".128" in operation else 2 if ".64" in operation else 1
            for first in numbers(written):
                waiting.update({first + number: place for number in range(width)})
            most = max(most, len(set(waiting.values())))
    return most


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--architecture", default="sm_90")
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--ptx", default=str(root / "gpu-kernels/ptx/warp-spmv-kernels.sm_90.zip"))
    parser.add_argument("expressions", nargs="*", metavar="REGEX")
    arguments = parser.parse_args()
    try:
        expressions = [re.compile(regex) for regex in arguments.expressions]
    except re.error as error:
        parser.error(f"{error.pattern}: {error}")
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        families = [ptx for ptx in modules(arguments.ptx, folder) if wanted(ptx, expressions)]
        found = sorted(entry for ptx in families for entry in functions(ptx, arguments.architecture))
    print("| kernel | registers | warps | loads of 16, 8, 4 bytes | under way | atomics | shared memory |")
    print("|---|--:|--:|---|--:|--:|---|")
    for name, registers, lines in found:
        if expressions and not any(expression.fullmatch(name) for expression in expressions):
            continue
        counts = collections.Counter(operation.split(".")[0] for operation, _ in lines)
        loads = [operation for operation, _ in lines if operation.startswith("LDG")]
        wide = [sum(".128" in load for load in loads), sum(".64" in load.replace(".64.CONSTANT", ".64") for load in loads)]
        wide.append(len(loads) - sum(wide))
        warps = min(WARPS, REGISTERS // (-(-registers * 32 // 256) * 256)) if registers else WARPS
        atomics = counts["RED"] + counts["ATOM"] + counts["ATOMG"]
        shared = "yes" if counts["LDS"] + counts["STS"] else ""
        print(f"| {name} | {registers} | {warps} | {', '.join(map(str, wide))} | {under_way(lines)} | {atomics or ''} | {shared} |")
        if counts["LDL"] + counts["STL"]:
            faults.append(f"{name} uses local memory")
        if counts["LD"] + counts["ST"]:
            faults.append(f"{name} loads or stores by generic addresses")
    for fault in faults:
        print(f"FAULT {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
