/* Sparse matrix-vector multiplication (SpMV), y <- alpha A x + beta y, on NVIDIA GPUs and on the CPU.
 *
 * A call that works on a GPU leaves the calling thread the current CUDA context that it had.
 *
 * Made by cbindgen from the sources of warp-spmv-c, whose README.md says how to use it. */

#ifndef WARP_SPMV_H
#define WARP_SPMV_H

#include <stddef.h>
#include <stdint.h>

// The result of a call. `warp_spmv_last_message` gives details.
typedef enum warp_spmv_status {
  // The call succeeded.
  WARP_SPMV_STATUS_OK = 0,
  // A handle is invalid, was destroyed, or is of another kind.
  WARP_SPMV_STATUS_HANDLE = 1,
  // An argument is NULL, not aligned, not a string, or out of range, or a vector has the wrong length.
  WARP_SPMV_STATUS_ARGUMENT = 2,
  // The plan's numbers are of another type.
  WARP_SPMV_STATUS_NUMBER_TYPE = 3,
  // The arrays of a matrix contradict each other or its shape.
  WARP_SPMV_STATUS_MATRIX = 4,
  // A number of rows, columns or entries is too large to be indexed.
  WARP_SPMV_STATUS_TOO_LARGE = 5,
  // The format does not support the operation, or would take too much padding.
  WARP_SPMV_STATUS_FORMAT = 6,
  // Memory has run out.
  WARP_SPMV_STATUS_MEMORY = 7,
  // The executor is not available on this machine, or in this build.
  WARP_SPMV_STATUS_UNAVAILABLE = 8,
  // The device failed.
  WARP_SPMV_STATUS_DEVICE = 9,
  // A bug in this library.
  WARP_SPMV_STATUS_INTERNAL = 10,
} warp_spmv_status;

// The type of the elements of an index array.
typedef enum warp_spmv_index_type {
  // `int32_t`
  WARP_SPMV_INDEX_TYPE_INT32 = 0,
  // `int64_t`
  WARP_SPMV_INDEX_TYPE_INT64 = 1,
  // `uint32_t`
  WARP_SPMV_INDEX_TYPE_UINT32 = 2,
  // `uint64_t`
  WARP_SPMV_INDEX_TYPE_UINT64 = 3,
} warp_spmv_index_type;

// A handle of an executor: where matrices are stored and multiplied.
typedef struct warp_spmv_executor {
  // 0 for none. Unique among all objects ever created.
  uint64_t id;
} warp_spmv_executor;

// The pattern of a matrix in compressed sparse rows (CSR), in arrays that the program owns. They are copied when a plan is
// made from them, unless the function's description says otherwise.
typedef struct warp_spmv_pattern {
  // Number of rows.
  size_t rows;
  // Number of columns.
  size_t columns;
  // Number of stored entries.
  size_t entries;
  // The type of `row_offsets`: a `warp_spmv_index_type`.
  int32_t row_offset_type;
  // The type of `column_indices`: a `warp_spmv_index_type`.
  int32_t column_index_type;
  // Start of each row, relative to the start of the first, followed by the end of the last: rows + 1 numbers.
  const void *row_offsets;
  // The zero-based column of each entry, in any order within a row. NULL without entries.
  const void *column_indices;
  // For later versions: must be all 0. An initializer that names the fields above makes them 0.
  uint64_t reserved[4];
} warp_spmv_pattern;

// Options of a plan. `warp_spmv_options_default` fills them in; NULL instead of a pointer to them means the same.
typedef struct warp_spmv_options {
  // The format, such as "csr-vector" or "sell-p:slice=32"; NULL for the one predicted to be the fastest.
  const char *format;
  // Number of multiplications planned with the matrix, for the choice of a format; 0 for 1,000.
  uint64_t multiplications;
  // Maximum number of bytes for the arrays of the matrix in a chosen format; 0 for no limit.
  uint64_t memory_budget;
  // Nonzero if the same call must give the same bits every time, in every run of the program: formats that add in any
  // order are then errors, and no format is chosen by its measured speed.
  int32_t reproducible;
  // Nonzero if `warp_spmv_plan_update_values_float32` or `_float64` will be called: in formats other than CSR and COO,
  // the plan then keeps the pattern of the matrix.
  int32_t updates;
  // 0: a format is chosen from known properties of the matrix and the device; nothing is measured, and a matrix gets the
  // same format each time on a device, on a CPU with the same number of threads. 1: if it remains open which format is
  // the fastest, and there is no `memory_budget`, candidates are timed; an error if `reproducible` is nonzero. Neither
  // reads or writes a file of the user.
  int32_t measure;
  // How the values are stored: "full" or NULL as they are computed with; "lossless" in the narrowest type that keeps all
  // their bits, if there is one; "automatic" the same, but only on a GPU, if it is worth its time and the format is
  // chosen; or rounded to a type, such as "float32". Narrow values cannot be updated.
  const char *values;
  // For later versions: must be all 0.
  uint32_t reserved[6];
} warp_spmv_options;

// A handle of a plan: a matrix on an executor, ready for multiplication.
typedef struct warp_spmv_plan {
  // 0 for none. Unique among all objects ever created.
  uint64_t id;
} warp_spmv_plan;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates an executor on an NVIDIA GPU that queues all work on a stream of the program, in a context of the program:
// `context` is a `CUcontext`, or NULL for the calling thread's current one, as in programs that use CUDA's runtime;
// `stream` is a `CUstream` or `cudaStream_t` of that context. NULL and 1 are the legacy default stream; 2 is the calling
// thread's, and every other thread that uses the executor gets DEVICE. This library destroys neither. Unless the status is
// OK, `executor` is not written.
//
// # Safety
// `executor` must be NULL or memory for a handle. The context and the stream must exist until the executor and its plans
// are destroyed and their queued work is done.
enum warp_spmv_status warp_spmv_executor_create_on_stream(void *context,
                                                          void *stream,
                                                          struct warp_spmv_executor *executor);

// Creates a plan of a matrix with values of type `float`, whose arrays are in the memory of the executor's GPU: `pattern`
// is in host memory, and holds device pointers; its row offsets begin with 0. In CSR and COO formats the arrays are used in
// place, except for 64-bit column indices, and 64-bit row offsets where 32 bits suffice, which are copied. Row offsets and
// column indices are checked on the host. Work that fills the arrays must be queued on `stream`, a `CUstream` or
// `cudaStream_t`, before the call; work queued there later comes after the arrays have been read, if they are read once.
// Otherwise as `warp_spmv_plan_create_float32`.
//
// # Safety
// `pattern`, `options` and `plan` as for `warp_spmv_plan_create_float32`. The device pointers must be those of arrays with
// the lengths and types given in `pattern`, and `stream` must exist. In CSR and COO formats, the arrays must exist as long
// as the plan does, and row offsets and column indices must not be written.
enum warp_spmv_status warp_spmv_plan_create_device_float32(struct warp_spmv_executor executor,
                                                           const struct warp_spmv_pattern *pattern,
                                                           const float *values,
                                                           const struct warp_spmv_options *options,
                                                           void *stream,
                                                           struct warp_spmv_plan *plan);

// `warp_spmv_plan_create_device_float32` for values of type `double`.
//
// # Safety
// As for `warp_spmv_plan_create_device_float32`.
enum warp_spmv_status warp_spmv_plan_create_device_float64(struct warp_spmv_executor executor,
                                                           const struct warp_spmv_pattern *pattern,
                                                           const double *values,
                                                           const struct warp_spmv_options *options,
                                                           void *stream,
                                                           struct warp_spmv_plan *plan);

// y <- alpha A x + beta y, with vectors in the memory of the plan's GPU, used in place. The product comes after all work
// already queued on `stream`, a `CUstream` or `cudaStream_t`, and before all work queued there later; the call returns once
// it is queued. Otherwise as `warp_spmv_plan_apply_float32`.
//
// # Safety
// `x` and `y` must be arrays of `x_length` and `y_length` elements that exist until the product is done, and `stream` must
// exist. Nothing else may use y or write x meanwhile.
enum warp_spmv_status warp_spmv_plan_apply_device_float32(struct warp_spmv_plan plan,
                                                          float alpha,
                                                          const float *x,
                                                          size_t x_length,
                                                          float beta,
                                                          float *y,
                                                          size_t y_length,
                                                          void *stream);

// `warp_spmv_plan_apply_device_float32` for a plan with numbers of type `double`.
//
// # Safety
// As for `warp_spmv_plan_apply_device_float32`.
enum warp_spmv_status warp_spmv_plan_apply_device_float64(struct warp_spmv_plan plan,
                                                          double alpha,
                                                          const double *x,
                                                          size_t x_length,
                                                          double beta,
                                                          double *y,
                                                          size_t y_length,
                                                          void *stream);

// Gives the matrix of a plan new values that are in the memory of its GPU, in the order of `stream` as
// `warp_spmv_plan_apply_device_float32` does. They are copied there; values from which the plan was made and that it uses
// in place are left unchanged. Otherwise as `warp_spmv_plan_update_values_float32`.
//
// # Safety
// `values` must be an array of `length` elements that exists and is not written until it has been copied, and `stream`
// must exist.
enum warp_spmv_status warp_spmv_plan_update_values_device_float32(struct warp_spmv_plan plan,
                                                                  const float *values,
                                                                  size_t length,
                                                                  void *stream);

// `warp_spmv_plan_update_values_device_float32` for a plan with numbers of type `double`.
//
// # Safety
// As for `warp_spmv_plan_update_values_device_float32`.
enum warp_spmv_status warp_spmv_plan_update_values_device_float64(struct warp_spmv_plan plan,
                                                                  const double *values,
                                                                  size_t length,
                                                                  void *stream);

// Creates an executor: "cpu" for all cores of the host, "cuda" for the NVIDIA GPU with number `device`, "emulated" for the
// GPU's kernels on the host, for tests, and "reference" for sums in twice the precision on one core. `device` is 0 for all
// but "cuda". Unless the status is OK, `executor` is not written.
//
// # Safety
// `name` must be NULL or a null-terminated string, and `executor` must be NULL or memory for a handle.
enum warp_spmv_status warp_spmv_executor_create(const char *name,
                                                uint32_t device,
                                                struct warp_spmv_executor *executor);

// Destroys an executor. Plans on it remain valid: they have handles of their own.
enum warp_spmv_status warp_spmv_executor_destroy(struct warp_spmv_executor executor);

// The default options, which let the plan choose its format.
struct warp_spmv_options warp_spmv_options_default(void);

// Creates a plan of a matrix with values of type `float`: copies it to the executor, chooses a format unless `options` name
// one, and converts it. `options` may be NULL. Unless the status is OK, `plan` is not written.
//
// # Safety
// Each pointer, including those in `pattern` and `options`, must be NULL or point to what its name says, with the lengths
// and types given in `pattern`; and no other thread may write to any of it during the call.
enum warp_spmv_status warp_spmv_plan_create_float32(struct warp_spmv_executor executor,
                                                    const struct warp_spmv_pattern *pattern,
                                                    const float *values,
                                                    const struct warp_spmv_options *options,
                                                    struct warp_spmv_plan *plan);

// `warp_spmv_plan_create_float32` for values of type `double`.
//
// # Safety
// As for `warp_spmv_plan_create_float32`.
enum warp_spmv_status warp_spmv_plan_create_float64(struct warp_spmv_executor executor,
                                                    const struct warp_spmv_pattern *pattern,
                                                    const double *values,
                                                    const struct warp_spmv_options *options,
                                                    struct warp_spmv_plan *plan);

// y <- alpha A x + beta y, with vectors in host memory: on the host they are used in place; for a GPU they are copied
// there, and y back. With beta = 0, the old content of y, even NaN, is ignored and overwritten. x has an element per column
// of the matrix, y one per row; other lengths are errors, and so are vectors that overlap. Returns when y is complete.
// Unless the status is OK, y is unchanged; but with DEVICE or INTERNAL it may be partly written.
//
// # Safety
// `x` and `y` must be NULL or arrays of `x_length` and `y_length` elements, all of them initialized, including those of y
// with beta = 0. No other thread may use y or write x during the call.
enum warp_spmv_status warp_spmv_plan_apply_float32(struct warp_spmv_plan plan,
                                                   float alpha,
                                                   const float *x,
                                                   size_t x_length,
                                                   float beta,
                                                   float *y,
                                                   size_t y_length);

// `warp_spmv_plan_apply_float32` for a plan with numbers of type `double`.
//
// # Safety
// As for `warp_spmv_plan_apply_float32`.
enum warp_spmv_status warp_spmv_plan_apply_float64(struct warp_spmv_plan plan,
                                                   double alpha,
                                                   const double *x,
                                                   size_t x_length,
                                                   double beta,
                                                   double *y,
                                                   size_t y_length);

// Gives the matrix of a plan new values, one per entry, in the order of the entries. The pattern stays. The plan must have
// been made with `updates` in its options, unless its format is CSR or COO; in these formats the values are simply copied,
// whereas for others the matrix is converted again. Unless the status is OK, the values are unchanged.
//
// # Safety
// `values` must be NULL or an array of `length` elements, which no other thread may write during the call.
enum warp_spmv_status warp_spmv_plan_update_values_float32(struct warp_spmv_plan plan,
                                                           const float *values,
                                                           size_t length);

// `warp_spmv_plan_update_values_float32` for a plan with numbers of type `double`.
//
// # Safety
// As for `warp_spmv_plan_update_values_float32`.
enum warp_spmv_status warp_spmv_plan_update_values_float64(struct warp_spmv_plan plan,
                                                           const double *values,
                                                           size_t length);

// Writes the format of a plan, named or chosen, to `buffer`: as much of its text as fits into `capacity` bytes, with a
// terminating 0. `length` receives the number of bytes of the whole text without the 0; it may be NULL.
//
// # Safety
// `buffer` must be NULL or point to `capacity` bytes, and `length` must be NULL or memory for a number.
enum warp_spmv_status warp_spmv_plan_format(struct warp_spmv_plan plan, char *buffer, size_t capacity, size_t *length);

// Writes the shape of a plan's matrix, and the number of its stored entries.
//
// # Safety
// Each pointer must be NULL or memory for a number.
enum warp_spmv_status warp_spmv_plan_shape(struct warp_spmv_plan plan, size_t *rows, size_t *columns, size_t *entries);

// Destroys a plan. A call of another thread that is using it is not affected.
enum warp_spmv_status warp_spmv_plan_destroy(struct warp_spmv_plan plan);

// The message of this thread's last failed call: one line, in UTF-8; empty if no call has failed. It is valid until
// another call of this thread fails, or the thread ends.
const char *warp_spmv_last_message(void);

// The name of a status, such as "argument"; "unknown" for any other number.
const char *warp_spmv_status_name(int32_t status);

// The version of this library, such as "0.1.0".
const char *warp_spmv_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WARP_SPMV_H */
