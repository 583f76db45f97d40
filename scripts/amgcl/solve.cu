// Solves systems of `.npz` files by conjugate gradients with amgcl's smoothed aggregation on a GPU. README.md says how.

#include <chrono>
#include <cstdio>
#include <exception>
#include <tuple>
#include <vector>

#include <cusparse_v2.h>

#include <amgcl/backend/cuda.hpp>

#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/chebyshev.hpp>
#include <amgcl/relaxation/damped_jacobi.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/cg.hpp>

#include "../ginkgo/npz.hpp"

using Backend = amgcl::backend::cuda<double>;

static double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Three solves: the first warms up, and the shorter of the others counts.
template <template <class> class Relaxation>
static void solve(const char *file, const char *relaxation, const Matrix &matrix, Backend::params backend) {
    using Solver = amgcl::make_solver<
        amgcl::amg<Backend, amgcl::coarsening::smoothed_aggregation, Relaxation>, amgcl::solver::cg<Backend>>;
    const std::size_t rows = matrix.rows;
    std::vector<double> b(rows);
    for (std::size_t row = 0; row < rows; row++) {
        for (auto entry = matrix.offsets[row]; entry < matrix.offsets[row + 1]; entry++) b[row] += matrix.values[entry];
    }
    typename Solver::params parameters;
    parameters.solver.tol = 1e-8;
    parameters.solver.maxiter = 2000;
    double setup = 0, shortest = 1e300, error = 0;
    std::size_t iterations = 0;
    for (int repetition = 0; repetition < 2; repetition++) {
        const double begin = seconds();
        Solver solver(std::tie(rows, matrix.offsets, matrix.indices, matrix.values), parameters, backend);
        cudaDeviceSynchronize();
        setup = seconds() - begin;
        const thrust::device_vector<double> on_device(b);
        for (int time = 0; time < 3; time++) {
            thrust::device_vector<double> x(rows, 0.0);
            cudaDeviceSynchronize();
            const double start = seconds();
            std::tie(iterations, error) = solver(on_device, x);
            cudaDeviceSynchronize();
            if (time > 0) shortest = std::min(shortest, seconds() - start);
        }
    }
    std::printf("%s, %s: %zu iterations, residual %.1e, setup %.1f ms, solve %.2f ms\n", file, relaxation, iterations,
                error, 1e3 * setup, 1e3 * shortest);
    std::fflush(stdout);
}

int main(int count, char **arguments) {
    Backend::params backend;
    if (cusparseCreate(&backend.cusparse_handle) != CUSPARSE_STATUS_SUCCESS) {
        std::fprintf(stderr, "amgcl-solve: no cuSPARSE\n");
        return 1;
    }
    int status = 0;
    for (int number = 1; number < count; number++) {
        const char *file = arguments[number];
        try {
            const Matrix matrix = read_npz(file);
            solve<amgcl::relaxation::spai0>(file, "spai0", matrix, backend);
            solve<amgcl::relaxation::damped_jacobi>(file, "damped_jacobi", matrix, backend);
            solve<amgcl::relaxation::chebyshev>(file, "chebyshev", matrix, backend);
        } catch (const std::exception &error) {
            std::fprintf(stderr, "amgcl-solve: %s: %s\n", file, error.what());
            status = 1;
        }
    }
    return status;
}
