"""The matrices of `real-matrices.py`: one function per matrix, or per computation that gives several."""

from __future__ import annotations

import itertools
import os
import pathlib
import re
import subprocess
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy
import scipy.sparse
import scipy.spatial

try:
    import skfem
    from skfem.helpers import curl, dd, ddot, div, dot, grad, jump, sym_grad
except ImportError:
    skfem = None
try:
    import pyamg
except ImportError:
    pyamg = None

SEED = 1
# Number of entries of element matrices assembled at once, which bounds the memory.
AT_ONCE = 6_000_000
# The scales below full, for a matrix that is made in all sizes.
SMALLER = "small", "middle"
DPKG = pathlib.Path("/var/lib/dpkg")
# The family of the matrices of each package.
FAMILIES = {"scikit-fem": "finite elements", "pyamg": "multigrid", "scipy": "points", "scikit-learn": "points"}
OTHER_FAMILY = "software"


class Recipe(NamedTuple):
    """How to make a matrix, or several from one computation."""

    name: str
    package: str
    family: str
    # Descriptions of matrices, by the part of their names after that of the recipe.
    about: dict[str, str]
    # Arguments of `make` at the scales small, middle and full.
    sizes: tuple[int, int, int]
    # Smaller scales to make as well.
    also: tuple[str, ...]
    # Whether to make the matrix under a random permutation, too.
    shuffled: bool
    make: Callable[[int], Any]


RECIPES: list[Recipe] = []


def into(recipes: list[Recipe]):
    """Returns a decorator that adds a function to the recipes."""

    def recipe(package: str, about: str | dict[str, str], sizes=(0, 0, 0), also=(), shuffled=False, family=""):
        """Registers a function that makes a matrix, or a dictionary of matrices with the keys of `about`."""

        def register(make):
            parts = about if isinstance(about, dict) else {"": about}
            kind = family or FAMILIES.get(package, OTHER_FAMILY)
            recipes.append(Recipe(make.__name__.replace("_", "-"), package, kind, parts, sizes, also, shuffled, make))
            return make

        return register

    return recipe


recipe = into(RECIPES)


# Finite elements


def jittered(*counts: int) -> numpy.ndarray:
    """Returns the points of a grid over the unit square or cube, line by line, with inner ones moved at random."""
    axes = numpy.meshgrid(*(numpy.linspace(0, 1, count) for count in counts), indexing="ij")
    points = numpy.stack(axes, axis=-1).reshape(-1, len(counts))
    moves = numpy.random.default_rng(SEED).uniform(-0.35, 0.35, points.shape) / (numpy.array(counts) - 1)
    moves[(points == 0) | (points == 1)] = 0
    return points + moves


def simplices(*counts: int):
    """Returns an unstructured mesh of triangles or tetrahedra."""
    points = jittered(*counts)
    cells = scipy.spatial.Delaunay(points).simplices
    corners = points[cells]
    volumes = abs(numpy.linalg.det(corners[:, 1:] - corners[:, :1]))
    # Flat parts of the boundary have cells without volume.
    cells = cells[volumes > 1e-4 / len(points)]
    mesh = skfem.MeshTri if len(counts) == 2 else skfem.MeshTet
    return mesh(numpy.ascontiguousarray(points.T), numpy.ascontiguousarray(cells.T))


def bent(mesh):
    """Returns the mesh with smoothly moved points, so that no two cells are alike."""
    axes = numpy.arange(len(mesh.p))[:, None]
    return type(mesh)(mesh.p + 0.1 * numpy.sin(2.3 * numpy.roll(mesh.p, 1, axis=0) + axes), mesh.t)


def cube(mesh, size: int):
    """Returns a bent cube of `size` cells along each edge, in a kind of mesh."""
    return bent(mesh.init_tensor(*[numpy.linspace(0, 1, size + 1)] * 3))


def graded(size: int):
    """Returns triangles of an L shape, refined adaptively towards the corner and a circle."""
    mesh = skfem.MeshTri.init_lshaped()
    while True:
        radius = numpy.hypot(*mesh.p[:, mesh.t].mean(axis=1))
        sides = mesh.p[:, mesh.t[1:]] - mesh.p[:, mesh.t[:1]]
        areas = abs(sides[0, 0] * sides[1, 1] - sides[0, 1] * sides[1, 0]) / 2
        distance = numpy.minimum(radius, abs(radius - 0.7))
        large = numpy.flatnonzero(areas > ((0.005 + distance) / size) ** 2)
        if len(large) == 0:
            return mesh
        mesh = mesh.refined(large)


def assemble(form: Callable, mesh, trial, test=None, order: int | None = None):
    """Returns the matrix of a bilinear form."""
    elements = [trial] if test is None else [trial, test]
    mapping = mesh.mapping()
    dofs = [skfem.Dofs(mesh, element) for element in elements]
    entries = mesh.nelements * len(dofs[0].element_dofs) * len(dofs[-1].element_dofs)
    total = scipy.sparse.csr_matrix((dofs[-1].N, dofs[0].N))
    for part in numpy.array_split(numpy.arange(mesh.nelements), 1 + entries // AT_ONCE):
        bases = [
            skfem.CellBasis(mesh, element, mapping, order or 2 * trial.maxdeg, part, dofs=own, disable_doflocs=True)
            for element, own in zip(elements, dofs)
        ]
        total = total + skfem.BilinearForm(form).assemble(*bases)
    return total


def laplace(u, v, _):
    return dot(grad(u), grad(v))


def free(mesh, element, facets=None) -> numpy.ndarray:
    """Returns the unknowns that are not on the boundary, or not on the given facets."""
    dofs = skfem.Dofs(mesh, element)
    fixed = dofs.get_facet_dofs(mesh.boundary_facets() if facets is None else facets).flatten()
    return numpy.setdiff1d(numpy.arange(dofs.N), fixed)


def dirichlet(form: Callable, mesh, element, order: int | None = None):
    """Returns the matrix of a bilinear form without the unknowns of the boundary."""
    inside = free(mesh, element)
    return assemble(form, mesh, element, order=order)[inside][:, inside]


def elasticity(mesh, element, order: int):
    """Returns the matrix of linear elasticity of a body fixed at x = 0, with adjacent unknowns per node."""
    kept = free(mesh, element, mesh.facets_satisfying(lambda x: x[0] < 1e-9))
    gradients = {}
    for a, b in itertools.combinations_with_replacement(range(3), 2):
        gradients[b, a] = assemble(lambda u, v, _: u.grad[a] * v.grad[b], mesh, element, order=order)[kept][:, kept]
        gradients[a, b] = gradients[b, a].T.tocsr()
    trace = gradients[0, 0] + gradients[1, 1] + gradients[2, 2]
    rows, columns, values = [], [], []
    for a, b in itertools.product(range(3), repeat=2):
        block = 1.5 * gradients[a, b] + gradients[b, a]
        block = (block + trace if a == b else block).tocoo()
        rows.append(3 * block.row + a)
        columns.append(3 * block.col + b)
        values.append(block.data)
    places = numpy.concatenate(rows), numpy.concatenate(columns)
    return scipy.sparse.coo_array((numpy.concatenate(values), places), shape=(3 * len(kept), 3 * len(kept)))


@recipe("scikit-fem", "Laplace operator on hexahedra of second order", (8, 20, 50), SMALLER, True)
def hexahedra_quadratic(size: int):
    return dirichlet(laplace, cube(skfem.MeshHex, size), skfem.ElementHex2(), order=4)


@recipe("scikit-fem", "Laplace operator on tetrahedra of second order", (11, 21, 52), SMALLER, True)
def tetrahedra_quadratic(size: int):
    return dirichlet(laplace, simplices(size, size, size), skfem.ElementTetP2())


@recipe("scikit-fem", "linear elasticity on tetrahedra of first order", (12, 24, 58), SMALLER, True)
def tetrahedra_elasticity(size: int):
    return elasticity(simplices(size, size, size), skfem.ElementTetP1(), 1)


@recipe("scikit-fem", "linear elasticity of a bent plate on serendipity hexahedra", (11, 35, 100), ("small",))
def plate_elasticity(size: int):
    axis = numpy.linspace(0, 1, size + 1)
    mesh = skfem.MeshHex.init_tensor(axis, axis, numpy.array([0, 0.02]))
    arch = 0.2 * numpy.sin(2 * mesh.p[0] + mesh.p[1])
    return elasticity(skfem.MeshHex(mesh.p + numpy.stack([0 * arch, 0 * arch, arch]), mesh.t), skfem.ElementHexS2(), 4)


@recipe("scikit-fem", "Stokes flow on Taylor-Hood triangles", (25, 80, 270), SMALLER, True)
def stokes_taylor_hood(size: int):
    mesh = simplices(size, size)
    velocity, pressure = skfem.ElementVector(skfem.ElementTriP2()), skfem.ElementTriP1()
    inside = free(mesh, velocity)
    stress = assemble(lambda u, v, _: 2 * ddot(sym_grad(u), sym_grad(v)), mesh, velocity, order=4)
    divergence = assemble(lambda u, q, _: -div(u) * q, mesh, velocity, pressure, order=4)[:, inside]
    return scipy.sparse.block_array([[stress[inside][:, inside], divergence.T], [divergence, None]])


@recipe("scikit-fem", "mixed Poisson problem on Raviart-Thomas triangles", (30, 90, 600), ("small",), True)
def raviart_thomas(size: int):
    mesh = simplices(size, size)
    flux, pressure = skfem.ElementTriRT1(), skfem.ElementTriP0()
    mass = assemble(lambda u, v, _: dot(u, v), mesh, flux, order=2)
    divergence = assemble(lambda u, q, _: div(u) * q, mesh, flux, pressure, order=2)
    return scipy.sparse.block_array([[mass, divergence.T], [divergence, None]])


@recipe("scikit-fem", "interior penalty method on triangles of second order", (25, 80, 230), SMALLER, True)
def discontinuous_galerkin(size: int):
    mesh, element = simplices(size, size), skfem.ElementDG(skfem.ElementTriP2())

    def inner(u, v, w):
        du, dv = jump(w, u, v)
        return 30 * du * dv / w.h - (dot(grad(u), w.n) * dv + dot(grad(v), w.n) * du) / 2

    def outer(u, v, w):
        return 30 * u * v / w.h - dot(grad(u), w.n) * v - dot(grad(v), w.n) * u

    sides = [skfem.InteriorFacetBasis(mesh, element, side=side) for side in range(2)]
    boundary = skfem.BilinearForm(outer).assemble(skfem.FacetBasis(mesh, element))
    return assemble(laplace, mesh, element) + skfem.asm(skfem.BilinearForm(inner), sides, sides) + boundary


@recipe("scikit-fem", "Laplace operator on adaptively refined triangles", (5, 16, 40), SMALLER, True)
def triangles_adaptive(size: int):
    return dirichlet(laplace, graded(size), skfem.ElementTriP1())


@recipe("scikit-fem", "curl-curl operator on tetrahedra with an unknown an edge", (8, 24, 48), ("small",), True)
def edge_elements(size: int):
    def form(u, v, _):
        return dot(curl(u), curl(v)) + dot(u, v)

    return assemble(form, simplices(size, size, size), skfem.ElementTetN1(), order=2)


@recipe("scikit-fem", "biharmonic operator of a plate on Morley triangles", (20, 70, 250), SMALLER)
def plate_morley(size: int):
    return dirichlet(lambda u, v, _: ddot(dd(u), dd(v)), simplices(size, size), skfem.ElementTriMorley(), order=2)


@recipe("scikit-fem", "convection and diffusion on graded quadrilaterals", (50, 150, 400), SMALLER)
def convection_diffusion(size: int):
    def form(u, v, w):
        x, y = numpy.pi * w.x
        wind = numpy.stack([numpy.sin(x) * numpy.cos(y), -numpy.cos(x) * numpy.sin(y)])
        return 1e-3 * dot(grad(u), grad(v)) + dot(wind, grad(u)) * v

    axis = (1 + numpy.tanh(3 * numpy.linspace(-1, 1, size + 1)) / numpy.tanh(3)) / 2
    return dirichlet(form, bent(skfem.MeshQuad.init_tensor(axis, axis)), skfem.ElementQuad2(), order=5)


@recipe("scikit-fem", "Laplace operator on quadrilaterals of sixth order", (9, 25, 70), ("small",))
def quadrilaterals_sextic(size: int):
    axis = numpy.linspace(0, 1, size + 1)
    return dirichlet(laplace, bent(skfem.MeshQuad.init_tensor(axis, axis)), skfem.ElementQuadP(6), order=14)


# Multigrid


def hierarchy(problem: str, *names: str) -> dict[str, str]:
    """Returns descriptions of the named matrices of a hierarchy of grids."""
    about = {"level-1": "first coarse level", "level-2": "second coarse level"}
    return {name: f"{about.get(name, name)} of {problem}" for name in names}


def levels(solver) -> dict[str, Any]:
    first, *coarse = solver.levels
    found = {f"level-{depth}": level.A for depth, level in enumerate(coarse, 1)}
    return found | {"prolongation": first.P, "restriction": first.R}


CLASSICAL = hierarchy("classical multigrid for anisotropic diffusion", "level-1", "level-2", "prolongation")
PARTS = "level-1", "level-2", "prolongation", "restriction"
AGGREGATION = hierarchy("smoothed aggregation for the Poisson equation in space", *PARTS)
RIGID = hierarchy("smoothed aggregation for linear elasticity of the plane", "level-1", "level-2")
# With other weights, the matrices depend on random vectors.
SMOOTHER = "jacobi", {"weighting": "local"}
EXAMPLES = ["airfoil", "bar", "knot", "local_disc_galerkin_diffusion", "recirc_flow", "unit_cube", "unit_square"]


@recipe("pyamg", CLASSICAL, (150, 450, 1500))
def ruge_stuben(size: int):
    stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=0.01, theta=numpy.pi / 6, type="FE")
    matrix = pyamg.gallery.stencil_grid(stencil, (size, size), format="csr")
    return levels(pyamg.ruge_stuben_solver(matrix, max_levels=3))


@recipe("pyamg", AGGREGATION, (40, 70, 160))
def aggregation(size: int):
    matrix = pyamg.gallery.poisson((size, size, size), format="csr")
    return levels(pyamg.smoothed_aggregation_solver(matrix, smooth=SMOOTHER, max_levels=3))


@recipe("pyamg", RIGID, (120, 300, 900))
def aggregation_elasticity(size: int):
    matrix, rigid = pyamg.gallery.linear_elasticity((size, size))
    return levels(pyamg.smoothed_aggregation_solver(matrix, rigid, smooth=SMOOTHER, max_levels=3))


@recipe("pyamg", {name.replace("_", "-"): f"the example {name} of PyAMG" for name in EXAMPLES})
def example(_: int):
    return {name.replace("_", "-"): pyamg.gallery.load_example(name)["A"] for name in EXAMPLES}


# Points


def scattered(count: int, axes: int) -> numpy.ndarray:
    return numpy.random.default_rng(SEED).random((count, axes))


def in_strips(points: numpy.ndarray) -> numpy.ndarray:
    """Returns the points in the order of a scanner: strip by strip."""
    strips = numpy.floor(points[:, 1] * len(points) ** 0.5 / 4)
    return points[numpy.lexsort((points[:, 0], strips))]


def similarities(points: numpy.ndarray, neighbours: int) -> scipy.sparse.csr_array:
    """Returns a matrix with one row per point, of its nearest neighbours weighted by their distances."""
    distances, indices = scipy.spatial.KDTree(points).query(points, neighbours + 1, workers=-1)
    weights = numpy.exp(-((distances[:, 1:] / distances[:, -1].mean()) ** 2))
    offsets = numpy.arange(len(points) + 1) * neighbours
    return scipy.sparse.csr_array((weights.ravel(), indices[:, 1:].ravel(), offsets), shape=(len(points), len(points)))


@recipe("scipy", "8 nearest neighbours of points of the plane, in strips", (20_000, 200_000, 2_000_000), shuffled=True)
def neighbours_plane(size: int):
    return similarities(in_strips(scattered(size, 2)), 8)


@recipe("scipy", "16 nearest neighbours of points in space, in no order", (6_000, 60_000, 1_000_000), SMALLER)
def neighbours_space(size: int):
    return similarities(scattered(size, 3), 16)


@recipe("scikit-learn", "nearest neighbours of clustered points of 32 axes, in no order", (4_000, 20_000, 80_000))
def neighbours_clusters(size: int):
    from sklearn.datasets import make_blobs
    from sklearn.neighbors import kneighbors_graph

    points, _ = make_blobs(size, 32, centers=size // 400, cluster_std=4.0, random_state=SEED)
    graph = kneighbors_graph(points, 40)
    return graph + graph.T


@recipe("scikit-learn", "images of digits, a row an image and a column a pixel")
def digits(_: int):
    from sklearn.datasets import load_digits

    return load_digits().data


def delaunay_pairs(points: numpy.ndarray) -> numpy.ndarray:
    """Returns the pairs of points of the plane that share an edge of a triangle."""
    cells = scipy.spatial.Delaunay(points).simplices
    return numpy.unique(numpy.sort(numpy.concatenate([cells[:, [0, 1]], cells[:, [1, 2]], cells[:, [0, 2]]])), axis=0)


def lengths(points: numpy.ndarray, pairs: numpy.ndarray) -> numpy.ndarray:
    """Returns the distance between the points of each pair."""
    return numpy.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)


def graph_of_pairs(pairs: numpy.ndarray, weights: numpy.ndarray, size: int) -> scipy.sparse.csr_array:
    """Returns the graph with an edge from the first of each pair to the second."""
    return scipy.sparse.coo_array((weights, (pairs[:, 0], pairs[:, 1])), shape=(size, size)).tocsr()


def laplacian(graph: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Returns the Laplacian of the graph with its edges in both directions."""
    graph = graph + graph.T
    return scipy.sparse.diags_array(graph.sum(axis=1)).tocsr() - graph


@recipe("scipy", "Laplacian of the Delaunay graph of points of the plane", (4_000, 150_000, 1_500_000), SMALLER, True)
def delaunay_laplacian(size: int):
    points = in_strips(scattered(size, 2))
    pairs = delaunay_pairs(points)
    return laplacian(graph_of_pairs(pairs, 1 / lengths(points, pairs), size))


# Installed software


PYTHON = [pathlib.Path(sysconfig.get_paths()[kind]) for kind in ["stdlib", "purelib"]]


def installed(roots: list[pathlib.Path], endings: set[str]) -> Iterator[tuple[pathlib.Path, pathlib.Path]]:
    """Yields files below the roots, each with its root, in order of their names."""
    for root in roots:
        for folder, folders, names in os.walk(root):
            # These packages do not belong to this interpreter.
            folders[:] = sorted(set(folders) - {"site-packages", "dist-packages"})
            for path in (pathlib.Path(folder, name) for name in sorted(names)):
                if path.suffix in endings and path.is_file() and os.access(path, os.R_OK):
                    yield root, path


def text_of(path: pathlib.Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def words(characters: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the words of installed texts, numbered as they first occur, and the passage of 128 words of each."""
    numbers: dict[str, int] = {}
    texts, passages, begun = [], [], 0
    for _, path in installed([*PYTHON, pathlib.Path("/usr/share/doc")], {".py", ".txt", ".rst", ".md", ".html", ".h"}):
        text = text_of(path)[:characters]
        characters -= len(text)
        found = re.findall("[a-z]{2,}", text.lower())
        texts.append(numpy.array([numbers.setdefault(word, len(numbers)) for word in found], numpy.int32))
        passages.append(numpy.arange(len(found), dtype=numpy.int32) // 128 + begun)
        begun += -(-len(found) // 128)
        if characters == 0:
            break
    return numpy.concatenate(texts), numpy.concatenate(passages)


@recipe("Python", "words by passages of installed texts, weighted by tf-idf", (2_000_000, 15_000_000, 100_000_000))
def term_document(size: int):
    terms, passages = words(size)
    counts = scipy.sparse.coo_array((numpy.ones(len(terms)), (terms, passages))).tocsr()
    lengths = numpy.diff(counts.indptr)
    counts.data = (1 + numpy.log(counts.data)) * numpy.repeat(numpy.log(counts.shape[1] / lengths), lengths)
    return counts


@recipe("Python", "words of installed texts at most 5 apart", (700_000, 15_000_000, 100_000_000), ("small",), True)
def word_pairs(size: int):
    terms, passages = words(size)
    pairs = scipy.sparse.csr_array((terms.max() + 1, terms.max() + 1))
    for apart in range(1, 6):
        same = passages[:-apart] == passages[apart:]
        places = terms[:-apart][same], terms[apart:][same]
        values = numpy.full(len(places[0]), 1 / apart)
        pairs = pairs + scipy.sparse.coo_array((values, places), shape=pairs.shape).tocsr()
    return pairs + pairs.T


def graph_of(edges: Iterable[tuple[int, int, float]], rows: int, columns: int) -> scipy.sparse.coo_array:
    sources, ends, weights = (numpy.array(part) for part in zip(*edges))
    return scipy.sparse.coo_array((weights, (sources, ends)), shape=(rows, columns))


def modules(files: int) -> dict[str, tuple[tuple[str, ...], pathlib.Path]]:
    """Returns the installed modules of Python, each with its package and its file."""
    found = {}
    for root, path in itertools.islice(installed(PYTHON, {".py"}), files):
        *package, name = path.relative_to(root).with_suffix("").parts
        full = package if name == "__init__" else [*package, name]
        found.setdefault(".".join(full), (tuple(package), path))
    return found


@recipe("Python", "imports between the installed modules of Python", (1_500, 3_000, 50_000))
def python_imports(size: int):
    statement = re.compile(r"^ *(?:from +(\.*)([\w.]*) +import[ (]+([\w, ]*)|import +([\w., ]+))", re.M)
    known = modules(size)
    numbers = {name: number for number, name in enumerate(known)}
    edges = []
    for number, (package, path) in enumerate(known.values()):
        for dots, module, names, whole in statement.findall(text_of(path)):
            base = [*(package[: len(package) + 1 - len(dots)] if dots else ()), *filter(None, module.split("."))]
            wanted = [[*base, *name.split()[:1]] for name in names.split(",")]
            wanted += [name.split()[0].split(".") for name in whole.split(",") if name.strip()]
            for parts in wanted:
                prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
                edges += [(number, numbers[prefix], 1.0) for prefix in prefixes if prefix in numbers][:1]
    return graph_of(edges, len(known), len(known))


@recipe("Debian", "dependencies between the packages of Debian that the machine knows", (4_000, 20_000, 200_000))
def package_dependencies(size: int):
    text = text_of(DPKG / "status")
    try:
        text += subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, errors="replace").stdout
    except OSError:
        # The packages of dpkg remain.
        pass
    packages: dict[str, dict[str, str]] = {}
    for record in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Provides|Depends|Pre-Depends|Recommends): *(.+)", record, re.M))
        if "Package" in fields and len(packages) < size:
            packages.setdefault(fields["Package"], fields)
    numbers = {package: number for number, package in enumerate(packages)}
    name = re.compile(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)")
    for number, fields in enumerate(packages.values()):
        for provided in name.findall(fields.get("Provides", "")):
            numbers.setdefault(provided, number)
    edges = [
        (number, numbers[wanted], weight)
        for number, fields in enumerate(packages.values())
        for field, weight in [("Pre-Depends", 1.0), ("Depends", 1.0), ("Recommends", 0.5)]
        for wanted in name.findall(fields.get(field, ""))
        if wanted in numbers
    ]
    return graph_of(edges, len(packages), len(packages))


@recipe("Debian", "installed packages of Debian by their files and folders", (200, 1_000, 100_000))
def package_files(size: int):
    numbers: dict[str, int] = {}
    lists = sorted((DPKG / "info").glob("*.list"))[:size]
    edges = [
        (package, numbers.setdefault(path, len(numbers)), 1.0)
        for package, file in enumerate(lists)
        for path in text_of(file).splitlines()
    ]
    return graph_of(edges, len(lists), len(numbers))
