"""The matrices of `real-matrices.py --unseen`: other methods and other fields than those of `real_recipes.py`.

No constant of a kernel or of the choice of a format is fitted to them.
"""

from __future__ import annotations

import numpy
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg
import scipy.spatial

from real_recipes import (
    SEED,
    Recipe,
    assemble,
    cube,
    delaunay_pairs,
    dirichlet,
    elasticity,
    free,
    graph_of_pairs,
    hierarchy,
    into,
    laplace,
    laplacian,
    lengths,
    levels,
    pyamg,
    scattered,
    simplices,
    skfem,
)

if skfem is not None:
    from skfem.helpers import ddot, dd, div, dot, grad, jump, sym_grad

UNSEEN: list[Recipe] = []
recipe = into(UNSEEN)
GRAPHS, APPLICATIONS, FACTORS = "graphs", "applications", "grids and factors"


# Finite elements


@recipe("scikit-fem", "Laplace operator on tetrahedra of first order", (14, 40, 90), ("small",), True)
def tetrahedra_linear(size: int):
    return dirichlet(laplace, cube(skfem.MeshTet, size), skfem.ElementTetP1())


@recipe("scikit-fem", "Laplace operator on triangles of fourth order", (12, 40, 260), ("middle",))
def triangles_quartic(size: int):
    return dirichlet(laplace, simplices(size, size), skfem.ElementTriP4())


@recipe("scikit-fem", "biharmonic operator of a plate on Argyris triangles", (10, 40, 180))
def plate_argyris(size: int):
    return dirichlet(lambda u, v, _: ddot(dd(u), dd(v)), simplices(size, size), skfem.ElementTriArgyris(), order=8)


@recipe("scikit-fem", "Laplace operator on nonconforming triangles, an unknown an edge", (20, 120, 900), ("middle",))
def triangles_nonconforming(size: int):
    return dirichlet(laplace, simplices(size, size), skfem.ElementTriCR())


@recipe(
    "scikit-fem", "linear elasticity on hexahedra, all of one displacement before the next", (6, 16, 50), ("middle",)
)
def elasticity_by_component(size: int):
    matrix = scipy.sparse.csr_array(elasticity(cube(skfem.MeshHex, size), skfem.ElementHex1(), 3))
    order = numpy.arange(matrix.shape[0]).reshape(-1, 3).T.ravel()
    return matrix[order][:, order]


@recipe("scikit-fem", "Stokes flow on Taylor-Hood tetrahedra", (5, 10, 24))
def stokes_space(size: int):
    mesh = simplices(size, size, size)
    velocity, pressure = skfem.ElementVector(skfem.ElementTetP2()), skfem.ElementTetP1()
    inside = free(mesh, velocity)
    stress = assemble(lambda u, v, _: 2 * ddot(sym_grad(u), sym_grad(v)), mesh, velocity, order=2)
    divergence = assemble(lambda u, q, _: -div(u) * q, mesh, velocity, pressure, order=2)[:, inside]
    return scipy.sparse.block_array([[stress[inside][:, inside], divergence.T], [divergence, None]])


@recipe("scikit-fem", "discrete gradient from nodes to edges of tetrahedra: the incidence of a mesh", (12, 40, 85))
def edges_by_nodes(size: int):
    edges = cube(skfem.MeshTet, size).edges
    count = edges.shape[1]
    rows = numpy.repeat(numpy.arange(count), 2)
    values = numpy.tile([-1.0, 1.0], count)
    return scipy.sparse.coo_array((values, (rows, edges.T.ravel())), shape=(count, edges.max() + 1))


@recipe("scikit-fem", "upwind transport on triangles with an unknown a cell", (30, 130, 1000), ("middle",))
def finite_volumes(size: int):
    mesh, element = simplices(size, size), skfem.ElementTriP0()

    def flux(u, v, w):
        du, dv = jump(w, u, v)
        speed = (0.5 - w.x[1]) * w.n[0] + (w.x[0] - 0.5) * w.n[1]
        ahead = u * (1 if w.idx[0] == 0 else -1) * numpy.where((speed > 0) == (w.idx[0] == 0), speed, 0)
        return ahead * dv + 1e-3 * du * dv / w.h

    sides = [skfem.InteriorFacetBasis(mesh, element, side=side) for side in range(2)]
    return skfem.asm(skfem.BilinearForm(flux), sides, sides) + assemble(lambda u, v, _: u * v, mesh, element, order=0)


@recipe(
    "scikit-fem", "Laplace operator with an unknown for the mean: a full row and column", (30, 120, 700), ("middle",)
)
def mean_value(size: int):
    mesh, element = simplices(size, size), skfem.ElementTriP2()
    stiffness = assemble(laplace, mesh, element)
    mean = scipy.sparse.csr_array(
        numpy.asarray(assemble(lambda u, v, _: u * v, mesh, element).sum(axis=1)).reshape(-1, 1)
    )
    return scipy.sparse.block_array([[stiffness, mean], [mean.T, None]])


@recipe("scikit-fem", "linear elasticity of tetrahedra by reverse Cuthill-McKee", (12, 24, 50))
def elasticity_banded(size: int):
    matrix = scipy.sparse.csr_array(elasticity(simplices(size, size, size), skfem.ElementTetP1(), 1))
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(matrix, symmetric_mode=True)
    return matrix[order][:, order]


# Multigrid

SPLITTING = hierarchy("classical multigrid in space by independent sets", "level-1", "level-2", "restriction")
TRANSPORT = hierarchy("reduction-based multigrid for transport", "level-1", "prolongation")


@recipe("pyamg", SPLITTING, (24, 50, 110))
def independent_sets(size: int):
    matrix = pyamg.gallery.poisson((size, size, size), format="csr")
    # The independent sets are random, and take no generator.
    numpy.random.seed(SEED)
    return levels(pyamg.ruge_stuben_solver(matrix, CF="PMIS", interpolation="direct", max_levels=3))


@recipe("pyamg", TRANSPORT, (100, 300, 1000))
def reduction(size: int):
    matrix, _ = pyamg.gallery.advection_2d((size, size))
    return levels(pyamg.air_solver(matrix, max_levels=3))


# Graphs


def clusters(count: int) -> numpy.ndarray:
    """Returns points in space that gather around centres, at all distances from them."""
    random = numpy.random.default_rng(SEED)
    centres = random.random((count // 2000, 3))[random.integers(0, count // 2000, count)]
    directions = random.normal(size=(count, 3))
    directions /= numpy.linalg.norm(directions, axis=1)[:, None]
    return centres + directions * (0.2 * random.random(count) ** 2)[:, None]


@recipe(
    "scipy",
    "particles closer than a radius, denser near centres, in no order",
    (5_000, 50_000, 400_000),
    ("middle",),
    family=GRAPHS,
)
def particles(size: int):
    points = clusters(size)
    pairs = scipy.spatial.KDTree(points).query_pairs(0.9 * size ** (-1 / 3) / 3, output_type="ndarray")
    graph = graph_of_pairs(pairs, lengths(points, pairs), size)
    return graph + graph.T


@recipe(
    "scipy", "neighbours of neighbours of points of the plane, in no order", (5_000, 40_000, 300_000), family=GRAPHS
)
def two_hops(size: int):
    _, indices = scipy.spatial.KDTree(scattered(size, 2)).query(scattered(size, 2), 7, workers=-1)
    graph = scipy.sparse.csr_array((numpy.ones(7 * size), indices.ravel(), numpy.arange(size + 1) * 7))
    return graph @ graph


@recipe(
    "scipy", "minimum spanning tree of points of the plane, in no order", (10_000, 100_000, 1_500_000), family=GRAPHS
)
def spanning_tree(size: int):
    points = scattered(size, 2)
    pairs = delaunay_pairs(points)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(graph_of_pairs(pairs, lengths(points, pairs), size))
    return tree + tree.T


@recipe("scipy", "Kronecker graph of the Graph 500, as directed", (12, 15, 20), ("middle",), True, family=GRAPHS)
def graph_500(scale: int):
    random = numpy.random.default_rng(SEED)
    rows, columns = numpy.zeros((2, 16 << scale), numpy.int64)
    for bit in range(scale):
        down = random.random(len(rows)) > 0.76
        right = random.random(len(rows)) > numpy.where(down, 0.19 / 0.24, 0.57 / 0.76)
        rows += down.astype(numpy.int64) << bit
        columns += right.astype(numpy.int64) << bit
    # The degree of a vertex does not follow from its number.
    names = random.permutation(1 << scale)
    return scipy.sparse.coo_array((random.random(len(rows)), (names[rows], names[columns])), shape=(1 << scale,) * 2)


@recipe("scipy", "Laplacian of an image: 8 neighbours of each pixel, by likeness", (60, 300, 1800), family=GRAPHS)
def image_segments(size: int):
    random = numpy.random.default_rng(SEED)
    y, x = numpy.mgrid[:size, :size] / size
    image = numpy.sin(9 * x) * numpy.cos(7 * y) + 0.1 * random.random((size, size))
    numbers = numpy.arange(size * size).reshape(size, size)
    pairs = [(numbers[:, :-1], numbers[:, 1:]), (numbers[:-1], numbers[1:])]
    pairs += [(numbers[:-1, :-1], numbers[1:, 1:]), (numbers[:-1, 1:], numbers[1:, :-1])]
    ends = numpy.concatenate([numpy.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    colours = image.ravel()
    likeness = numpy.exp(-9 * abs(colours[ends[:, 0]] - colours[ends[:, 1]]))
    return laplacian(graph_of_pairs(ends, likeness, size * size))


# Applications


@recipe(
    "scipy",
    "Heisenberg chain in a magnetic field, a row a state of half the spins up",
    (12, 16, 22),
    family=APPLICATIONS,
)
def spin_chain(spins: int):
    states = numpy.arange(1 << spins, dtype=numpy.int64)
    ups = sum((states >> spin) & 1 for spin in range(spins))
    states = states[ups == spins // 2]
    fields = numpy.random.default_rng(SEED).uniform(-1, 1, spins)
    energies = sum(field * (((states >> spin) & 1) - 0.5) for spin, field in enumerate(fields))
    rows, columns = [numpy.arange(len(states))], [numpy.arange(len(states))]
    flips = []
    for spin in range(spins):
        other = (spin + 1) % spins
        differ = ((states >> spin) ^ (states >> other)) & 1 == 1
        energies = energies + numpy.where(differ, -0.25, 0.25)
        flipped = states[differ] ^ ((1 << spin) | (1 << other))
        rows.append(numpy.flatnonzero(differ))
        columns.append(numpy.searchsorted(states, flipped))
        flips.append(numpy.full(len(flipped), 0.5))
    places = numpy.concatenate(rows), numpy.concatenate(columns)
    return scipy.sparse.coo_array((numpy.concatenate([energies, *flips]), places), shape=(len(states),) * 2)


@recipe("scipy", "tomography: rays by the pixels that they pass", (40, 120, 420), ("middle",), family=APPLICATIONS)
def tomography(size: int):
    angles = numpy.linspace(0, numpy.pi, size // 2, endpoint=False)
    offsets = (numpy.arange(size) + 0.5) / size * 2 - 1
    steps = numpy.linspace(-1, 1, 2 * size)
    rows, columns = [], []
    for number, angle in enumerate(angles):
        x = offsets[:, None] * numpy.cos(angle) - steps * numpy.sin(angle)
        y = offsets[:, None] * numpy.sin(angle) + steps * numpy.cos(angle)
        column, row = ((part + 1) / 2 * size for part in (x, y))
        inside = (column >= 0) & (column < size) & (row >= 0) & (row < size)
        ray = numpy.broadcast_to(numpy.arange(size)[:, None] + number * size, inside.shape)
        rows.append(ray[inside])
        columns.append(row[inside].astype(int) * size + column[inside].astype(int))
    rows, columns = numpy.concatenate(rows), numpy.concatenate(columns)
    shape = len(angles) * size, size * size
    return scipy.sparse.coo_array((numpy.full(len(rows), 1 / size), (rows, columns)), shape=shape)


@recipe(
    "scipy",
    "bundle adjustment: two residuals a sighting, cameras of 9 and points of 3 unknowns",
    (3_000, 30_000, 600_000),
    family=APPLICATIONS,
)
def bundle_adjustment(points: int):
    random = numpy.random.default_rng(SEED)
    cameras = points // 300
    first = numpy.sort(random.integers(0, cameras, points))
    sightings = random.integers(2, 8, points)
    point = numpy.repeat(numpy.arange(points), sightings)
    camera = numpy.minimum(first[point] + random.integers(0, 30, len(point)), cameras - 1)
    columns = numpy.concatenate(
        [9 * camera[:, None] + numpy.arange(9), 9 * cameras + 3 * point[:, None] + numpy.arange(3)], 1
    )
    columns = numpy.repeat(columns, 2, axis=0)
    rows = numpy.repeat(numpy.arange(len(columns)), 12)
    values = random.normal(size=columns.size)
    return scipy.sparse.coo_array((values, (rows, columns.ravel())), shape=(len(columns), 9 * cameras + 3 * points))


@recipe("scipy", "rates between the states of three queues", (16, 40, 120), family=APPLICATIONS)
def queues(size: int):
    numbers = numpy.arange(size**3).reshape(size, size, size)
    total = scipy.sparse.csr_array((size**3, size**3))
    inner, first, last = slice(None), slice(None, -1), slice(1, None)
    moves = [((first, inner, inner), (last, inner, inner), 0.8), ((inner, inner, last), (inner, inner, first), 1.0)]
    moves += [((last, first, inner), (first, last, inner), 1.0), ((inner, last, first), (inner, first, last), 1.0)]
    for source, target, rate in moves:
        places = numbers[target].ravel(), numbers[source].ravel()
        total = total + scipy.sparse.coo_array((numpy.full(len(places[0]), rate), places), shape=total.shape).tocsr()
    return total - scipy.sparse.diags_array(total.sum(axis=0)).tocsr()


@recipe(
    "scipy", "bilinear interpolation of a map at scattered places", (5_000, 100_000, 3_000_000), family=APPLICATIONS
)
def interpolation(size: int):
    width = int(size**0.5 / 2)
    places = scattered(size, 2) * (width - 1)
    cells = places.astype(int)
    x, y = (places - cells).T
    columns = cells[:, :1] * width + cells[:, 1:] + numpy.array([0, 1, width, width + 1])
    values = numpy.stack([(1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y], axis=1)
    rows = numpy.repeat(numpy.arange(size), 4)
    return scipy.sparse.coo_array((values.ravel(), (rows, columns.ravel())), shape=(size, width * width))


@recipe(
    "scipy",
    "constraints of a transport problem: sums over sources and over targets",
    (60, 300, 2500),
    family=APPLICATIONS,
)
def transport_problem(size: int):
    numbers = numpy.arange(size * size)
    rows = numpy.concatenate([numbers // size, size + numbers % size])
    values = numpy.ones(2 * size * size)
    return scipy.sparse.coo_array(
        (values, (rows, numpy.concatenate([numbers, numbers]))), shape=(2 * size, size * size)
    )


@recipe(
    "scipy", "ratings: users of all tastes by items, few of them popular", (2_000, 20_000, 400_000), family=APPLICATIONS
)
def ratings(users: int):
    random = numpy.random.default_rng(SEED)
    counts = numpy.minimum(random.pareto(1.3, users) * 12 + 5, users / 8).astype(int)
    rows = numpy.repeat(numpy.arange(users), counts)
    items = (users // 8 * random.random(len(rows)) ** 2.5).astype(int)
    columns = random.permutation(users // 8)[items]
    return scipy.sparse.coo_array((random.integers(1, 6, len(rows)) / 1.0, (rows, columns)), shape=(users, users // 8))


@recipe("scipy", "weights of a layer, the largest 8 % of them", (300, 1500, 8000), ("middle",), family=APPLICATIONS)
def pruned_layer(size: int):
    random = numpy.random.default_rng(SEED)
    weights = random.normal(size=(size, size)) * random.lognormal(sigma=0.3, size=(size, 1))
    return scipy.sparse.csr_array(numpy.where(abs(weights) > 1.9, weights, 0))


@recipe(
    "scipy",
    "attention to a window, some blocks and some whole rows and columns",
    (256, 2048, 16384),
    family=APPLICATIONS,
)
def attention(size: int):
    random = numpy.random.default_rng(SEED)
    blocks = size // 64
    near = numpy.arange(blocks)[:, None] + numpy.arange(-1, 2)
    far = numpy.concatenate([near, random.integers(0, blocks, (blocks, 3))], axis=1).clip(0, blocks - 1)
    pattern = scipy.sparse.csr_array(
        (numpy.ones(far.size), far.ravel(), numpy.arange(blocks + 1) * 6), shape=(blocks,) * 2
    )
    pattern = pattern.tolil()
    pattern[0, :] = 1
    pattern[:, 0] = 1
    dense = scipy.sparse.kron(pattern.tocsr(), numpy.ones((64, 64)), format="csr")
    dense.data = random.normal(size=dense.nnz)
    return dense


# Grids and factors


def line(size: int, diagonal: float = 2.0):
    """Returns second differences of a line."""
    return scipy.sparse.diags_array([-1.0, diagonal, -1.0], offsets=[-1, 0, 1], shape=(size, size))


@recipe("scipy", "complete factor L of a grid of the plane", (60, 200, 700), family=FACTORS)
def factor_plane(size: int):
    matrix = scipy.sparse.kronsum(line(size), line(size)).tocsc()
    return scipy.sparse.linalg.splu(
        matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0, options={"SymmetricMode": True}
    ).L


@recipe("scipy", "incomplete factor L with small entries dropped", (40, 100, 350), family=FACTORS)
def factor_incomplete(size: int):
    matrix = scipy.sparse.kronsum(line(size, 2.1), line(size, 2.1)).tocsc()
    return scipy.sparse.linalg.spilu(matrix, drop_tol=1e-3, fill_factor=15).L


@recipe("scipy", "heat in space and time: all steps at once", (16, 40, 100), ("middle",), family=FACTORS)
def space_time(size: int):
    plane = scipy.sparse.kronsum(line(size), line(size))
    step = scipy.sparse.eye_array(size * size) + 0.3 * plane
    now, before = scipy.sparse.eye_array(2 * size), scipy.sparse.eye_array(2 * size, k=-1)
    return scipy.sparse.kron(now, step) - scipy.sparse.kron(before, scipy.sparse.eye_array(size * size))


@recipe("scipy", "a grid in space, its even points before its odd ones", (20, 60, 150), family=FACTORS)
def red_black(size: int):
    matrix = scipy.sparse.kronsum(line(size), scipy.sparse.kronsum(line(size), line(size))).tocsr()
    odd = numpy.indices((size,) * 3).sum(axis=0).ravel() % 2
    weights = numpy.random.default_rng(SEED).random(size**3) + 0.5
    scale = scipy.sparse.diags_array(weights)
    order = numpy.argsort(odd, kind="stable")
    return (scale @ matrix @ scale).tocsr()[order][:, order]
