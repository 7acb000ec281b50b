/* Which family computes which kernel at this level. */
#include "kernels/ndrt_kernel.h"

/* behind the names that files for each level share */
#include "ndrt_families.h"

static const ndrt_family *const families[] = {
#ifdef __AVX512F__
    NDRT_WIDE_FAMILIES
#endif
        NDRT_FAMILIES};

#ifdef __AVX512F__
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif

const ndrt_level ndrt_level_here = {families, sizeof families / sizeof families[0],
                                    ndrt_multiply_adds, LANES, NDRT_CHAINS};
