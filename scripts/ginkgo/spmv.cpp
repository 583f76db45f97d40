// Times Ginkgo's sparse matrix-vector products on matrices of `.npz` files, and writes the times as
// `warp-spmv report --import` reads them. README.md says what is timed and how.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include <ginkgo/config.hpp>
#include <ginkgo/core/base/exception.hpp>
#include <ginkgo/core/base/executor.hpp>
#include <ginkgo/core/matrix/coo.hpp>
#include <ginkgo/core/matrix/csr.hpp>
#include <ginkgo/core/matrix/dense.hpp>
#include <ginkgo/core/matrix/ell.hpp>
#include <ginkgo/core/matrix/hybrid.hpp>
#include <ginkgo/core/matrix/sellp.hpp>

#include "chill.hpp"
#include "npz.hpp"

namespace {

constexpr std::uint64_t SEED = 1;

// Caches are empty after a read of so many times their bytes, and what is larger is not in them.
constexpr std::size_t TIMES_CACHE = 4;

// The fewest repetitions of something slow, where more are asked for.
constexpr std::size_t FEWEST = 5;

// Seconds of a conversion that are not spent twice.
constexpr double LONG = 1.0;

// What a format may take: bytes, and times the bytes of CSR. Small matrices may take any number of times.
constexpr double MOST_BYTES = 16e9;
constexpr double MOST_TIMES_CSR = 10.0;
constexpr double ALWAYS_ALLOWED = 1 << 20;

struct Options {
    std::vector<std::string> files;
    std::vector<std::string> precisions;
    std::string name;
    std::string out;
    std::size_t warm_ups = 5;
    std::size_t repetitions = 50;
    double seconds = 2.0;
};

// What makes a format unfit for a matrix.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void check(cudaError_t status, const char *what) {
    if (status != cudaSuccess) {
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
    }
}

// A text on one line, without control characters.
std::string one_line(const std::string &text) {
    std::string line;
    for (const char letter : text) {
        line += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
    }
    return line;
}

// JSON of a text.
std::string quoted(const std::string &text) {
    std::string json = "\"";
    for (const char letter : one_line(text)) {
        if (letter == '"' || letter == '\\') {
            json += '\\';
        }
        json += letter;
    }
    return json + '"';
}

// JSON of a number.
std::string number(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", number);
    return text;
}

// Calls `work(first, last)` for parts of 0..count, in threads.
void in_parallel(std::size_t count, const std::function<void(std::size_t, std::size_t)> &work) {
    const std::size_t parts = std::max<std::size_t>(1, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (std::size_t part = 0; part < parts; part++) {
        threads.emplace_back(work, count * part / parts, count * (part + 1) / parts);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

// An element of the product as it should be.
struct Exact {
    long double value;
    // The sum of |a x|, that rounding errors are relative to.
    double magnitude;
    std::int32_t terms;
};

template <typename Value>
std::vector<Exact> exact_product(const Matrix &matrix, const std::vector<Value> &x) {
    std::vector<Exact> exact(matrix.rows);
    in_parallel(exact.size(), [&](std::size_t first, std::size_t last) {
        for (std::size_t row = first; row < last; row++) {
            long double sum = 0, magnitude = 0;
            for (std::int32_t place = matrix.offsets[row]; place < matrix.offsets[row + 1]; place++) {
                const long double product =
                    static_cast<long double>(Value(matrix.values[place])) * x[matrix.indices[place]];
                sum += product;
                magnitude += std::abs(product);
            }
            exact[row] = {sum, double(magnitude), matrix.offsets[row + 1] - matrix.offsets[row]};
        }
    });
    return exact;
}

struct Verification {
    std::size_t wrong = 0;
    // The largest error over what rounding explains there.
    double worst = 0;
    // Of the whole vector, in the 2-norm.
    double relative = 0;
};

// Compares row by row: n entries may be added in any order, so that an error is at most k u / (1 - k u) sum |a x|
// for k = n + 3, and products that underflow add a little to it. (Atomic units of a GPU flush subnormal numbers.)
template <typename Value>
Verification verify(const std::vector<Value> &computed, const std::vector<Exact> &exact) {
    const double unit = std::numeric_limits<Value>::epsilon() / 2;
    const double underflow = std::numeric_limits<Value>::min();
    Verification verification;
    long double errors = 0, elements = 0;
    for (std::size_t row = 0; row < exact.size(); row++) {
        const Exact &expected = exact[row];
        const double chain = (expected.terms + 3.0) * unit;
        const double bound = chain / (1 - chain) * expected.magnitude + 2 * (expected.terms + 2.0) * underflow;
        const long double error = std::abs(static_cast<long double>(computed[row]) - expected.value);
        const double ratio = double(error / bound);
        // Written so that NaN is wrong, and rows so long that there is no bound.
        if (!(ratio <= 1 && chain < 1)) {
            verification.wrong++;
        }
        if (ratio > verification.worst) {
            verification.worst = ratio;
        }
        errors += error * error;
        elements += expected.value * expected.value;
    }
    verification.relative = elements > 0 ? double(std::sqrt(errors / elements)) : 0;
    return verification;
}

// Times of something that was repeated.
struct Times {
    std::vector<double> samples;
    double median = 0, first_quartile = 0, third_quartile = 0;

    explicit Times(std::vector<double> taken) : samples(std::move(taken)) {
        std::vector<double> sorted = samples;
        std::sort(sorted.begin(), sorted.end());
        const std::size_t last = sorted.size() - 1, middle = sorted.size() / 2, quarter = sorted.size() / 4;
        median = (sorted[last - middle] + sorted[middle]) / 2;
        first_quartile = sorted[quarter];
        third_quartile = sorted[last - quarter];
    }

    std::string json() const {
        return "\"time\": " + number(median) + ", \"quartiles\": [" + number(first_quartile) + ", " +
               number(third_quartile) + "], \"repetitions\": " + std::to_string(samples.size());
    }
};

// The GPU with what takes times on it.
class Gpu {
public:
    std::shared_ptr<gko::ReferenceExecutor> host = gko::ReferenceExecutor::create();
    std::shared_ptr<gko::CudaExecutor> executor = gko::CudaExecutor::create(0, host);
    std::string device;
    std::size_t cache_bytes = 0;
    std::unique_ptr<Chill> chill;

    Gpu() {
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's properties");
        device = properties.name;
        cache_bytes = std::size_t(properties.l2CacheSize);
        const auto threads = unsigned(properties.multiProcessorCount * properties.maxThreadsPerMultiProcessor);
        chill = std::make_unique<Chill>(TIMES_CACHE * cache_bytes, threads);
        check(cudaEventCreate(&start), "making an event");
        check(cudaEventCreate(&stop), "making an event");
    }

    // Times one product after another, each alone, after `before`, which is not timed.
    Times measure(const Options &options, const std::function<void()> &before, const std::function<void()> &work) {
        const cudaStream_t stream = executor->get_stream();
        std::vector<double> samples;
        double spent = 0;
        std::size_t warmed_up = 0;
        while (samples.size() < options.repetitions && (samples.size() < FEWEST || spent < options.seconds)) {
            before();
            check(cudaEventRecord(start, stream), "recording an event");
            work();
            check(cudaEventRecord(stop, stream), "recording an event");
            check(cudaEventSynchronize(stop), "waiting for the GPU");
            float milliseconds = 0;
            check(cudaEventElapsedTime(&milliseconds, start, stop), "reading a time");
            const double time = milliseconds / 1e3;
            spent += time;
            if (warmed_up < options.warm_ups && spent < options.seconds) {
                warmed_up++;
            } else {
                samples.push_back(time);
            }
        }
        return Times(std::move(samples));
    }

private:
    cudaEvent_t start = nullptr, stop = nullptr;
};

// A matrix in one of Ginkgo's formats on the GPU.
struct Prepared {
    std::shared_ptr<const gko::LinOp> matrix;
    std::string strategy;
    std::size_t storage = 0;
    std::size_t places = 0;
};

// One of Ginkgo's formats, with how a matrix gets there.
struct Format {
    std::string name;
    std::function<Prepared()> prepare;
};

// The formats of a matrix that is on the GPU in CSR.
template <typename Value>
std::vector<Format> formats(const Gpu &gpu, std::shared_ptr<gko::matrix::Csr<Value, gko::int32>> csr,
                            std::size_t longest_row) {
    using Csr = gko::matrix::Csr<Value, gko::int32>;
    using Ell = gko::matrix::Ell<Value, gko::int32>;
    using Sellp = gko::matrix::Sellp<Value, gko::int32>;
    using Coo = gko::matrix::Coo<Value, gko::int32>;
    using Hybrid = gko::matrix::Hybrid<Value, gko::int32>;
    constexpr std::size_t INDEX = sizeof(gko::int32), PLACE = sizeof(Value) + INDEX;
    const auto executor = gpu.executor;
    const std::size_t rows = csr->get_size()[0], entries = csr->get_num_stored_elements();

    const auto in_csr = [=](std::shared_ptr<typename Csr::strategy_type> strategy) {
        return [=] {
            csr->set_strategy(strategy);
            const std::size_t storage = entries * PLACE + (rows + 1 + csr->get_num_srow_elements()) * INDEX;
            return Prepared{csr, csr->get_strategy()->get_name(), storage, entries};
        };
    };
    const std::shared_ptr<const gko::CudaExecutor> cuda = executor;
    return {
        {"csr-classical", in_csr(std::make_shared<typename Csr::classical>())},
        {"csr-load-balance", in_csr(std::make_shared<typename Csr::load_balance>(cuda))},
        {"csr-merge-path", in_csr(std::make_shared<typename Csr::merge_path>())},
        {"csr-sparselib", in_csr(std::make_shared<typename Csr::sparselib>())},
        {"csr-automatical", in_csr(std::make_shared<typename Csr::automatical>(cuda))},
        {"ell",
         [=] {
             const double bytes = double(rows) * double(longest_row) * PLACE;
             const double times = bytes / (double(entries) * PLACE + double(rows + 1) * INDEX);
             if (bytes > MOST_BYTES || (times > MOST_TIMES_CSR && bytes > ALWAYS_ALLOWED)) {
                 throw Refused("ELL would take " + number(bytes) + " bytes, " + number(times) + " times those of CSR");
             }
             std::shared_ptr<Ell> ell = Ell::create(executor);
             csr->convert_to(ell.get());
             const std::size_t places = ell->get_num_stored_elements();
             return Prepared{ell, "ell", places * PLACE, places};
         }},
        {"sellp",
         [=] {
             std::shared_ptr<Sellp> sellp = Sellp::create(executor);
             csr->convert_to(sellp.get());
             const std::size_t places = sellp->get_num_stored_elements(), size = sellp->get_slice_size();
             const std::size_t slices = (rows + size - 1) / size;
             return Prepared{sellp, "slices of " + std::to_string(size),
                             places * PLACE + (2 * slices + 1) * sizeof(gko::size_type), places};
         }},
        {"coo",
         [=] {
             std::shared_ptr<Coo> coo = Coo::create(executor);
             csr->convert_to(coo.get());
             return Prepared{coo, "coo", entries * (PLACE + INDEX), entries};
         }},
        {"hybrid",
         [=] {
             std::shared_ptr<Hybrid> hybrid = Hybrid::create(executor);
             csr->convert_to(hybrid.get());
             const std::size_t in_coo = hybrid->get_coo_num_stored_elements();
             const std::size_t in_ell = hybrid->get_ell_num_stored_elements();
             return Prepared{hybrid,
                             "automatic: " + std::to_string(hybrid->get_ell_num_stored_elements_per_row()) +
                                 " columns of ELL, " + std::to_string(in_coo) + " entries of COO",
                             in_ell * PLACE + in_coo * (PLACE + INDEX), in_ell + in_coo};
         }},
    };
}

// What a format is measured with.
template <typename Value>
struct Bench {
    Gpu &gpu;
    const Options &options;
    const Matrix &matrix;
    const std::vector<Exact> &exact;
    const gko::matrix::Dense<Value> &x;
    gko::matrix::Dense<Value> &y;

    // The run as it is recorded, and what is wrong with it, if anything.
    std::pair<std::string, std::string> measure(const Format &format) const {
        const auto seconds = [](auto start) {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        Prepared prepared;
        const auto prepare = [&] {
            gpu.executor->synchronize();
            const auto start = std::chrono::steady_clock::now();
            prepared = format.prepare();
            gpu.executor->synchronize();
            return seconds(start);
        };
        const double first = prepare();
        double warm = first;
        if (first < LONG) {
            prepared = Prepared{};
            warm = prepare();
        }

        // All bits set are NaN, so that an element that is not written shows.
        const std::size_t y_bytes = matrix.rows * sizeof(Value);
        check(cudaMemsetAsync(y.get_values(), 0xff, y_bytes, gpu.executor->get_stream()), "filling y");
        const auto multiply = [&] { prepared.matrix->apply(&x, &y); };
        const Times times = gpu.measure(options, [] {}, multiply);
        const std::size_t vectors = std::size_t(matrix.rows + matrix.columns) * sizeof(Value);
        const std::size_t bytes = prepared.storage + vectors;
        std::optional<Times> cold;
        if (bytes < TIMES_CACHE * gpu.cache_bytes) {
            const auto chill = [&] { check((*gpu.chill)(gpu.executor->get_stream()), "emptying the caches"); };
            cold = gpu.measure(options, chill, multiply);
        }
        std::vector<Value> computed(matrix.rows);
        gpu.host->copy_from(gpu.executor, computed.size(), y.get_const_values(), computed.data());
        const Verification verification = verify(computed, exact);

        std::string wrong;
        if (verification.wrong > 0) {
            wrong = "wrong answer: " + std::to_string(verification.wrong) + " of " + std::to_string(matrix.rows) +
                    " elements of y are farther off than rounding explains";
        }
        const double time = cold ? cold->median : times.median;
        std::ostringstream run;
        run << "{\"completed\": " << (wrong.empty() ? "true" : "false");
        if (!wrong.empty()) {
            run << ", \"error\": " << quoted(wrong);
        }
        run << ", \"library\": " << quoted(library()) << ", \"strategy\": " << quoted(prepared.strategy)
            << ", \"storage\": " << prepared.storage << ", " << times.json();
        if (cold) {
            run << ", \"cold\": {" << cold->json() << "}";
        }
        if (std::isfinite(verification.relative) && std::isfinite(verification.worst)) {
            run << ", \"max_relative_norm2\": " << number(verification.relative)
                << ", \"error_of_bound\": " << number(verification.worst);
        }
        if (time > 0) {
            run << ", \"gflops\": " << number(2e-9 * double(matrix.entries()) / time)
                << ", \"gbps\": " << number(1e-9 * double(bytes) / time);
        }
        if (matrix.entries() > 0) {
            run << ", \"fill_ratio\": " << number(double(prepared.places) / double(matrix.entries()));
        }
        run << ", \"bytes_needed\": " << bytes << ", \"bytes_stored\": " << bytes
            << ", \"conversion\": {\"first\": " << number(first) << ", \"warm\": " << number(warm) << "}}";
        return {run.str(), wrong};
    }

    static std::string library() {
        return "Ginkgo " + std::to_string(GKO_VERSION_MAJOR) + "." + std::to_string(GKO_VERSION_MINOR) + "." +
               std::to_string(GKO_VERSION_PATCH);
    }
};

// A run without a result.
std::string failed(const std::string &library, const std::string &reason, bool refused) {
    return "{\"completed\": false, \"error\": " + quoted(reason) + (refused ? ", \"refused\": true" : "") +
           ", \"library\": " + quoted(library) + "}";
}

// The entry of a matrix in one precision, and whether all went well.
template <typename Value>
std::pair<std::string, bool> measure(Gpu &gpu, const Options &options, const std::string &path, const Matrix &matrix,
                                     const std::string &command) {
    using Csr = gko::matrix::Csr<Value, gko::int32>;
    using Dense = gko::matrix::Dense<Value>;
    const auto library = Bench<Value>::library();
    const auto precision = sizeof(Value) == 4 ? "float32" : "float64";

    std::vector<Value> x(matrix.columns);
    std::mt19937_64 random(SEED);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::generate(x.begin(), x.end(), [&] { return Value(uniform(random)); });
    const auto exact = exact_product(matrix, x);

    const auto on_gpu = [&](auto &elements) {
        using Element = typename std::decay_t<decltype(elements)>::value_type;
        // The library takes arrays to change, though it only reads these.
        auto *data = const_cast<Element *>(elements.data());
        return gko::array<Element>(gpu.executor, gko::array<Element>::view(gpu.host, elements.size(), data));
    };
    const auto vector = [&](std::size_t length) { return gko::dim<2>(length, 1); };
    auto x_on_gpu = Dense::create(gpu.executor, vector(x.size()), on_gpu(x), 1);
    auto y = Dense::create(gpu.executor, vector(matrix.rows), gko::array<Value>(gpu.executor, matrix.rows), 1);
    std::vector<Value> values(matrix.values.begin(), matrix.values.end());
    std::shared_ptr<Csr> csr =
        Csr::create(gpu.executor, gko::dim<2>(matrix.rows, matrix.columns), on_gpu(values), on_gpu(matrix.indices),
                    on_gpu(matrix.offsets), std::make_shared<typename Csr::classical>());
    std::vector<Value>().swap(values);

    const Bench<Value> bench{gpu, options, matrix, exact, *x_on_gpu, *y};
    std::string runs;
    bool right = true;
    for (const Format &format : formats(gpu, csr, matrix.longest_row())) {
        std::string run, reason;
        try {
            std::tie(run, reason) = bench.measure(format);
        } catch (const Refused &refused) {
            run = failed(library, refused.what(), true);
        } catch (const gko::AllocationError &) {
            run = failed(library, "out of memory", true);
        } catch (const std::exception &error) {
            reason = error.what();
            run = failed(library, reason, false);
        }
        if (!reason.empty()) {
            right = false;
            std::cerr << "ginkgo-spmv: " << path << ", " << precision << ", " << format.name << ": "
                      << one_line(reason) << '\n';
        }
        runs += (runs.empty() ? "" : ", ") + quoted(format.name) + ": " + run;
    }

    std::ostringstream entry;
    entry << "{\"filename\": " << quoted(options.name.empty() ? path : options.name) << ", \"rows\": " << matrix.rows
          << ", \"cols\": " << matrix.columns << ", \"nonzeros\": " << matrix.entries() << ", \"spmv\": {" << runs
          << "}, \"env\": {\"executor\": \"cuda\", \"precision\": \"" << precision
          << "\", \"device\": " << quoted(gpu.device) << ", \"cache_bytes\": " << gpu.cache_bytes
          << ", \"threads\": " << std::max(1u, std::thread::hardware_concurrency()) << ", \"version\": "
          << quoted(library) << ", \"index_width\": 32, \"seed\": " << SEED
          << ", \"timer\": \"CUDA events around the call\", \"unix_time\": " << std::time(nullptr)
          << ", \"command\": " << command << "}}";
    return {entry.str(), right};
}

// Writes all entries, to standard output or in place of a file.
void write(const Options &options, const std::vector<std::string> &entries) {
    std::string text = "[";
    for (const std::string &entry : entries) {
        text += (text.size() == 1 ? "\n" : ",\n") + entry;
    }
    text += "\n]\n";
    const std::string part = options.out + ".part";
    std::FILE *file = options.out.empty() ? stdout : std::fopen(part.c_str(), "wb");
    if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) {
        throw std::runtime_error("the results cannot be written");
    }
    if (!options.out.empty() && (std::fclose(file) != 0 || std::rename(part.c_str(), options.out.c_str()) != 0)) {
        throw std::runtime_error("the results cannot be written");
    }
}

[[noreturn]] void misused(const std::string &reason) {
    std::cerr << "ginkgo-spmv: " << reason
              << "; usage: ginkgo-spmv [--precision float32|float64] [--seconds S] [--repetitions N] [--warm-ups N] "
                 "[--name NAME] [--out FILE.json] FILE.npz...\n";
    std::exit(2);
}

Options parse(const std::vector<std::string> &arguments) {
    Options options;
    for (std::size_t place = 0; place < arguments.size(); place++) {
        const std::string &argument = arguments[place];
        const auto value = [&] {
            if (place + 1 == arguments.size()) {
                misused(argument + " takes a value");
            }
            return arguments[++place];
        };
        const auto positive = [&] {
            const std::string text = value();
            char *end = nullptr;
            const double number = std::strtod(text.c_str(), &end);
            if (text.empty() || *end != '\0' || !(number > 0 && number < 1e9)) {
                misused(argument + " takes a positive number, not '" + text + "'");
            }
            return number;
        };
        if (argument == "--precision") {
            options.precisions.push_back(value());
            if (options.precisions.back() != "float32" && options.precisions.back() != "float64") {
                misused("--precision is float32 or float64");
            }
        } else if (argument == "--seconds") {
            options.seconds = positive();
        } else if (argument == "--repetitions") {
            options.repetitions = std::size_t(std::ceil(positive()));
        } else if (argument == "--warm-ups") {
            options.warm_ups = std::size_t(std::ceil(positive()));
        } else if (argument == "--name") {
            options.name = value();
        } else if (argument == "--out") {
            options.out = value();
        } else if (argument.size() > 1 && argument[0] == '-') {
            misused("there is no option " + argument);
        } else {
            options.files.push_back(argument);
        }
    }
    if (options.files.empty()) {
        misused("no matrix is given");
    }
    if (!options.name.empty() && options.files.size() > 1) {
        misused("--name is for one file");
    }
    if (options.precisions.empty()) {
        options.precisions = {"float64", "float32"};
    }
    return options;
}

bool run(const Options &options, const std::string &command) {
    Gpu gpu;
    std::vector<std::string> entries;
    bool right = true;
    for (const std::string &path : options.files) {
        try {
            const Matrix matrix = read_npz(path);
            for (const std::string &precision : options.precisions) {
                const auto [entry, well] = precision == "float32"
                                               ? measure<float>(gpu, options, path, matrix, command)
                                               : measure<double>(gpu, options, path, matrix, command);
                entries.push_back(entry);
                right &= well;
            }
        } catch (const std::exception &error) {
            std::cerr << "ginkgo-spmv: " << path << ": " << one_line(error.what()) << '\n';
            right = false;
        }
        // After each matrix, so that what is measured is not lost when the time is up.
        if (!options.out.empty()) {
            write(options, entries);
        }
    }
    if (options.out.empty()) {
        write(options, entries);
    }
    return right;
}

}  // namespace

int main(int count, char **texts) {
    const std::vector<std::string> arguments(texts + 1, texts + count);
    std::string command = "[" + quoted(texts[0]);
    for (const std::string &argument : arguments) {
        command += ", " + quoted(argument);
    }
    command += "]";
    try {
        return run(parse(arguments), command) ? 0 : 1;
    } catch (const std::exception &error) {
        std::cerr << "ginkgo-spmv: " << one_line(error.what()) << '\n';
        return 1;
    }
}
