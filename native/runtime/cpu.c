/* Features of the CPU: detected once, with one answer for native kernels, Python and oneDNN. */
#include <cpuid.h>
#include <string.h>

#include "ndrt_internal.h"

enum {
    AVX2 = NDRT_HAS_AVX2,
    WIDE = AVX2 | NDRT_HAS_AVX512,
    WIDE_VNNI = WIDE | NDRT_HAS_AVX512_VNNI,
    WIDE_BF16 = WIDE_VNNI | NDRT_HAS_AVX512_BF16,
    WIDE_FP16 = WIDE_BF16 | NDRT_HAS_AVX2_VNNI | NDRT_HAS_AVX512_FP16
};

/* oneDNN's levels, in ascending order of features. */
typedef struct {
    const char *name;
    int features, added; /* all of them, and the one that the level is named after */
    dnnl_cpu_isa_t isa;
} cpu_level;
static const cpu_level levels[] = {
    {"avx2", AVX2, AVX2, dnnl_cpu_isa_avx2},
    {"avx2_vnni", AVX2 | NDRT_HAS_AVX2_VNNI, NDRT_HAS_AVX2_VNNI, dnnl_cpu_isa_avx2_vnni},
    {"avx512", WIDE, NDRT_HAS_AVX512, dnnl_cpu_isa_avx512_core},
    {"avx512_vnni", WIDE_VNNI, NDRT_HAS_AVX512_VNNI, dnnl_cpu_isa_avx512_core_vnni},
    {"avx512_bf16", WIDE_BF16, NDRT_HAS_AVX512_BF16, dnnl_cpu_isa_avx512_core_bf16},
    {"avx512_fp16", WIDE_FP16, NDRT_HAS_AVX512_FP16, dnnl_cpu_isa_avx512_core_fp16},
    {"amx", WIDE_FP16 | NDRT_HAS_AMX, NDRT_HAS_AMX, dnnl_cpu_isa_avx512_core_amx},
};
enum { NLEVELS = sizeof levels / sizeof levels[0] };

static int chosen; /* features; 0: nothing is chosen yet */

static const cpu_level *level_named(const char *name) {
    for (int i = 0; i < NLEVELS; i++)
        if (!strcmp(levels[i].name, name)) return &levels[i];
    return NULL;
}

static const cpu_level *highest_of(int features) {
    for (int i = NLEVELS - 1; i > 0; i--)
        if ((levels[i].features & ~features) == 0) return &levels[i];
    return &levels[0];
}

ndrt_status ndrt_cpu_resolve(int machine, const char *name, int *features) {
    if (!(machine & AVX2))
        return ndrt_fail(NDRT_UNSUPPORTED, "this CPU has no AVX2 with FMA, which ndarray_rt needs");
    *features = machine;
    if (!name[0]) return NDRT_OK;
    const cpu_level *level = level_named(name);
    if (!level)
        return ndrt_fail(NDRT_INVALID,
                         "expected avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16, avx512_fp16 "
                         "or amx");
    if (level->features & ~machine)
        return ndrt_fail(NDRT_UNSUPPORTED, "this CPU can not do that; the level below it is %s",
                         highest_of(machine & level->features)->name);
    *features = level->features;
    return NDRT_OK;
}

/* With the instruction itself, as the compilers' builtins need a runtime that clang does not link.
 */
static int has_avx2(void) {
    const unsigned wanted = bit_FMA | bit_AVX | bit_OSXSAVE, saved = 6; /* xmm and ymm */
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & wanted) != wanted) return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & saved) == saved && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}

/* oneDNN's own cap, ONEDNN_MAX_CPU_ISA, counts as a property of the machine: it decides what the
 * operating system lets a process use. */
static int features_of_machine(void) {
    int found = has_avx2() ? AVX2 : 0;
    dnnl_cpu_isa_t effective = dnnl_get_effective_cpu_isa();
    for (int i = 1; i < NLEVELS; i++)
        if ((effective & levels[i].isa) == levels[i].isa) found |= levels[i].added;
    return found;
}

ndrt_status ndrt_cpu_choose(const char *name) {
    if (ndrt_cpu_features())
        return ndrt_fail(NDRT_INVALID, "the level is chosen once, at the start");
    const cpu_level *level = level_named(name);
    if (level && dnnl_set_max_cpu_isa(level->isa) != dnnl_success)
        return ndrt_fail(NDRT_UNSUPPORTED,
                         "this oneDNN was used before, or can not be kept to a level");
    int features;
    TRY(ndrt_cpu_resolve(features_of_machine(), name, &features));
    __atomic_store_n(&chosen, features, __ATOMIC_RELEASE);
    return NDRT_OK;
}

int ndrt_cpu_features(void) { return __atomic_load_n(&chosen, __ATOMIC_ACQUIRE); }

int ndrt_cpu_has(ndrt_cpu_feature feature) { return (ndrt_cpu_features() & (int)feature) != 0; }

const char *ndrt_cpu_level(void) { return highest_of(ndrt_cpu_features())->name; }
