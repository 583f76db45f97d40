"""NumPy's side of the test `pagerank.rs`, which runs it with a graph, the damping and the ranks to compare."""

import sys

import numpy
import scipy.io
import scipy.sparse


def main():
    graph, damping, found = sys.argv[1:]
    graph = scipy.sparse.load_npz(graph).tocoo()
    edges = numpy.zeros(graph.shape)
    numpy.add.at(edges, (graph.row, graph.col), 1)
    found = scipy.io.mmread(found).ravel()
    vertices, out = len(edges), edges.sum(axis=1)
    spread = numpy.full_like(edges, 1 / vertices)
    transitions = numpy.where(out[:, None] > 0, edges / numpy.maximum(out, 1)[:, None], spread)
    google = float(damping) * transitions + (1 - float(damping)) * spread
    x = numpy.full(vertices, 1 / vertices)
    while True:
        following = x @ google
        if abs(following - x).sum() < 1e-14:
            break
        x = following
    difference = abs(x - found).sum()
    assert difference < 1e-10, f"the ranks differ by {difference}"


main()
