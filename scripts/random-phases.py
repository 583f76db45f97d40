#!/usr/bin/env python3
"""Makes complex matrices of real ones: each entry times a number of magnitude 1, drawn from a fixed seed.

    python3 scripts/random-phases.py FOLDER TO

Reads every SciPy `.npz` file in FOLDER, such as those of real-matrices.py, and writes a file of the same name to TO.
Requires NumPy and SciPy.
"""

import argparse
import pathlib

import numpy
import scipy.sparse

SEED = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="the real matrices")
    parser.add_argument("to", type=pathlib.Path, metavar="TO", help="where the complex ones go")
    options = parser.parse_args()
    files = sorted(options.folder.glob("*.npz"))
    if not files:
        parser.error(f"{options.folder} has no .npz files")
    options.to.mkdir(parents=True, exist_ok=True)
    for path in files:
        real = scipy.sparse.load_npz(path).tocsr()
        phases = numpy.exp(2j * numpy.pi * numpy.random.default_rng(SEED).uniform(size=real.nnz))
        turned = scipy.sparse.csr_matrix((real.data * phases, real.indices, real.indptr), shape=real.shape)
        scipy.sparse.save_npz(options.to / path.name, turned, compressed=False)


if __name__ == "__main__":
    main()
