// Reads a sparse matrix in CSR from a file of `scipy.sparse.save_npz`.

#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#ifdef WITH_ZLIB
#include <zlib.h>
#endif

// A matrix in CSR; its values are as the file has them or wider, which loses nothing.
struct Matrix {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::vector<std::int32_t> offsets;
    std::vector<std::int32_t> indices;
    std::vector<double> values;

    std::size_t entries() const { return values.size(); }

    std::int32_t longest_row() const {
        std::int32_t longest = 0;
        for (std::size_t row = 0; row + 1 < offsets.size(); row++) {
            longest = std::max(longest, offsets[row + 1] - offsets[row]);
        }
        return longest;
    }
};

namespace npz {

struct Unreadable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A file in memory.
class Mapped {
public:
    explicit Mapped(const std::string &path) {
        const int file = open(path.c_str(), O_RDONLY);
        struct stat status {};
        if (file < 0 || fstat(file, &status) != 0) {
            const std::string reason = std::strerror(errno);
            if (file >= 0) {
                close(file);
            }
            throw Unreadable(reason);
        }
        bytes = std::size_t(status.st_size);
        // Pages are read ahead at once: the whole file is needed.
        void *mapped = bytes > 0 ? mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0) : MAP_FAILED;
        close(file);
        if (mapped == MAP_FAILED) {
            throw Unreadable("the file is empty or cannot be mapped");
        }
        begin = static_cast<const char *>(mapped);
    }
    Mapped(const Mapped &) = delete;
    Mapped &operator=(const Mapped &) = delete;
    ~Mapped() { munmap(const_cast<char *>(begin), bytes); }

    std::string_view text() const { return {begin, bytes}; }

private:
    const char *begin = nullptr;
    std::size_t bytes = 0;
};

// A part of a text, checked.
inline std::string_view part(std::string_view text, std::uint64_t first, std::uint64_t length) {
    if (first > text.size() || length > text.size() - first) {
        throw Unreadable("the file is truncated");
    }
    return text.substr(first, length);
}

// A little-endian number at a place.
template <typename Number>
Number number(std::string_view text, std::uint64_t place) {
    Number number;
    std::memcpy(&number, part(text, place, sizeof number).data(), sizeof number);
    return number;
}

// A file of the archive.
struct Member {
    std::string_view stored;
    std::uint64_t size = 0;
    std::uint16_t method = 0;
};

// The files of a ZIP archive by name, from its central directory; with 64-bit sizes where there are any.
inline std::map<std::string, Member> members(std::string_view archive) {
    constexpr std::size_t END_BYTES = 22;
    const std::size_t end = archive.rfind(std::string_view("PK\5\6", 4));
    if (end == std::string_view::npos || archive.size() - end < END_BYTES) {
        throw Unreadable("this is no .npz file");
    }
    std::uint64_t count = number<std::uint16_t>(archive, end + 10);
    std::uint64_t place = number<std::uint32_t>(archive, end + 16);
    constexpr std::size_t LOCATOR_BYTES = 20;
    if (end >= LOCATOR_BYTES && archive.substr(end - LOCATOR_BYTES, 4) == std::string_view("PK\6\7", 4)) {
        const auto wide_end = number<std::uint64_t>(archive, end - LOCATOR_BYTES + 8);
        count = number<std::uint64_t>(archive, wide_end + 32);
        place = number<std::uint64_t>(archive, wide_end + 48);
    }
    std::map<std::string, Member> found;
    for (std::uint64_t left = count; left > 0; left--) {
        if (part(archive, place, 4) != std::string_view("PK\1\2", 4)) {
            throw Unreadable("the archive's directory is damaged");
        }
        Member member;
        member.method = number<std::uint16_t>(archive, place + 10);
        std::uint64_t stored = number<std::uint32_t>(archive, place + 20);
        member.size = number<std::uint32_t>(archive, place + 24);
        const auto name_bytes = number<std::uint16_t>(archive, place + 28);
        const auto extra_bytes = number<std::uint16_t>(archive, place + 30);
        const auto comment_bytes = number<std::uint16_t>(archive, place + 32);
        std::uint64_t local = number<std::uint32_t>(archive, place + 42);
        const std::string_view name = part(archive, place + 46, name_bytes);
        const std::string_view extra = part(archive, place + 46 + name_bytes, extra_bytes);
        for (std::size_t field = 0; field + 4 <= extra.size();) {
            const auto length = number<std::uint16_t>(extra, field + 2);
            if (number<std::uint16_t>(extra, field) == 1) {
                // The 64-bit fields that are there: those that are all ones in the directory.
                std::size_t at = field + 4;
                for (std::uint64_t *narrow : {&member.size, &stored, &local}) {
                    if (*narrow == std::numeric_limits<std::uint32_t>::max()) {
                        *narrow = number<std::uint64_t>(extra, at);
                        at += 8;
                    }
                }
            }
            field += 4 + length;
        }
        const std::uint64_t local_bytes =
            30 + std::uint64_t(number<std::uint16_t>(archive, local + 26)) + number<std::uint16_t>(archive, local + 28);
        member.stored = part(archive, local + local_bytes, stored);
        found[std::string(name)] = member;
        place += 46 + std::uint64_t(name_bytes) + extra_bytes + comment_bytes;
    }
    return found;
}

// An array of NumPy's.
struct Array {
    std::string type;
    std::string_view data;
    // Keeps what was decompressed.
    std::shared_ptr<std::vector<char>> owned;

    std::size_t length(std::size_t bytes_each) const { return data.size() / bytes_each; }

    // All elements, converted; only from types that are in .npz files of sparse matrices.
    template <typename To>
    std::vector<To> elements() const {
        if (type == "<f8") return converted<double, To>();
        if (type == "<f4") return converted<float, To>();
        if (type == "<i8") return converted<std::int64_t, To>();
        if (type == "<i4") return converted<std::int32_t, To>();
        throw Unreadable("an array has elements of type " + type + ", expected <f8, <f4, <i8 or <i4");
    }

private:
    template <typename From, typename To>
    std::vector<To> converted() const {
        if (std::is_integral_v<To> && !std::is_integral_v<From>) {
            throw Unreadable("indices are not integers");
        }
        std::vector<To> all(length(sizeof(From)));
        for (std::size_t place = 0; place < all.size(); place++) {
            From element;
            // The arrays of an archive are not aligned.
            std::memcpy(&element, data.data() + place * sizeof(From), sizeof(From));
            if constexpr (sizeof(To) < sizeof(From)) {
                if (element != From(To(element))) {
                    throw Unreadable("an index does not fit into 32 bits");
                }
            }
            all[place] = To(element);
        }
        return all;
    }
};

inline Array array(const std::map<std::string, Member> &archive, const std::string &name) {
    const auto found = archive.find(name + ".npy");
    if (found == archive.end()) {
        throw Unreadable("the archive has no " + name + ".npy");
    }
    const Member &member = found->second;
    Array array;
    std::string_view text = member.stored;
    if (member.method != 0) {
#ifdef WITH_ZLIB
        array.owned = std::make_shared<std::vector<char>>(member.size);
        z_stream stream{};
        inflateInit2(&stream, -MAX_WBITS);
        // zlib counts in 32 bits.
        constexpr std::uint64_t AT_ONCE = 1u << 30;
        std::uint64_t read = 0, written = 0;
        int state = Z_OK;
        while (state == Z_OK) {
            stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data() + read));
            stream.next_out = reinterpret_cast<Bytef *>(array.owned->data() + written);
            const auto in = stream.avail_in = uInt(std::min<std::uint64_t>(AT_ONCE, text.size() - read));
            const auto out = stream.avail_out = uInt(std::min<std::uint64_t>(AT_ONCE, member.size - written));
            state = inflate(&stream, Z_NO_FLUSH);
            read += in - stream.avail_in;
            written += out - stream.avail_out;
        }
        inflateEnd(&stream);
        if (member.method != 8 || state != Z_STREAM_END || written != member.size) {
            throw Unreadable(name + ".npy cannot be decompressed");
        }
        text = {array.owned->data(), array.owned->size()};
#else
        throw Unreadable("the file is compressed: save it with save_npz(..., compressed=False)");
#endif
    }
    if (part(text, 0, 6) != std::string_view("\x93NUMPY", 6)) {
        throw Unreadable(name + ".npy is no array");
    }
    const bool first_version = number<std::uint8_t>(text, 6) == 1;
    const std::uint64_t header_begin = first_version ? 10 : 12;
    const std::uint64_t header_bytes =
        first_version ? number<std::uint16_t>(text, 8) : number<std::uint32_t>(text, 8);
    const std::string_view header = part(text, header_begin, header_bytes);
    const std::size_t key = header.find("'descr'");
    const std::size_t quote = key == std::string_view::npos ? key : header.find('\'', key + 7);
    const std::size_t closing = quote == std::string_view::npos ? quote : header.find('\'', quote + 1);
    if (closing == std::string_view::npos) {
        throw Unreadable(name + ".npy does not say the type of its elements");
    }
    array.type = header.substr(quote + 1, closing - quote - 1);
    array.data = text.substr(header_begin + header_bytes);
    return array;
}

}  // namespace npz

// The matrix of a file. Throws what says why it cannot be had.
inline Matrix read_npz(const std::string &path) {
    const npz::Mapped file(path);
    const auto archive = npz::members(file.text());
    if (npz::array(archive, "format").data.substr(0, 3) != "csr") {
        throw npz::Unreadable("the matrix is not in CSR");
    }
    const auto shape = npz::array(archive, "shape").elements<std::int64_t>();
    Matrix matrix;
    matrix.offsets = npz::array(archive, "indptr").elements<std::int32_t>();
    matrix.indices = npz::array(archive, "indices").elements<std::int32_t>();
    matrix.values = npz::array(archive, "data").elements<double>();
    if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0) {
        throw npz::Unreadable("the shape is not that of a matrix");
    }
    matrix.rows = shape[0];
    matrix.columns = shape[1];
    // A GPU would read anywhere.
    const auto &offsets = matrix.offsets;
    const bool whole = offsets.size() == std::size_t(matrix.rows) + 1 && offsets.front() == 0 &&
                       std::size_t(offsets.back()) == matrix.entries() && matrix.indices.size() == matrix.entries() &&
                       std::is_sorted(offsets.begin(), offsets.end());
    const auto inside = [&](std::int32_t column) { return column >= 0 && column < matrix.columns; };
    if (!whole || !std::all_of(matrix.indices.begin(), matrix.indices.end(), inside)) {
        throw npz::Unreadable("the arrays are not those of a matrix in CSR");
    }
    return matrix;
}
