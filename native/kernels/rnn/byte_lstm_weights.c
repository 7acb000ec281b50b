/* Weights of an LSTM as int8: a scale for each row of a gate, the same in all layers and
 * directions, and the layout that the time steps read (ndrt_byte_lstm.h). */
#include <math.h>
#include <string.h>

#include "kernels/ndrt_bytes.h"
#include "kernels/ndrt_vector.h"
#include "ndrt_args.h"
#include "ndrt_byte_lstm.h"

typedef const ndrt_kernel_call kernel_call;

enum { GATES = NDRT_LSTM_GATES };

/* What weights of a row are multiplied by, of whose numbers this is the greatest; NaN says
 * nothing. */
static float scale_of(float most) {
    const float made = 127.0f / most;
    return most > 0.0f && !isinf(made) ? made : 1.0f;
}

static void row_most(kernel_call *call) {
    const ndrt_row_most_args job = ndrt_read_row_most(call);
    for (int64_t r = 0; r < job.rows; r++) {
        const float *data = job.data + r * job.width;
        float most = job.most[r];
        int is_nan = most != most;
#pragma omp simd reduction(max : most) reduction(| : is_nan)
        for (int64_t i = 0; i < job.width; i++) {
            const float x = fabsf(data[i]);
            most = x > most ? x : most;
            is_nan |= x != x;
        }
        job.most[r] = is_nan ? NAN : most;
    }
}

static void round_rows(kernel_call *call) {
    const ndrt_round_rows_args job = ndrt_read_round_rows(call);
    for (int64_t r = 0; r < job.rows; r++) {
        const float *data = job.data + r * job.width, scale = scale_of(job.most[r]);
        int8_t *out = (int8_t *)job.out + r * job.width;
#pragma omp simd
        for (int64_t i = 0; i < job.width; i++) out[i] = ndrt_to_s8(data[i] * scale);
    }
}

static int32_t sum_of(const int8_t *data, int64_t n) {
    int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += data[i];
    return sum;
}

static void pack_byte_lstm(kernel_call *call) {
    const ndrt_pack_byte_lstm_args job = ndrt_read_pack_byte_lstm(call);
    const int64_t size = job.size, unit = ndrt_lstm_unit(size, LANES);
    const int8_t *h2h = job.h2h, *i2h = job.i2h;
    const ndrt_lstm_rows rows = ndrt_lstm_rows_of(job.out, size, LANES);
    memset(job.out, 0, (size_t)ndrt_lstm_units(size, LANES));
    for (int64_t r = 0; r < GATES * size; r++) {
        const int64_t gate = r / size, element = r % size;
        int8_t *out = (int8_t *)job.out + element / LANES * unit + gate * 2 * LANES;
        for (int64_t k = 0; k < size; k++)
            out[k / 2 * 2 * GATES * LANES + element % LANES * 2 + k % 2] = h2h[r * size + k];
        rows.scales[r] = scale_of(job.most[r]);
        rows.sums[r] = sum_of(h2h + r * size, size) + sum_of(i2h + r * job.features, job.features);
        rows.biases[r] = job.i2h_bias[r] + job.h2h_bias[r];
    }
}

/* ---- the family ----------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    void (*run)(kernel_call *call);
    int64_t rows, width;
    int arrays;
} weights;

static weights weights_of(kernel_call *call) {
    if (call->kernel == NDRT_KERNEL_ROW_MOST) {
        const ndrt_row_most_args job = ndrt_read_row_most(call);
        return (weights){"row most", row_most, job.rows, job.width, 2};
    }
    if (call->kernel == NDRT_KERNEL_ROUND_ROWS) {
        const ndrt_round_rows_args job = ndrt_read_round_rows(call);
        return (weights){"round rows", round_rows, job.rows, job.width, 3};
    }
    const ndrt_pack_byte_lstm_args job = ndrt_read_pack_byte_lstm(call);
    const int is_right = job.size > 0 && job.size <= NDRT_BYTE_LSTM_MOST && job.features > 0 &&
                         job.features <= NDRT_BYTE_LSTM_MOST;
    return (weights){"pack byte lstm", pack_byte_lstm, is_right ? GATES * job.size : -1,
                     job.size + job.features, 6};
}

static ndrt_status check(kernel_call *call) {
    const weights made = weights_of(call);
    if (call->nthreads < 0 || ndrt_product(made.rows, made.width, 4) < 0)
        return ndrt_fail(NDRT_INVALID, "%s: %lld rows of %lld", made.name, (long long)made.rows,
                         (long long)made.width);
    return made.rows ? ndrt_need_arrays(call, made.arrays) : NDRT_OK;
}

static int threads(kernel_call *call) {
    (void)call;
    return 1;
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    (void)nthreads;
    weights_of(call).run(call);
    return NDRT_OK;
}

const ndrt_family ndrt_family_byte_lstm_weights = {"byte lstm weights", check, threads, execute};
