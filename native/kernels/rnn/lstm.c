/* The time steps of an LSTM layer for a few samples: reading the recurrent weights takes all the
 * time.
 *
 * A block of columns has the four gates of one vector of state elements, so that the thread that
 * computes it can update these elements at once. Hochreiter and Schmidhuber 1997. */
#include <math.h>
#include <omp.h>

#include "kernels/gemm/ndrt_skinny_gemm.h"
#include "kernels/ndrt_exp.h"
#include "ndrt_args.h"
#include "onednn/ndrt_onednn.h"

enum { GATES = 4, BLOCK = GATES * LANES };

typedef struct {
    ndrt_rows hidden;             /* of the step before */
    const float *weights, *gates; /* gates: what the inputs add to them */
    const float *cell;            /* of the step before */
    float *new_hidden, *new_cell, *out;
    const uint8_t *counts; /* 0: the states of a sample stay; NULL: all samples count */
    int holds;             /* then the output is the state, not 0 */
} lstm_step;

INLINED void units_of(const lstm_step *step, int64_t unit, int rows, int chains) {
    const int64_t size = step->hidden.features, first = unit * LANES;
    ndrt_vector totals[NDRT_SKINNY_GEMM_MOST][MOST_VECTORS];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int g = 0; g < GATES; g++)
            totals[r][g] = ndrt_load(step->gates + (r * GATES + g) * size + first);
    ndrt_add_products(&step->hidden, step->weights + unit * size * BLOCK, totals, rows, GATES,
                      chains);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        float gates[GATES][LANES];
        for (int g = 0; g < GATES; g++) ndrt_store(gates[g], totals[r][g]);
        const float *cell = step->cell + r * size + first;
        float *new_cell = step->new_cell + r * size + first;
        float *new_hidden = step->new_hidden + r * size + first;
        float *out = step->out + r * size + first;
        if (step->counts && !step->counts[r]) {
            const float *hidden = step->hidden.data + r * size + first;
            for (int k = 0; k < LANES; k++) {
                new_cell[k] = cell[k];
                new_hidden[k] = hidden[k];
                out[k] = step->holds ? hidden[k] : 0.0f;
            }
            continue;
        }
#pragma omp simd
        for (int k = 0; k < LANES; k++) {
            float kept = ndrt_sigmoid_of(gates[1][k]) * cell[k];
            float c = kept + ndrt_sigmoid_of(gates[0][k]) * ndrt_tanh_of(gates[2][k]);
            new_cell[k] = c;
            out[k] = new_hidden[k] = ndrt_sigmoid_of(gates[3][k]) * ndrt_tanh_of(c);
        }
    }
}

/* Independent chains of sums: as many as hide the latency of a multiply-add. */
enum { CHAINS_OF_TWO = LANES == 16 ? 2 : 1 };

static void units_1(const lstm_step *step, int64_t unit) { units_of(step, unit, 1, 2); }
static void units_2(const lstm_step *step, int64_t unit) { units_of(step, unit, 2, CHAINS_OF_TWO); }
static void units_3(const lstm_step *step, int64_t unit) { units_of(step, unit, 3, 1); }
static void units_4(const lstm_step *step, int64_t unit) { units_of(step, unit, 4, 1); }

typedef void compute_units(const lstm_step *step, int64_t unit);
static compute_units *const computes[NDRT_SKINNY_GEMM_MOST] = {units_1, units_2, units_3, units_4};

static ndrt_status check(const ndrt_kernel_call *call) {
    const ndrt_lstm_steps_args k = ndrt_read_lstm_steps(call);
    if (k.steps < 1 || k.batch < 1 || k.batch > NDRT_SKINNY_GEMM_MOST || k.size < 1 ||
        k.size % LANES)
        return ndrt_fail(NDRT_INVALID, "lstm steps: %lld steps of %lld samples, states of %lld",
                         (long long)k.steps, (long long)k.batch, (long long)k.size);
    if (k.counts && !k.states) return ndrt_fail(NDRT_INVALID, "lstm steps: array 7 has no bytes");
    return ndrt_need_arrays(call, 6);
}

static int threads(const ndrt_kernel_call *call) {
    const ndrt_lstm_steps_args k = ndrt_read_lstm_steps(call);
    /* the team synchronizes at each step */
    const int64_t weights = ndrt_product(GATES, k.size, k.size);
    return ndrt_team_for(call, ndrt_product_work(ndrt_product(k.batch, weights, 1), weights));
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_lstm_steps_args k = ndrt_read_lstm_steps(call);
    const int64_t numbers = k.batch * k.size; /* of a state */
    compute_units *compute = computes[k.batch - 1];
#pragma omp parallel num_threads(nthreads)
    for (int64_t t = 0; t < k.steps; t++) {
        float *const here = k.out + t * numbers;
        float *const new_hidden = k.counts ? k.states + (t & 1) * numbers : here;
        const float *before = k.counts ? k.states + (~t & 1) * numbers : here - numbers;
        const lstm_step step = {
            .hidden = {t ? before : k.hidden, k.size},
            .weights = k.weights,
            .gates = k.gates + t * GATES * numbers,
            .cell = t ? k.cells : k.cell,
            .new_hidden = new_hidden,
            .new_cell = k.cells,
            .out = here,
            .counts = k.counts ? k.counts + t * k.batch : NULL,
            .holds = k.holds,
        };
#pragma omp for schedule(static)
        for (int64_t unit = 0; unit < k.size / LANES; unit++) compute(&step, unit);
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_lstm = {"lstm steps", check, threads, execute};
