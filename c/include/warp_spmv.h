/* Sparse matrix-vector multiplication (SpMV), y <- alpha A x + beta y, on NVIDIA GPUs and on the CPU.
 *
 * A call that works on a GPU leaves the calling thread the current CUDA context that it had.
 *
 * Made by cbindgen from the sources of warp-spmv-c, whose README.md says how to use it. */

#ifndef WARP_SPMV_H
#define WARP_SPMV_H

#include <stddef.h>
#include <stdint.h>

// What came of a call. `warp_spmv_last_message` says more.
typedef enum warp_spmv_status {
  // It did what it was asked for.
  WARP_SPMV_STATUS_OK = 0,
  // A handle is none, was destroyed, or belongs to something else.
  WARP_SPMV_STATUS_HANDLE = 1,
  // An argument is NULL, not aligned, not a text, or out of range, or a vector has the wrong length.
  WARP_SPMV_STATUS_ARGUMENT = 2,
  // The plan has numbers of another type.
  WARP_SPMV_STATUS_NUMBER_TYPE = 3,
  // The arrays of a matrix contradict each other or its shape.
  WARP_SPMV_STATUS_MATRIX = 4,
  // A number of rows, columns or entries is beyond what can be indexed.
  WARP_SPMV_STATUS_TOO_LARGE = 5,
  // The format cannot do it, or would take too much padding.
  WARP_SPMV_STATUS_FORMAT = 6,
  // Memory has run out.
  WARP_SPMV_STATUS_MEMORY = 7,
  // The executor cannot be had on this machine, or in this build.
  WARP_SPMV_STATUS_UNAVAILABLE = 8,
  // The device failed.
  WARP_SPMV_STATUS_DEVICE = 9,
  // A fault of this library.
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

// A handle of an executor: where matrices are, and where they are multiplied.
typedef struct warp_spmv_executor {
  // 0 for none. No other object ever has the same.
  uint64_t id;
} warp_spmv_executor;

// The pattern of a matrix in compressed sparse rows (CSR), in arrays that the program owns. They are copied when a plan is
// made of them by a function that does not say otherwise.
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
  // Where each row begins, counted from where the first one does, and where the last one ends: rows + 1 numbers.
  const void *row_offsets;
  // The column of each entry, counted from 0; in any order within a row. NULL where there is no entry.
  const void *column_indices;
  // For later versions: all 0, or it is an error. An initializer that names the fields above makes them 0.
  uint64_t reserved[4];
} warp_spmv_pattern;

// How a plan is made. `warp_spmv_options_default` fills it in; NULL in place of a pointer to it means the same.
typedef struct warp_spmv_options {
  // The format, such as "csr-vector" or "sell-p:slice=32"; NULL for the one that is predicted to be the fastest.
  const char *format;
  // How many multiplications the matrix is for, by which a format is chosen; 0 for 1,000.
  uint64_t multiplications;
  // Bytes that the arrays of the matrix may take in a format that is chosen; 0 for no limit.
  uint64_t memory_budget;
  // Not 0 where the same call must give the same bits every time, in every run of the program: formats that add in any
  // order are an error then, and none is chosen by how fast it was.
  int32_t reproducible;
  // Not 0 where `warp_spmv_plan_update_values_float32` or `_float64` will be called: in formats other than CSR and COO, the
  // plan then keeps the pattern of the matrix.
  int32_t updates;
  // 0: a format is chosen by what is known of the matrix and the device; nothing is measured, and a matrix gets the same
  // format each time on a device, on a CPU with the same number of threads. 1: where that leaves it open which format is
  // the fastest, and there is no `memory_budget`, candidates are timed; an error where `reproducible` is not 0. Neither
  // reads or writes a file of the user.
  int32_t measure;
  // How the values are stored: "full" or NULL as they are computed with; "lossless" in the narrowest type that keeps all
  // their bits, if there is one; "automatic" so on a GPU where that is worth its time, if the format is chosen; or rounded
  // to a type, such as "float32". There are no new values for narrow ones.
  const char *values;
  // For later versions: all 0, or it is an error.
  uint32_t reserved[6];
} warp_spmv_options;

// A handle of a plan: a matrix on an executor, ready to be multiplied.
typedef struct warp_spmv_plan {
  // 0 for none. No other object ever has the same.
  uint64_t id;
} warp_spmv_plan;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes an executor of an NVIDIA GPU that queues everything on a stream of the program's, in a context of the program's:
// `context` is a `CUcontext`, or NULL for the one that is current on the calling thread, as in programs that use CUDA's
// runtime; `stream` is a `CUstream` or `cudaStream_t` of that context. NULL and 1 are the legacy default stream; 2 is that
// of the calling thread, and every other thread that uses the executor gets DEVICE. Neither is destroyed by this library.
// Where the status is not OK, `executor` is not written.
//
// # Safety
// `executor` is NULL or memory for a handle. Context and stream exist until the executor and its plans are destroyed, and
// what they queued is done.
enum warp_spmv_status warp_spmv_executor_create_on_stream(void *context,
                                                          void *stream,
                                                          struct warp_spmv_executor *executor);

// Makes a plan of a matrix with values of type `float`, whose arrays are in the memory of the executor's GPU: `pattern` is in
// the host's memory, and has device pointers; its row offsets begin with 0. In formats of CSR and COO, the arrays are used
// where they lie, except column indices of 64 bits, and row offsets of 64 bits where 32 would do, which are copied. Row
// offsets and column indices are checked, on the host. What fills the arrays is queued on `stream`, a `CUstream` or
// `cudaStream_t`, before the call; what is queued there after it comes when they have been read, where that is done once.
// Otherwise as `warp_spmv_plan_create_float32`.
//
// # Safety
// `pattern`, `options` and `plan` as for `warp_spmv_plan_create_float32`. The device pointers are those of arrays as long as
// `pattern` says, of the types that it says, and `stream` exists. As long as the plan does, in formats of CSR and COO, the
// arrays are there, and nobody writes row offsets and column indices.
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

// y <- alpha A x + beta y, with vectors in the memory of the plan's GPU, which are used where they lie. The product comes
// after what is queued on `stream`, a `CUstream` or `cudaStream_t`, and before what is queued there later; the call returns
// when it is queued. Otherwise as `warp_spmv_plan_apply_float32`.
//
// # Safety
// `x` and `y` are those of arrays of `x_length` and `y_length` elements, which are there until the product is done, and
// `stream` exists. Nothing else uses y or writes x meanwhile.
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
// `warp_spmv_plan_apply_device_float32` does. They are copied there; values that the plan was made of and uses where they
// lie stay what they are. Otherwise as `warp_spmv_plan_update_values_float32`.
//
// # Safety
// `values` is that of an array of `length` elements, which are there and not written until they have been copied, and
// `stream` exists.
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

// Makes an executor: "cpu" for all cores of the host, "cuda" for the NVIDIA GPU of number `device`, "emulated" for the
// GPU's kernels on the host, for tests, and "reference" for sums in twice the precision on one core. `device` is 0 for all
// but "cuda". Where the status is not OK, `executor` is not written.
//
// # Safety
// `name` is NULL or a text that ends with a 0, and `executor` is NULL or memory for a handle.
enum warp_spmv_status warp_spmv_executor_create(const char *name,
                                                uint32_t device,
                                                struct warp_spmv_executor *executor);

// Ends an executor. Plans on it go on: they have handles of their own.
enum warp_spmv_status warp_spmv_executor_destroy(struct warp_spmv_executor executor);

// The options of a plan that chooses its format.
struct warp_spmv_options warp_spmv_options_default(void);

// Makes a plan of a matrix with values of type `float`: copies it to the executor, chooses a format unless `options` name
// one, and converts it. `options` may be NULL. Where the status is not OK, `plan` is not written.
//
// # Safety
// Each pointer, also those in `pattern` and `options`, is NULL or that of what it is called, as long as `pattern` says, of
// the types that it says; and no other thread writes any of it during the call.
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

// y <- alpha A x + beta y, with vectors in the host's memory: on the host they are used where they lie, on a GPU they are
// copied there, and y back. With beta = 0, what y had is overwritten and does not count, be it NaN. x has an element for each
// column of the matrix, y one for each row; other lengths are an error, and so are vectors that overlap. Returns when y is
// there. Where the status is not OK, y is what it was, unless it is DEVICE or INTERNAL: then it may be partly written.
//
// # Safety
// `x` and `y` are NULL or those of arrays of `x_length` and `y_length` elements, all of which have been given a value: also
// those of y where beta = 0. No other thread uses y or writes x during the call.
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

// Gives the matrix of a plan new values, one for each of its entries, in their order. The pattern stays. The plan must have
// been made with `updates` in its options, unless its format is CSR or COO; then the values are copied and nothing else is
// done, while other formats are converted to again. Where the status is not OK, the values are the old ones.
//
// # Safety
// `values` is NULL or that of an array of `length` elements, which no other thread writes during the call.
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

// The format of a plan, which was named or chosen: as much of its text as has room in `capacity` bytes, and a 0. `length`
// gets the bytes of the whole text without the 0; it may be NULL.
//
// # Safety
// `buffer` is NULL or that of `capacity` bytes, and `length` NULL or memory for a number.
enum warp_spmv_status warp_spmv_plan_format(struct warp_spmv_plan plan,
                                            char *buffer,
                                            size_t capacity,
                                            size_t *length);

// The shape of a plan's matrix, and the number of its stored entries.
//
// # Safety
// Each pointer is NULL or memory for a number.
enum warp_spmv_status warp_spmv_plan_shape(struct warp_spmv_plan plan, size_t *rows, size_t *columns, size_t *entries);

// Ends a plan. A call of another thread that is using it is not disturbed.
enum warp_spmv_status warp_spmv_plan_destroy(struct warp_spmv_plan plan);

// The message of the last call of this thread that failed: one line, in UTF-8; empty where none has. It is there until
// another call of this thread fails, or the thread ends.
const char *warp_spmv_last_message(void);

// The name of a status, such as "argument"; of a number that is none, "unknown".
const char *warp_spmv_status_name(int32_t status);

// The version of this library, such as "0.1.0".
const char *warp_spmv_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WARP_SPMV_H */
