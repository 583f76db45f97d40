"""Threads and the GIL."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from matrices import laplacian

import warp_spmv


def test_threads_share_a_matrix():
    S = laplacian(30)
    A = warp_spmv.matrix(S, "sell-p", "cpu", updates=True)
    vectors = np.random.default_rng(0).integers(-9, 9, (64, 900)).astype(float)

    def work(x):
        return all((A @ x == S @ x).all() and (A.T @ x == S.T @ x).all() for _ in range(20))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, vectors))


def test_two_calls_cannot_write_the_same_array():
    A = warp_spmv.matrix(laplacian(120), device="cpu")
    y, b = np.zeros(14400), np.ones(14400)
    # The solve locks the matrix, so the first product waits while it holds `out`.
    entered, over = threading.Event(), threading.Event()

    def slow(progress):
        entered.set()
        over.wait(60)

    with ThreadPoolExecutor(2) as pool:
        solving = pool.submit(warp_spmv.solve, A, b, callback=slow, maxiter=30, tol=1e-12)
        entered.wait(60)
        first = pool.submit(A.matvec, b, y)
        time.sleep(1)
        with pytest.raises(ValueError, match="out: .*borrowed"):
            A.matvec(b, y)
        over.set()
        assert solving.result()[1].iterations == 30
        np.testing.assert_array_equal(first.result(), A @ b)


def test_other_threads_go_on_while_it_solves():
    A = warp_spmv.matrix(laplacian(300), device="cpu")
    counted = 0
    with ThreadPoolExecutor(1) as pool:
        solving = pool.submit(warp_spmv.solve, A, np.ones(90000), tol=1e-14, maxiter=200)
        while not solving.done():
            counted += 1
            time.sleep(0.001)
        solving.result()
    # It would be once or twice if the solve held the GIL.
    assert counted > 5


FORKS = """
import multiprocessing, os, threading
import numpy as np, warp_spmv
A = warp_spmv.matrix(warp_spmv.generate("stencil:5:300"), device="cpu")
x = np.random.default_rng(0).random(90000)
expected = A @ x, warp_spmv.solve(A, x, maxiter=5)[0]

def work(number):
    return all((found == right).all() for found, right in zip((A @ x, warp_spmv.solve(A, x, maxiter=5)[0]), expected))

def in_a_thread(number):
    results = []
    thread = threading.Thread(target=lambda: results.append(work(number)))
    thread.start()
    thread.join()
    return results[0] and work(number)

def in_a_fork(number):
    child = os.fork()
    if child == 0:
        os._exit(0 if in_a_thread(number) else 1)
    return os.waitpid(child, 0)[1] == 0 and work(number)

with multiprocessing.get_context("fork").Pool(2) as pool:
    for task in (work, in_a_thread, in_a_fork):
        print(pool.map(task, range(3), 1))
print(work(0))
"""


def test_a_process_that_has_multiplied_can_be_forked():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == ["[True, True, True]"] * 3 + ["True"], done.stderr


# A background job of a shell ignores the signal, and so do its children by default.
PROGRAM = """
import numpy as np, os, signal, threading, warp_spmv
signal.signal(signal.SIGINT, signal.default_int_handler)
A = warp_spmv.matrix(warp_spmv.generate("stencil:5:400"), device="cpu")
threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
call = {call}
report = call()[-1]
print(report.interrupted, report.converged, report.outcome, report.iterations > 0)
try:
    while True:
        os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print("as ever")
"""


@pytest.mark.parametrize(
    "call",
    [
        "lambda: warp_spmv.solve(A, np.ones(160000), tol=0, maxiter=10**9)",
        "lambda: warp_spmv.eigsh(A, k=2, which='SA', tol=0, maxiter=10**9)",
        "lambda: warp_spmv.pagerank(abs(warp_spmv.generate('stencil:5:400')), 0.999999, tol=0, maxiter=10**9)",
    ],
)
def test_ctrl_c_ends_it_with_what_it_has(call):
    program = PROGRAM.format(call=call)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == ["True False stopped by the caller True", "as ever"], done.stderr
