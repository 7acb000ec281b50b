/* How far resident memory grows under one 3x3 convolution of ever other numbers of channels.
 *
 * Reads pairs of input and output channels, as text, until the input ends. For each pair it
 * convolves a 1 x in x 8 x 8 image of its own: image and weights to the convolution's layouts, the
 * convolution, the result back to plain. Primitives are kept under the bounds of the command line,
 * the least recently used leaves; all buffers are malloc's, for one pair each. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util.h"

enum { SIDE = 8, WINDOW = 3, OUT_SIDE = SIDE - WINDOW + 1, ALIGNMENT = 64 };

static dnnl_engine_t engine;
static dnnl_stream_t stream;

/* ---- what is kept ---- */
typedef struct {
    long ins, outs; /* of a convolution */
    const_dnnl_memory_desc_t from, to;
    unsigned long used;
    dnnl_primitive_t primitive;
} kept;

typedef struct {
    kept *entries;
    int count, bound;
    unsigned long clock;
} table;

static table table_new(int bound) {
    return (table){.entries = checked_calloc((size_t)bound, sizeof(kept)), .bound = bound};
}

static kept *used(table *t, kept *entry) {
    entry->used = ++t->clock;
    return entry;
}

static kept *table_add(table *t, kept made) {
    kept *place = &t->entries[0];
    if (t->count < t->bound) {
        place = &t->entries[t->count++];
    } else {
        for (int i = 1; i < t->count; i++)
            if (t->entries[i].used < place->used) place = &t->entries[i];
        CHECK(dnnl_primitive_destroy(place->primitive));
    }
    *place = made;
    return used(t, place);
}

/* ---- layouts and primitives ---- */
static dnnl_memory_desc_t layout(int64_t n, int64_t c, int64_t side, dnnl_format_tag_t tag) {
    dnnl_dims_t dims = {n, c, side, side};
    dnnl_memory_desc_t md;
    CHECK(dnnl_memory_desc_create_with_tag(&md, 4, dims, dnnl_f32, tag));
    return md;
}

static const_dnnl_memory_desc_t asked(const_dnnl_primitive_t primitive, dnnl_query_t what) {
    const_dnnl_primitive_desc_t pd;
    CHECK(dnnl_primitive_get_primitive_desc(primitive, &pd));
    return dnnl_primitive_desc_query_md(pd, what, 0);
}

static dnnl_primitive_attr_t own_scratchpad(void) {
    dnnl_primitive_attr_t attr;
    CHECK(dnnl_primitive_attr_create(&attr));
    CHECK(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    return attr;
}

static dnnl_primitive_t finished(dnnl_primitive_desc_t pd, dnnl_primitive_attr_t attr) {
    dnnl_primitive_t made;
    CHECK(dnnl_primitive_create(&made, pd));
    CHECK(dnnl_primitive_desc_destroy(pd));
    CHECK(dnnl_primitive_attr_destroy(attr));
    return made;
}

/* As the runtime chooses: channels-last where AVX-512 is, else what oneDNN likes best. */
static dnnl_format_tag_t images(void) {
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core
               ? dnnl_nhwc
               : dnnl_format_tag_any;
}

static dnnl_primitive_t convolution_new(long ins, long outs) {
    const dnnl_dims_t stride = {1, 1}, none = {0, 0};
    dnnl_memory_desc_t src = layout(1, ins, SIDE, images());
    dnnl_memory_desc_t weights = layout(outs, ins, WINDOW, dnnl_format_tag_any);
    dnnl_memory_desc_t dst = layout(1, outs, OUT_SIDE, images());
    dnnl_primitive_attr_t attr = own_scratchpad();
    dnnl_primitive_desc_t pd;
    CHECK(dnnl_convolution_forward_primitive_desc_create(
        &pd, engine, dnnl_forward_inference, dnnl_convolution_direct, src, weights, NULL, dst,
        stride, none, none, none, attr));
    CHECK(dnnl_memory_desc_destroy(src));
    CHECK(dnnl_memory_desc_destroy(weights));
    CHECK(dnnl_memory_desc_destroy(dst));
    return finished(pd, attr);
}

static dnnl_primitive_t reorder_new(const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to) {
    dnnl_primitive_attr_t attr = own_scratchpad();
    dnnl_primitive_desc_t pd;
    CHECK(dnnl_reorder_primitive_desc_create(&pd, from, engine, to, engine, attr));
    return finished(pd, attr);
}

/* ---- running ---- */
static void *buffer_new(const_dnnl_memory_desc_t md) {
    size_t bytes = (dnnl_memory_desc_get_size(md) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *made = aligned_alloc(ALIGNMENT, bytes);
    if (!made) die("no memory for %zu bytes", bytes);
    return made;
}

static void *zeros(const_dnnl_memory_desc_t md) {
    return memset(buffer_new(md), 0, dnnl_memory_desc_get_size(md));
}

/* Scratch as large as the largest that was asked for. */
static void *scratchpad(size_t bytes) {
    static void *held;
    static size_t size;
    if (bytes > size) {
        free(held);
        held = aligned_alloc(ALIGNMENT, size = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
        if (!held) die("no memory for %zu bytes of scratch", bytes);
    }
    return held;
}

typedef struct {
    int number;
    const_dnnl_memory_desc_t md;
    void *data;
} argument;

static void run(dnnl_primitive_t primitive, int count, const argument *arguments) {
    dnnl_exec_arg_t given[4];
    const_dnnl_memory_desc_t scratch = asked(primitive, dnnl_query_scratchpad_md);
    size_t bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    int n = 0;
    for (; n < count; n++) {
        given[n].arg = arguments[n].number;
        CHECK(dnnl_memory_create(&given[n].memory, arguments[n].md, engine, arguments[n].data));
    }
    if (bytes) {
        given[n].arg = DNNL_ARG_SCRATCHPAD;
        CHECK(dnnl_memory_create(&given[n++].memory, scratch, engine, scratchpad(bytes)));
    }
    CHECK(dnnl_primitive_execute(primitive, stream, n, given));
    CHECK(dnnl_stream_wait(stream));
    for (int i = 0; i < n; i++) CHECK(dnnl_memory_destroy(given[i].memory));
}

static dnnl_primitive_t convolution(table *t, long ins, long outs) {
    for (int i = 0; i < t->count; i++)
        if (t->entries[i].ins == ins && t->entries[i].outs == outs)
            return used(t, &t->entries[i])->primitive;
    kept made = {.ins = ins, .outs = outs, .primitive = convolution_new(ins, outs)};
    return table_add(t, made)->primitive;
}

static dnnl_primitive_t reorder(table *t, const_dnnl_memory_desc_t from,
                                const_dnnl_memory_desc_t to) {
    for (int i = 0; i < t->count; i++)
        if (dnnl_memory_desc_equal(t->entries[i].from, from) &&
            dnnl_memory_desc_equal(t->entries[i].to, to))
            return used(t, &t->entries[i])->primitive;
    kept made = {.primitive = reorder_new(from, to)};
    made.from = asked(made.primitive, dnnl_query_src_md); /* those of the caller will go */
    made.to = asked(made.primitive, dnnl_query_dst_md);
    return table_add(t, made)->primitive;
}

static void convert(table *reorders, const_dnnl_memory_desc_t have, const_dnnl_memory_desc_t want,
                    void *data, void *result) {
    const argument arguments[] = {{DNNL_ARG_SRC, have, data}, {DNNL_ARG_DST, want, result}};
    run(reorder(reorders, have, want), 2, arguments);
}

static void step(table *convolutions, table *reorders, long ins, long outs) {
    dnnl_primitive_t primitive = convolution(convolutions, ins, outs);
    const_dnnl_memory_desc_t src = asked(primitive, dnnl_query_src_md);
    const_dnnl_memory_desc_t packed = asked(primitive, dnnl_query_weights_md);
    const_dnnl_memory_desc_t dst = asked(primitive, dnnl_query_dst_md);
    dnnl_memory_desc_t image = layout(1, ins, SIDE, dnnl_nchw);
    dnnl_memory_desc_t weights = layout(outs, ins, WINDOW, dnnl_nchw);
    dnnl_memory_desc_t answer = layout(1, outs, OUT_SIDE, dnnl_nchw);
    void *data = zeros(image), *kernel = zeros(weights), *result = buffer_new(answer);
    void *x = buffer_new(src), *w = buffer_new(packed), *y = buffer_new(dst);

    convert(reorders, image, src, data, x);
    convert(reorders, weights, packed, kernel, w);
    const argument arguments[] = {
        {DNNL_ARG_SRC, src, x}, {DNNL_ARG_WEIGHTS, packed, w}, {DNNL_ARG_DST, dst, y}};
    run(primitive, 3, arguments);
    convert(reorders, dst, answer, y, result);

    void *buffers[] = {data, kernel, result, x, w, y};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) free(buffers[i]);
    CHECK(dnnl_memory_desc_destroy(image));
    CHECK(dnnl_memory_desc_destroy(weights));
    CHECK(dnnl_memory_desc_destroy(answer));
}

/* ---- measuring ---- */
static double resident_mib(void) {
    long size, pages;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &pages) != 2) die("no /proc/self/statm");
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static int positive(const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || value < 1 || value > 1 << 20) die("%.50s is no number of at least 1", text);
    return (int)value;
}

int main(int argc, char **argv) {
    if (argc != 4) die("usage: channels WARM_UP CONVOLUTIONS REORDERS < pairs of channels");
    int warm_up = positive(argv[1]), steps = 0;
    table convolutions = table_new(positive(argv[2])), reorders = table_new(positive(argv[3]));
    /* Freed buffers are the system's again: malloc would keep some MiB of them, or not, as it
     * comes. */
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    CHECK(dnnl_set_primitive_cache_capacity(0));

    double before = 0;
    long ins, outs;
    for (; scanf("%ld %ld", &ins, &outs) == 2; steps++) {
        if (steps == warm_up) before = resident_mib();
        step(&convolutions, &reorders, ins, outs);
    }
    if (steps <= warm_up) die("%d pairs of channels, expected more than %d", steps, warm_up);
    double after = resident_mib();
    printf("{\"grown\": {\"rss\": %.3f}, \"after\": {\"rss\": %.3f, \"convolutions\": %d, "
           "\"reorders\": %d}, \"steps\": %d}\n",
           after - before, after, convolutions.count, reorders.count, steps);
    return 0;
}
