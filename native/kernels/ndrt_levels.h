/* Kernels are compiled once for each level of CPUs, from the same files (setup.py says with which
 * flags): all in the folders below native/kernels/ for AVX2 and for AVX-512, those whose names end
 * in _avx512 for AVX-512 alone. What such files share has a name for each level. */
#ifndef NDRT_LEVELS_H
#define NDRT_LEVELS_H

#include "ndrt_plans.h"

/* Kernels that one file checks and runs. */
typedef struct {
    const char *name;
    ndrt_status (*check)(const ndrt_kernel_call *call);
    int (*threads)(const ndrt_kernel_call *call); /* that a checked call is worth */
    ndrt_status (*execute)(const ndrt_kernel_call *call, int nthreads);
} ndrt_family;

/* What there is for a level. */
typedef struct {
    const ndrt_family *const *families; /* by ndrt_kernel_id; NULL: none */
    int nfamilies;
    float (*multiply_adds)(int64_t count); /* as fast as can be */
    int lanes, chains;                     /* of these: numbers at once, of so many sums */
} ndrt_level;
extern const ndrt_level ndrt_level_avx2, ndrt_level_avx512;
const ndrt_level *ndrt_level_of_cpu(void);

#ifdef NDRT_LEVEL
#define NDRT_JOINED(name, level) name##_##level
#define NDRT_EXPANDED(name, level) NDRT_JOINED(name, level)
#define LEVELED(name) NDRT_EXPANDED(name, NDRT_LEVEL)
#define ndrt_level_here LEVELED(ndrt_level)
#define ndrt_family_basic LEVELED(ndrt_family_basic)
#define ndrt_family_draws LEVELED(ndrt_family_draws)
#define ndrt_family_optimizers LEVELED(ndrt_family_optimizers)
#define ndrt_family_last_axis LEVELED(ndrt_family_last_axis)
#define ndrt_family_softmax_grad LEVELED(ndrt_family_softmax_grad)
#define ndrt_family_folded_norms LEVELED(ndrt_family_folded_norms)
#define ndrt_family_norms LEVELED(ndrt_family_norms)
#define ndrt_family_batch_stats LEVELED(ndrt_family_batch_stats)
#define ndrt_family_channel_norm LEVELED(ndrt_family_channel_norm)
#define ndrt_family_lrn LEVELED(ndrt_family_lrn)
#define ndrt_family_regions LEVELED(ndrt_family_regions)
#define ndrt_family_boxes LEVELED(ndrt_family_boxes)
#define ndrt_family_images LEVELED(ndrt_family_images)
#define ndrt_family_resize LEVELED(ndrt_family_resize)
#define ndrt_family_maxima LEVELED(ndrt_family_maxima)
#define ndrt_family_gather LEVELED(ndrt_family_gather)
#define ndrt_family_moves LEVELED(ndrt_family_moves)
#define ndrt_family_concat LEVELED(ndrt_family_concat)
#define ndrt_family_math LEVELED(ndrt_family_math)
#define ndrt_family_ordering LEVELED(ndrt_family_ordering)
#define ndrt_family_functions LEVELED(ndrt_family_functions)
#define ndrt_family_scalars LEVELED(ndrt_family_scalars)
#define ndrt_family_quantized LEVELED(ndrt_family_quantized)
#define ndrt_family_halves LEVELED(ndrt_family_halves)
#define ndrt_family_entropy LEVELED(ndrt_family_entropy)
#define ndrt_family_byte_ranges LEVELED(ndrt_family_byte_ranges)
#define ndrt_family_bytes LEVELED(ndrt_family_bytes)
#define ndrt_family_affine_bytes LEVELED(ndrt_family_affine_bytes)
#define ndrt_family_byte_layers LEVELED(ndrt_family_byte_layers)
#define ndrt_family_byte_pool LEVELED(ndrt_family_byte_pool)
#define ndrt_family_whole_windows LEVELED(ndrt_family_whole_windows)
#define ndrt_indirect_depthwise LEVELED(ndrt_indirect_depthwise)
#define ndrt_indirect_windows LEVELED(ndrt_indirect_windows)
#define ndrt_family_whole_packing LEVELED(ndrt_family_whole_packing)
#define ndrt_family_byte_products LEVELED(ndrt_family_byte_products)
#define ndrt_family_dynamic_dense LEVELED(ndrt_family_dynamic_dense)
#define ndrt_family_direct_conv LEVELED(ndrt_family_direct_conv)
#define ndrt_family_implicit_gemm LEVELED(ndrt_family_implicit_gemm)
#define ndrt_family_whole_depthwise LEVELED(ndrt_family_whole_depthwise)
#define ndrt_family_skinny_gemm LEVELED(ndrt_family_skinny_gemm)
#define ndrt_family_packed_gemm LEVELED(ndrt_family_packed_gemm)
#define ndrt_family_blocked_gemm LEVELED(ndrt_family_blocked_gemm)
#define ndrt_blocked_float64 LEVELED(ndrt_blocked_float64)
#define ndrt_blocked_int32 LEVELED(ndrt_blocked_int32)
#define ndrt_family_lstm LEVELED(ndrt_family_lstm)
#define ndrt_family_byte_lstm LEVELED(ndrt_family_byte_lstm)
#define ndrt_family_byte_lstm_weights LEVELED(ndrt_family_byte_lstm_weights)
#define ndrt_packed_gemm_rows LEVELED(ndrt_packed_gemm_rows)
#define ndrt_add_rows LEVELED(ndrt_add_rows)
#define ndrt_function_of LEVELED(ndrt_function_of)
#define ndrt_words_of LEVELED(ndrt_words_of)
#define ndrt_parameters_of LEVELED(ndrt_parameters_of)
#define ndrt_draw LEVELED(ndrt_draw)
#define ndrt_philox_block LEVELED(ndrt_philox_block)
#define ndrt_philox_blocks LEVELED(ndrt_philox_blocks)
#define ndrt_philox LEVELED(ndrt_philox)
#define ndrt_dropout_mask LEVELED(ndrt_dropout_mask)
#define ndrt_dropout LEVELED(ndrt_dropout)
#define ndrt_random_uniform LEVELED(ndrt_random_uniform)
#define ndrt_random_normal LEVELED(ndrt_random_normal)
#define ndrt_exp LEVELED(ndrt_exp)
#define ndrt_softmax LEVELED(ndrt_softmax)
#define ndrt_running_sum LEVELED(ndrt_running_sum)
#define ndrt_product_grad LEVELED(ndrt_product_grad)
#define ndrt_prelu LEVELED(ndrt_prelu)
#define ndrt_arithmetic LEVELED(ndrt_arithmetic)
#define ndrt_step_grad LEVELED(ndrt_step_grad)
#define ndrt_maxima_of LEVELED(ndrt_maxima_of)
#define ndrt_maxima_made LEVELED(ndrt_maxima_made)
#define ndrt_maximum LEVELED(ndrt_maximum)
#define ndrt_max_pool LEVELED(ndrt_max_pool)
#define ndrt_depthwise_rows LEVELED(ndrt_depthwise_rows)
#define ndrt_depthwise LEVELED(ndrt_depthwise)
#define ndrt_few_channels LEVELED(ndrt_few_channels)
#define ndrt_multiply_adds LEVELED(ndrt_multiply_adds)

float ndrt_multiply_adds(int64_t count);
/* Adds rows that are `stride` apart to the sums of their columns. */
void ndrt_add_rows(const float *in, int64_t rows, int64_t stride, int64_t width, double *sums);
/* A function of one array and one number (ndrt_function_id), on the calling thread. */
void ndrt_function_of(int which, float *out, const float *in, int64_t n, float p);

/* Kernels that kernels/reduce/math.c drives. */
void ndrt_softmax(const ndrt_kernel_call *call, int nthreads);
void ndrt_running_sum(const ndrt_kernel_call *call, int nthreads);
void ndrt_product_grad(const ndrt_kernel_call *call, int nthreads);
void ndrt_prelu(const ndrt_kernel_call *call, int nthreads);
void ndrt_exp(const ndrt_kernel_call *call, int nthreads);
void ndrt_arithmetic(const ndrt_kernel_call *call, int nthreads);
void ndrt_step_grad(const ndrt_kernel_call *call, int nthreads);
#endif

#endif
