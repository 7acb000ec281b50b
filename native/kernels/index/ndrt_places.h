/* Arrays of places in any of their dtypes: what native/kernels/index/gather.c and
 * native/kernels/index/moves.c share. */
#ifndef NDRT_PLACES_H
#define NDRT_PLACES_H

#include "kernels/ndrt_kernel.h"

static inline int ndrt_is_index_kind(int64_t kind) {
    return kind == NDRT_F32 || kind == NDRT_F64 || kind == NDRT_S32 || kind == NDRT_S8 ||
           kind == NDRT_U8 || kind == NDRT_INDEX_S64;
}

static inline int64_t ndrt_whole(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static inline int64_t ndrt_index_at(const void *index, int kind, int64_t i) {
    switch (kind) {
    case NDRT_F32: return ndrt_whole((double)((const float *)index)[i]);
    case NDRT_F64: return ndrt_whole(((const double *)index)[i]);
    case NDRT_S32: return ((const int32_t *)index)[i];
    case NDRT_S8: return ((const int8_t *)index)[i];
    case NDRT_U8: return ((const uint8_t *)index)[i];
    default: return ((const int64_t *)index)[i];
    }
}

#endif
