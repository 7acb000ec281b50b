/* Which family computes which kernel at this level. */
#include "ndrt_internal.h"

static const ndrt_family *const families[] = {
    [NDRT_KERNEL_ADD_TO... NDRT_KERNEL_BLEND] = &ndrt_family_basic,
    [NDRT_KERNEL_DROPOUT_MASK... NDRT_KERNEL_SLOPED] = &ndrt_family_basic,
    [NDRT_KERNEL_GATHER... NDRT_KERNEL_ERF] = &ndrt_family_gather,
    [NDRT_KERNEL_REDUCE... NDRT_KERNEL_STEP_GRAD] = &ndrt_family_math,
    [NDRT_KERNEL_TOPK... NDRT_KERNEL_TOPK_GRAD] = &ndrt_family_ordering,
    [NDRT_KERNEL_NORM_ROWS... NDRT_KERNEL_L2_GRAD] = &ndrt_family_norms,
    [NDRT_KERNEL_RESIZE_AXIS] = &ndrt_family_resize,
    [NDRT_KERNEL_BATCH_STATS] = &ndrt_family_batch_stats,
    [NDRT_KERNEL_NORM_LAST] = &ndrt_family_last_axis,
    [NDRT_KERNEL_LRN] = &ndrt_family_lrn,
    [NDRT_KERNEL_FOLD_NORM] = &ndrt_family_folded_norms,
    [NDRT_KERNEL_ROI_ALIGN... NDRT_KERNEL_MULTIBOX_ASSIGN] = &ndrt_family_vision,
    [NDRT_KERNEL_NAG_MOM... NDRT_KERNEL_NAG_MOM_OF_MASTER] = &ndrt_family_optimizers,
    [NDRT_KERNEL_FLAT_PLACES... NDRT_KERNEL_SEQUENCE_LAST_GRAD] = &ndrt_family_moves,
    [NDRT_KERNEL_FUNCTION] = &ndrt_family_functions,
    [NDRT_KERNEL_SCALAR] = &ndrt_family_scalars,
    [NDRT_KERNEL_DRAW... NDRT_KERNEL_SHUFFLE] = &ndrt_family_draws,
    [NDRT_KERNEL_JOIN_ROWS] = &ndrt_family_joins,
    [NDRT_KERNEL_JOIN_SCALED] = &ndrt_family_joins,
    [NDRT_KERNEL_QUANTIZED] = &ndrt_family_quantized,
    [NDRT_KERNEL_LOST_MAXIMA] = &ndrt_family_maxima,
#ifdef __AVX512F__
    [NDRT_KERNEL_MAX_POOL] = &ndrt_family_maxima,
    [NDRT_KERNEL_FEW_ROWS] = &ndrt_family_few_rows,
    [NDRT_KERNEL_LSTM_STEPS] = &ndrt_family_lstm,
    [NDRT_KERNEL_DEPTHWISE... NDRT_KERNEL_FEW_CHANNELS] = &ndrt_family_windows,
    [NDRT_KERNEL_PRODUCTS] = &ndrt_family_products,
    [NDRT_KERNEL_SEPARABLE] = &ndrt_family_separable,
#endif
};

#ifdef __AVX512F__
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif

const ndrt_level ndrt_level_here = {families, sizeof families / sizeof families[0],
                                    ndrt_multiply_adds, LANES, NDRT_CHAINS};
