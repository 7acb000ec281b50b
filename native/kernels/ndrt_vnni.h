/* AVX-512 VNNI, in files that are compiled without it and used where ndrt_cpu_has tells of it. */
#ifndef NDRT_VNNI_H
#define NDRT_VNNI_H

#include <immintrin.h>

#include "kernels/ndrt_kernel.h"

/* In each lane of 32 bits four products of uint8 and int8 are added to the sum. */
INLINED __m512i ndrt_plus_quads(__m512i sum, __m512i u8, __m512i s8) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(u8), "v"(s8));
    return sum;
}

#endif
