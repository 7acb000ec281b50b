/* A table of faulty kernels of oneDNN, which are skipped.
 *
 * `make check-onednn` runs every implementation of a sample of primitives in guarded memory and
 * checks its results; what it finds gets a row here. */
#include <string.h>

#include "onednn/ndrt_onednn.h"

/* ---- the table ------------------------------------------------------------------------------- */

/* Quantities that a row may bound. A deconvolution is treated as the convolution whose gradient it
 * is: `images` are what the windows of that convolution slide over. */
typedef enum {
    ANYTHING,       /* ends a row's list */
    IMAGE_CHANNELS, /* of all groups together */
    IMAGE_BLOCK,    /* channels that lie together, 0: all or one, as in channels-last or default */
    REST_OF_16,     /* elements of the images, padding included, behind the last 16 */
    STRIDE,         /* the largest */
    SPATIAL,        /* 1 to 3 */
    SUM_POST_OPS,
    BINARY_POST_OPS,
    LOCAL_SIZE /* of a local response norm */
} quantity;

typedef struct {
    quantity of;
    int64_t least, most;
} bound;

typedef struct {
    int kind, direction; /* ndrt_kind, of it or what it is built on, and ndrt_direction; 0: all */
    const char *impl;    /* its name, or that of what it is built on */
    int version[2];      /* major and minor, the first one that it was seen in */
    int mended[2];       /* the first one without; 0.0: none is known */
    bound when[5];       /* all of these */
    const char *fault;
} faulty_kernel;

enum { MANY = INT32_MAX };

static const faulty_kernel table[] = {
    /* It gathers the strided pixels in a workspace sized for the channels there are, but advances
     * by whole blocks of channels. */
    {NDRT_CONVOLUTION,
     NDRT_BACKWARD_WEIGHTS,
     "jit_1x1:avx512_core",
     {3, 2},
     {0, 0},
     {{IMAGE_BLOCK, 0, 0}, {IMAGE_CHANNELS, 1, 15}, {STRIDE, 2, MANY}},
     "writes behind its scratchpad"},
    {NDRT_CONVOLUTION,
     NDRT_BACKWARD_WEIGHTS,
     "jit_1x1:avx2",
     {3, 2},
     {0, 0},
     {{IMAGE_BLOCK, 0, 0}, {IMAGE_CHANNELS, 1, 7}, {STRIDE, 2, MANY}},
     "writes behind its scratchpad"},
    /* It uses an instruction that needs addresses aligned to 16 bytes. */
    {NDRT_CONVOLUTION,
     NDRT_FORWARD_INFERENCE,
     "jit_dw:sse41",
     {3, 2},
     {0, 0},
     {{IMAGE_BLOCK, 0, 0}, {SUM_POST_OPS, 1, MANY}},
     "dies unless each pixel of its result is aligned"},
    /* Its blocks are of 8 channels, and it reads the operand 16 at a time. */
    {NDRT_CONVOLUTION,
     NDRT_FORWARD_INFERENCE,
     "jit:avx512_core",
     {3, 2},
     {0, 0},
     {{IMAGE_BLOCK, 8, 8}, {BINARY_POST_OPS, 1, MANY}},
     "reads behind the operand of its post-op"},
    /* It does not cut off what a whole register has too much. */
    {NDRT_PRELU,
     0,
     "jit_uni",
     {3, 2},
     {0, 0},
     {{IMAGE_BLOCK, 8, 8}, {REST_OF_16, 1, 15}},
     "writes behind its result"},
    /* It misses neighbours that are more than one register away. */
    {NDRT_LRN,
     NDRT_BACKWARD_DATA,
     "lrn_jit:avx512_core",
     {3, 2},
     {0, 0},
     {{LOCAL_SIZE, 7, MANY}, {IMAGE_CHANNELS, 17, MANY}},
     "computes wrong gradients"},
    /* In channels-last order an axis of one channel has the stride of the last axis. */
    {NDRT_SOFTMAX,
     0,
     "ref:any",
     {3, 2},
     {0, 0},
     {{IMAGE_CHANNELS, 1, 1}, {IMAGE_BLOCK, 0, 0}},
     "leaves out most of its result"},
};
enum { NROWS = sizeof table / sizeof *table };

/* ---- what a primitive is ----------------------------------------------------------------------
 */

/* The direction of the convolution that computes it. */
static int direction_within(const ndrt_spec *spec) {
    if (spec->kind != NDRT_DECONVOLUTION) return spec->direction;
    switch (spec->direction) {
    case NDRT_BACKWARD_DATA: return NDRT_FORWARD_TRAINING;
    case NDRT_BACKWARD_WEIGHTS: return NDRT_BACKWARD_WEIGHTS;
    default: return NDRT_BACKWARD_DATA;
    }
}

/* The images that windows slide over, or their gradient. */
static int images_of(const ndrt_spec *spec) {
    int is_forward = ndrt_is_forward(spec->direction);
    if (spec->kind == NDRT_DECONVOLUTION) return is_forward ? NDRT_ARG_DST : NDRT_ARG_DIFF_DST;
    return spec->direction == NDRT_BACKWARD_DATA ? NDRT_ARG_DIFF_SRC : NDRT_ARG_SRC;
}

/* Of the innermost dim that is cut in blocks. */
static int64_t block_of(const_dnnl_memory_desc_t md) {
    const dnnl_dims_t *blocks = NULL;
    int n = 0;
    if (dnnl_memory_desc_query(md, dnnl_query_inner_nblks_s32, &n) || !n) return 0;
    return dnnl_memory_desc_query(md, dnnl_query_inner_blks, (void *)&blocks) ? 0
                                                                              : (*blocks)[n - 1];
}

/* The dims that a query names, and how many there are. */
static int read_dims(const_dnnl_memory_desc_t md, dnnl_query_t what, const dnnl_dims_t **dims) {
    int ndims = 0;
    *dims = NULL;
    if (dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &ndims)) return 0;
    return dnnl_memory_desc_query(md, what, (void *)dims) ? 0 : ndims;
}

static int64_t channels_of(const_dnnl_memory_desc_t md) {
    const dnnl_dims_t *dims;
    return read_dims(md, dnnl_query_dims, &dims) < 2 ? 0 : (*dims)[1];
}

static int64_t padded_elements_of(const_dnnl_memory_desc_t md) {
    const dnnl_dims_t *dims;
    int ndims = read_dims(md, dnnl_query_padded_dims, &dims);
    int64_t n = 1;
    for (int i = 0; i < ndims; i++) n *= (*dims)[i];
    return n;
}

static int64_t stride_of(const ndrt_spec *spec) {
    int64_t largest = 0;
    for (int i = 0; i < spec->nspatial; i++)
        if (spec->strides[i] > largest) largest = spec->strides[i];
    return largest;
}

static int64_t post_ops_of(const ndrt_spec *spec, int kind) {
    int64_t n = 0;
    for (int i = 0; i < spec->npost_ops; i++) n += spec->post_ops[i].kind == kind;
    return n;
}

static int64_t read_quantity(quantity of, const ndrt_spec *spec, const_dnnl_memory_desc_t images) {
    switch (of) {
    case IMAGE_CHANNELS: return channels_of(images);
    case IMAGE_BLOCK: return block_of(images);
    case REST_OF_16: return padded_elements_of(images) % 16;
    case STRIDE: return stride_of(spec);
    case SPATIAL: return spec->nspatial;
    case SUM_POST_OPS: return post_ops_of(spec, NDRT_POST_SUM);
    case BINARY_POST_OPS: return post_ops_of(spec, NDRT_POST_BINARY);
    case LOCAL_SIZE: return spec->local_size;
    default: return 0;
    }
}

/* ---- is it one of them? ------------------------------------------------------------------------
 */

static int is_older(const dnnl_version_t *a, const int *than) {
    return a->major < than[0] || (a->major == than[0] && a->minor < than[1]);
}

static int has_version(const faulty_kernel *row) {
    const dnnl_version_t *mapped = dnnl_version();
    int is_mended = row->mended[0] && !is_older(mapped, row->mended);
    return !is_older(mapped, row->version) && !is_mended;
}

/* "conv:any+jit_1x1:avx512_core" is built on "jit_1x1:avx512_core". */
static int has_name(const faulty_kernel *row, const char *impl) {
    size_t n = strlen(row->impl);
    for (; impl; impl = strchr(impl, '+')) {
        impl += *impl == '+';
        if (!strncmp(impl, row->impl, n) && (!impl[n] || impl[n] == '+')) return 1;
    }
    return 0;
}

static int has_kind(const faulty_kernel *row, const ndrt_spec *spec) {
    int kind = spec->kind == NDRT_DECONVOLUTION ? NDRT_CONVOLUTION : spec->kind;
    return kind == row->kind && (!row->direction || direction_within(spec) == row->direction);
}

static int is_within(const faulty_kernel *row, const ndrt_spec *spec,
                     const_dnnl_primitive_desc_t pd) {
    const_dnnl_memory_desc_t images =
        dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, images_of(spec));
    for (const bound *b = row->when; b->of != ANYTHING; b++) {
        int64_t n = read_quantity(b->of, spec, images);
        if (n < b->least || n > b->most) return 0;
    }
    return 1;
}

const char *ndrt_fault_of(const ndrt_spec *spec, const_dnnl_primitive_desc_t pd, const char *impl) {
    for (const faulty_kernel *row = table; row < table + NROWS; row++)
        if (has_kind(row, spec) && has_name(row, impl) && has_version(row) &&
            is_within(row, spec, pd))
            return row->fault;
    return NULL;
}
