/* Floats as whole numbers: to the nearest, halves to even, and to the ends of what the type holds.
 * NaN becomes the greatest signed number, or 0. Written for vectors. */
#ifndef NDRT_BYTES_H
#define NDRT_BYTES_H

#include <math.h>
#include <stdint.h>

/* Kept within the ends first: these are whole. The order decides what becomes of NaN. */
static inline __attribute__((always_inline)) int8_t ndrt_to_s8(float x) {
    const float below = x < 127.0f ? x : 127.0f, kept = below > -128.0f ? below : -128.0f;
    return (int8_t)(int32_t)rintf(kept);
}

static inline __attribute__((always_inline)) uint8_t ndrt_to_u8(float x) {
    const float above = x > 0.0f ? x : 0.0f, kept = above < 255.0f ? above : 255.0f;
    return (uint8_t)(int32_t)rintf(kept);
}

/* The greatest float below 2^31 is whole, and 127 less than the end of int32. */
static inline __attribute__((always_inline)) int32_t ndrt_to_s32(float x) {
    const float most = 2147483520.0f, below = x < most ? x : most;
    const float kept = below > -2147483648.0f ? below : -2147483648.0f;
    return x <= most ? (int32_t)rintf(kept) : INT32_MAX;
}

#endif
