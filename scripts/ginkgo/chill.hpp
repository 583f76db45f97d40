#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

// Empties the caches of a GPU.
class Chill {
public:
    Chill(std::size_t bytes, unsigned resident_threads);
    Chill(const Chill &) = delete;
    Chill &operator=(const Chill &) = delete;
    ~Chill();

    // Queues the reads of an array of so many bytes.
    cudaError_t operator()(cudaStream_t stream);

private:
    void *numbers = nullptr;
    double *sums = nullptr;
    std::size_t pairs;
    unsigned blocks;
    bool failed = false;
};
