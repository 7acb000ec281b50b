/* Layouts and specs in words, for error texts. */
#include <stdarg.h>
#include <stdio.h>

#include "ndrt_onednn.h"

typedef struct {
    char *to;
    size_t left;
} writer;

__attribute__((format(printf, 2, 3))) static void put(writer *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->to, w->left, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < w->left ? (size_t)n : w->left ? w->left - 1 : 0;
    w->to += used;
    w->left -= used;
}

static const char *dtype_name(int dtype) {
    static const char *const names[] = {
        [NDRT_F16] = "f16", [NDRT_BF16] = "bf16", [NDRT_F32] = "f32", [NDRT_S32] = "s32",
        [NDRT_S8] = "s8",   [NDRT_U8] = "u8",     [NDRT_F64] = "f64"};
    return dtype > 0 && dtype < (int)(sizeof names / sizeof *names) ? names[dtype] : "?";
}

/* oneDNN's tag: dims by decreasing stride; a capital letter is a blocked dim. */
static void put_letters(writer *w, const ndrt_desc_info *info) {
    unsigned blocked = 0, done = 0;
    for (int i = 0; i < info->inner_nblks; i++) blocked |= 1u << info->inner_idxs[i];
    for (int i = 0; i < info->ndims; i++) {
        int next = -1;
        for (int d = 0; d < info->ndims; d++)
            if (!(done >> d & 1) && (next < 0 || info->strides[d] > info->strides[next])) next = d;
        done |= 1u << next;
        put(w, "%c", (blocked >> next & 1 ? 'A' : 'a') + next);
    }
    for (int i = 0; i < info->inner_nblks; i++)
        put(w, "%lld%c", (long long)info->inner_blks[i], (char)('a' + info->inner_idxs[i]));
}

static void put_desc(writer *w, const ndrt_desc *desc) {
    const ndrt_desc_info *info = ndrt_desc_read(desc);
    put(w, "%s ", dtype_name(info->dtype));
    for (int d = 0; d < info->ndims; d++) put(w, "%s%lld", d ? "x" : "", (long long)info->dims[d]);
    put(w, " ");
    if (info->format == NDRT_FORMAT_ANY)
        put(w, "any");
    else if (info->format == NDRT_FORMAT_OPAQUE)
        put(w, "opaque");
    else
        put_letters(w, info);
    int64_t dense = info->nelems * (int64_t)dnnl_data_type_size((dnnl_data_type_t)info->dtype);
    if (info->format != NDRT_FORMAT_BLOCKED || info->is_padded || info->nbytes == dense) return;
    for (int d = 0; d < info->ndims; d++)
        put(w, "%s%lld", d ? "," : " strides ", (long long)info->strides[d]);
}

void ndrt_describe(const ndrt_desc *desc, char *to, size_t room) {
    writer w = {to, room};
    put(&w, "%s", "");
    put_desc(&w, desc);
}

ndrt_status ndrt_blame_spec(ndrt_status status, const ndrt_spec *spec) {
    const struct {
        const char *name;
        const ndrt_desc *desc;
    } fields[] = {{"src", spec->src},
                  {"weights", spec->weights},
                  {"bias", spec->bias},
                  {"dst", spec->dst},
                  {"diff_src", spec->diff_src},
                  {"diff_weights", spec->diff_weights},
                  {"diff_bias", spec->diff_bias},
                  {"diff_dst", spec->diff_dst}};
    char text[768];
    writer w = {text, sizeof text};
    put(&w, "%s", ndrt_last_error());
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].desc) {
            put(&w, "; %s ", fields[i].name);
            put_desc(&w, fields[i].desc);
        }
    for (int i = 0; i < spec->nsrcs && i < 4; i++)
        if (spec->srcs && spec->srcs[i]) {
            put(&w, "; source %d ", i);
            put_desc(&w, spec->srcs[i]);
        }
    return ndrt_fail(status, "%s", text);
}
