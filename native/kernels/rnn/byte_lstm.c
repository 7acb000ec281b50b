/* The time steps of an LSTM layer on numbers of 8 bits: sums of products with int8 weights are
 * exact, gates and cells are floats, and hidden states are rounded to uint8 at each step.
 *
 * As in lstm.c a block of columns has the four gates of one vector of state elements, so that the
 * thread that computes it can update these elements at once. States are kept in 16 bits: two of
 * them and two of a column are multiplied and added up at once. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/gemm/ndrt_whole_sums.h"
#include "kernels/ndrt_bytes.h"
#include "kernels/ndrt_exp.h"
#include "ndrt_args.h"
#include "ndrt_byte_lstm.h"
#include "onednn/ndrt_onednn.h"

typedef const ndrt_kernel_call kernel_call;
typedef ndrt_byte_lstm_args lstm;

enum { GATES = NDRT_LSTM_GATES, TILE_ROWS = 3, BLOCK = GATES * LANES };

/* What all steps read. `room.around` is what the shift of the data adds to the sums of a row. */
typedef struct {
    const lstm *job;
    ndrt_lstm_rows rows;
    ndrt_lstm_room room;
    int64_t pairs;
    int is_fused;
} layer;

static layer layer_of(const lstm *job) {
    return (layer){.job = job,
                   .rows = ndrt_lstm_rows_of((char *)job->weights, job->size, LANES),
                   .room = ndrt_lstm_room_of(job->scratch, job->size),
                   .pairs = ndrt_lstm_state(job->size) / 2,
                   .is_fused = LANES == 16 && ndrt_cpu_has(NDRT_HAS_AVX512_VNNI)};
}

static int16_t *state_of(const layer *l, int64_t step, int64_t sample) {
    return l->room.states + ((step & 1) * l->job->batch + sample) * 2 * l->pairs;
}

static void begin(const layer *l) {
    const lstm *job = l->job;
    const float scale = *job->scale, shift = *job->shift;
    for (int64_t r = 0; r < GATES * job->size; r++) {
        l->room.around[r] = (double)shift * l->rows.sums[r];
        l->room.step[r] = (double)(scale * l->rows.scales[r]);
    }
    for (int64_t b = 0; b < job->batch; b++) {
        for (int t = 0; t < 2; t++) state_of(l, t, b)[2 * l->pairs - 1] = 0;
        const float *state = job->state + b * job->size;
        int16_t *made = state_of(l, 0, b);
        for (int64_t k = 0; k < job->size; k++) made[k] = ndrt_to_u8(state[k] * scale + shift);
    }
}

/* A sample's elements of a vector after a step. */
INLINED void update(const layer *l, int64_t step, int64_t sample, int64_t first,
                    const int32_t sums_of[GATES][LANES], const int count) {
    const lstm *job = l->job;
    const float scale = *job->scale, shift = *job->shift;
    const int64_t at = job->backwards ? job->steps - 1 - step : step;
    const int64_t row = at * job->batch + sample, own = sample * job->size + first;
    float gates[GATES][LANES], made[LANES];
    for (int g = 0; g < GATES; g++) {
        const int64_t column = g * job->size + first;
        const int32_t *given = job->sums + row * GATES * job->size + column;
        const double *around = l->room.around + column, *by = l->room.step + column;
        const float *bias = l->rows.biases + column;
#pragma omp simd
        for (int k = 0; k < count; k++)
            gates[g][k] =
                (float)(((double)given[k] + (double)sums_of[g][k] - around[k]) / by[k]) + bias[k];
    }
    const float *before = step ? job->cells + own : job->cell + own;
    float *cells = job->cells + own;
    int16_t *state = state_of(l, step + 1, sample) + first;
#pragma omp simd
    for (int k = 0; k < count; k++) {
        const float kept = ndrt_sigmoid_of(gates[1][k]) * before[k];
        const float cell = kept + ndrt_sigmoid_of(gates[0][k]) * ndrt_tanh_of(gates[2][k]);
        cells[k] = cell;
        made[k] = ndrt_sigmoid_of(gates[3][k]) * ndrt_tanh_of(cell);
    }
#pragma omp simd
    for (int k = 0; k < count; k++) state[k] = ndrt_to_u8(made[k] * scale + shift);
    const int64_t to = row * job->columns + job->first + first;
    if (job->kind == NDRT_U8) {
        for (int k = 0; k < count; k++) ((uint8_t *)job->out)[to + k] = (uint8_t)state[k];
    } else {
        for (int k = 0; k < count; k++) ((float *)job->out)[to + k] = (state[k] - shift) / scale;
    }
    if (job->hidden && step + 1 == job->steps)
        for (int k = 0; k < count; k++) job->hidden[own + k] = (state[k] - shift) / scale;
}

/* All but pointers and places are constants where this is inlined. */
INLINED void samples_of(const layer *l, int64_t step, int64_t unit, int64_t sample,
                        const int samples, const int is_fused) {
    const int64_t first = unit * LANES, left = l->job->size - first;
    const int8_t *weights = (const int8_t *)l->job->weights + unit * l->pairs * 2 * BLOCK;
    const int16_t *states = state_of(l, step, sample);
    sums made[TILE_ROWS][GATES];
#pragma GCC unroll 3
    for (int r = 0; r < samples; r++)
#pragma GCC unroll 4
        for (int g = 0; g < GATES; g++) made[r][g] = no_sums();
    for (int64_t k = 0; k < l->pairs; k++, weights += 2 * BLOCK) {
        sums x[TILE_ROWS];
#pragma GCC unroll 3
        for (int r = 0; r < samples; r++) x[r] = pair_of(states + (r * l->pairs + k) * 2);
#pragma GCC unroll 4
        for (int g = 0; g < GATES; g++) {
            const sums w = weights_of(weights + g * 2 * LANES);
#pragma GCC unroll 3
            for (int r = 0; r < samples; r++)
                made[r][g] = plus_products(made[r][g], x[r], w, is_fused);
        }
    }
#pragma GCC unroll 3
    for (int r = 0; r < samples; r++) {
        int32_t stored[GATES][LANES];
#pragma GCC unroll 4
        for (int g = 0; g < GATES; g++) store_sums(stored[g], made[r][g]);
        if (left >= LANES)
            update(l, step, sample + r, first, stored, LANES);
        else
            update(l, step, sample + r, first, stored, (int)left);
    }
}

typedef void compute_some(const layer *l, int64_t step, int64_t unit, int64_t sample);
#define SOME(samples)                                                                              \
    static void some_##samples(const layer *l, int64_t step, int64_t unit, int64_t sample) {       \
        samples_of(l, step, unit, sample, samples, 0);                                             \
    }                                                                                              \
    static void fused_##samples(const layer *l, int64_t step, int64_t unit, int64_t sample) {      \
        samples_of(l, step, unit, sample, samples, 1);                                             \
    }
SOME(1)
SOME(2)
SOME(3)
static compute_some *const some[2][TILE_ROWS] = {{some_1, some_2, some_3},
                                                 {fused_1, fused_2, fused_3}};

/* ---- the family ----------------------------------------------------------------------------- */

static ndrt_status check(kernel_call *call) {
    const lstm job = ndrt_read_byte_lstm(call);
    if (call->nthreads < 0 || !ndrt_is_count(job.steps, 1) || !ndrt_is_count(job.batch, 1) ||
        !ndrt_is_count(job.size, 1) || job.size > NDRT_BYTE_LSTM_MOST || job.first < 0 ||
        job.columns < job.size || job.first > job.columns - job.size ||
        ndrt_product(job.steps, job.batch, ndrt_product(job.columns, GATES, 4)) < 0)
        return ndrt_fail(NDRT_INVALID, "byte lstm: %lld steps of %lld samples, states of %lld",
                         (long long)job.steps, (long long)job.batch, (long long)job.size);
    if (job.kind != NDRT_U8 && job.kind != NDRT_F32)
        return ndrt_fail(NDRT_INVALID, "byte lstm: a kind that there is no form for");
    return ndrt_need_arrays(call, 9);
}

static int threads(kernel_call *call) {
    const lstm job = ndrt_read_byte_lstm(call);
    /* the team synchronizes at each step */
    const int64_t weights = ndrt_product(GATES, job.size, job.size);
    return ndrt_team_for(call, ndrt_product_work(ndrt_product(job.batch, weights, 1), weights / 4));
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const lstm job = ndrt_read_byte_lstm(call);
    for (int i = 0; i < 2; i++) {
        const float number = i ? *job.shift : *job.scale;
        if (number != number)
            return ndrt_fail(NDRT_INVALID,
                             "byte lstm: an end of a range is nan, expected a number");
    }
    if (*job.scale <= 0 || isinf(*job.scale))
        return ndrt_fail(NDRT_VALUE,
                         "min_data, the scale of data, is %g, expected a finite number above 0",
                         (double)*job.scale);
    const layer l = layer_of(&job);
    begin(&l);
    const int64_t units = (job.size + LANES - 1) / LANES;
#pragma omp parallel num_threads(nthreads)
    for (int64_t t = 0; t < job.steps; t++) {
#pragma omp for schedule(static)
        for (int64_t unit = 0; unit < units; unit++)
            for (int64_t b = 0; b < job.batch; b += TILE_ROWS) {
                const int64_t left = job.batch - b;
                some[l.is_fused][(left < TILE_ROWS ? left : TILE_ROWS) - 1](&l, t, unit, b);
            }
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_byte_lstm = {"byte lstm", check, threads, execute};
