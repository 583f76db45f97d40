// Reads an array that is larger than the L2 cache, so that nothing of a matrix and its vectors is left there.

#include <cstddef>

#include "chill.hpp"

namespace {

constexpr unsigned THREADS_PER_BLOCK = 512;

// The sums are written so that the reads cannot be left out.
__global__ void read_numbers(const double2 *numbers, std::size_t pairs, double *sums) {
    const std::size_t thread = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const std::size_t threads = std::size_t(gridDim.x) * blockDim.x;
    double sum = 0;
    for (std::size_t place = thread; place < pairs; place += threads) {
        const double2 pair = numbers[place];
        sum += pair.x + pair.y;
    }
    sums[thread] = sum;
}

}  // namespace

Chill::Chill(std::size_t bytes, unsigned resident_threads)
    : pairs(bytes / sizeof(double2)), blocks((resident_threads + THREADS_PER_BLOCK - 1) / THREADS_PER_BLOCK) {
    if (cudaMalloc(&numbers, pairs * sizeof(double2)) != cudaSuccess ||
        cudaMalloc(&sums, std::size_t(blocks) * THREADS_PER_BLOCK * sizeof(double)) != cudaSuccess ||
        cudaMemset(numbers, 0, pairs * sizeof(double2)) != cudaSuccess) {
        failed = true;
    }
}

Chill::~Chill() {
    cudaFree(numbers);
    cudaFree(sums);
}

cudaError_t Chill::operator()(cudaStream_t stream) {
    if (failed) {
        return cudaErrorMemoryAllocation;
    }
    read_numbers<<<blocks, THREADS_PER_BLOCK, 0, stream>>>(static_cast<double2 *>(numbers), pairs, sums);
    return cudaGetLastError();
}
