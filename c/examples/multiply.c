/* Multiplies a small matrix on the CPU, in the format that the library chooses, and in a given one.
 *
 *     cc -Wall -Wextra -Werror -Iinclude examples/multiply.c -L../target/release -lwarp_spmv_c -o multiply
 */
#include <stdio.h>
#include <stdlib.h>

#include "warp_spmv.h"

/* Exits if a call failed. */
static void check(warp_spmv_status status, const char *what) {
    if (status != WARP_SPMV_STATUS_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, warp_spmv_status_name(status), warp_spmv_last_message());
        exit(EXIT_FAILURE);
    }
}

int main(void) {
    /* 1 0 0
     * 0 2 3, in compressed sparse rows. */
    const int64_t row_offsets[] = {0, 1, 3};
    const int32_t column_indices[] = {0, 1, 2};
    const double values[] = {1.0, 2.0, 3.0};
    const warp_spmv_pattern pattern = {
        .rows = 2,
        .columns = 3,
        .entries = 3,
        .row_offset_type = WARP_SPMV_INDEX_TYPE_INT64,
        .column_index_type = WARP_SPMV_INDEX_TYPE_INT32,
        .row_offsets = row_offsets,
        .column_indices = column_indices,
    };

    warp_spmv_executor cpu;
    check(warp_spmv_executor_create("cpu", 0, &cpu), "executor");

    /* NULL: the default options, which choose the format. */
    warp_spmv_plan plan;
    check(warp_spmv_plan_create_float64(cpu, &pattern, values, NULL, &plan), "plan");
    char format[64];
    check(warp_spmv_plan_format(plan, format, sizeof format, NULL), "format");
    printf("chosen: %s\n", format);

    const double x[] = {1.0, 10.0, 100.0};
    double y[] = {0.5, 0.25};
    check(warp_spmv_plan_apply_float64(plan, 1.0, x, 3, 0.0, y, 2), "product");
    printf("%g %g\n", y[0], y[1]);
    check(warp_spmv_plan_destroy(plan), "plan");

    warp_spmv_options options = warp_spmv_options_default();
    options.format = "sell-p:slice=32";
    options.updates = 1;
    check(warp_spmv_plan_create_float64(cpu, &pattern, values, &options, &plan), "plan");
    check(warp_spmv_plan_apply_float64(plan, 2.0, x, 3, -1.0, y, 2), "product");
    printf("%g %g\n", y[0], y[1]);

    /* New values for the same pattern. */
    const double others[] = {4.0, 5.0, 6.0};
    check(warp_spmv_plan_update_values_float64(plan, others, 3), "new values");
    check(warp_spmv_plan_apply_float64(plan, 1.0, x, 3, 0.0, y, 2), "product");
    printf("%g %g\n", y[0], y[1]);

    /* An invalid call returns an error and changes nothing. */
    if (warp_spmv_plan_apply_float64(plan, 1.0, x, 2, 0.0, y, 2) != WARP_SPMV_STATUS_ARGUMENT) return EXIT_FAILURE;
    printf("%s\n", warp_spmv_last_message());

    check(warp_spmv_plan_destroy(plan), "plan");
    check(warp_spmv_executor_destroy(cpu), "executor");
    return EXIT_SUCCESS;
}
