#!/usr/bin/env python3
"""Times products with a matrix distributed over several GPUs in PyTorch, to compare with `warp-spmv run … --gpus N`:

    torchrun --nproc-per-node 2 scripts/pytorch-distributed.py 200 200 200

The matrix is that of `warp-spmv run stencil:27:200x200x200`: 27 points on a grid, 26 on the diagonal and -1 beside it. Each
process has the rows of some planes as a `torch.sparse_csr_tensor` with all columns, and its part of x. A product gathers x
by NCCL (`all_gather_into_tensor`) and multiplies. Every process checks its part of the first product against SciPy.

Prints one JSON record: microseconds per product, the median of batches on the slowest process, and of its two parts alone.
"""

import argparse
import json
import math
import os
import statistics
import time

import numpy as np
import scipy.sparse
import torch
import torch.distributed as distributed


def neighbours(length):
    """Returns the adjacency of the points of a line, including each point itself."""
    return scipy.sparse.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(length, length), format="csr")


def planes_of(grid, first, end):
    """Returns the rows of some planes of the matrix."""
    x, y, z = (neighbours(length) for length in grid)
    ones = scipy.sparse.kron(z[first:end], scipy.sparse.kron(y, x, format="csr"), format="csr")
    rows = ones.shape[0]
    diagonal = scipy.sparse.eye_array(rows, ones.shape[1], k=first * grid[0] * grid[1], format="csr")
    matrix = (27 * diagonal - ones).tocsr()
    matrix.sort_indices()
    return matrix


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grid", nargs=3, type=int, help="points in each direction; processes divide the last one evenly")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--batches", type=int, default=15)
    parser.add_argument("--products", type=int, default=20, help="of a batch")
    arguments = parser.parse_args()
    rank, processes = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if arguments.grid[2] % processes != 0:
        parser.error(f"{processes} processes do not divide {arguments.grid[2]} planes evenly")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))

    planes = arguments.grid[2] // processes
    rows = planes_of(arguments.grid, rank * planes, (rank + 1) * planes).astype(arguments.dtype)
    own = rows.shape[0]
    to_gpu = lambda array: torch.from_numpy(array).cuda()
    matrix = torch.sparse_csr_tensor(
        to_gpu(rows.indptr.astype(np.int32)), to_gpu(rows.indices.astype(np.int32)), to_gpu(rows.data), size=rows.shape
    )
    x = np.random.default_rng(0).standard_normal(rows.shape[1]).astype(arguments.dtype)
    part = to_gpu(x[rank * own : (rank + 1) * own].copy())
    whole = torch.full((rows.shape[1],), torch.nan, dtype=part.dtype, device="cuda")
    y = torch.full((own,), torch.nan, dtype=part.dtype, device="cuda")

    def gather():
        distributed.all_gather_into_tensor(whole, part)

    def multiply():
        torch.mv(matrix, whole, out=y)

    def product():
        gather()
        multiply()

    product()
    expected = rows.astype(np.float64) @ x.astype(np.float64)
    bound = 64 * np.finfo(arguments.dtype).eps * (abs(rows).astype(np.float64) @ abs(x).astype(np.float64))
    wrong = ~(abs(y.cpu().numpy() - expected) <= bound)
    if wrong.any():
        raise SystemExit(f"process {rank}: row {int(np.argmax(wrong))} is wrong")

    def microseconds(work):
        times = []
        for _ in range(arguments.batches):
            distributed.barrier()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(arguments.products):
                work()
            torch.cuda.synchronize()
            times.append(1e6 * (time.perf_counter() - begin) / arguments.products)
        slowest = torch.tensor(statistics.median(times[1:]), device="cuda")
        distributed.all_reduce(slowest, distributed.ReduceOp.MAX)
        return round(float(slowest), 1)

    record = {
        "grid": arguments.grid,
        "entries": math.prod(3 * length - 2 for length in arguments.grid),
        "dtype": arguments.dtype,
        "processes": processes,
        "product": microseconds(product),
        "gather": microseconds(gather),
        "multiply": microseconds(multiply),
        "torch": torch.__version__,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
        "gpu": torch.cuda.get_device_name(),
    }
    if rank == 0:
        print(json.dumps(record), flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
