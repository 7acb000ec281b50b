/* What the kernels for convolutions share: what they are told, and what they refuse. */
#include "kernels/ndrt_avx512.h"
#include "ndrt_windows.h"

/* Images and sides are less than this: products of a few of them are numbers. */
static const int64_t LEAST_REFUSED = (int64_t)1 << 31;

static ndrt_windows job_of(const ndrt_kernel_call *call) {
    ndrt_windows job = {
        .out = call->data[0],
        .data = call->data[1],
        .weights = call->data[2],
        .bias = call->data[3],
        .images = call->dims[0],
        .channels = call->dims[1],
        .height = call->dims[2],
        .width = call->dims[3],
        .low = (float)call->scalars[0],
        .high = (float)call->scalars[1],
        .filters = (int64_t)call->scalars[2],
        .window = (int)call->scalars[3],
        .stride = (int)call->scalars[4],
        .pad_y = (int64_t)call->scalars[5],
        .pad_x = (int64_t)call->scalars[6],
    };
    int64_t room_y = job.height + 2 * job.pad_y - job.window;
    int64_t room_x = job.width + 2 * job.pad_x - job.window;
    job.rows = room_y < 0 || job.stride < 1 ? 0 : room_y / job.stride + 1;
    job.columns = room_x < 0 || job.stride < 1 ? 0 : room_x / job.stride + 1;
    return job;
}

static int in_range(const ndrt_kernel_call *call) {
    for (int i = 0; i < 4; i++)
        if (call->dims[i] < 1 || call->dims[i] >= LEAST_REFUSED) return 0;
    for (int i = 2; i < 7; i++)
        if (!(call->scalars[i] >= (i < 5) && call->scalars[i] < (double)LEAST_REFUSED)) return 0;
    return call->nthreads >= 0;
}

static int known(int kernel, const ndrt_windows *job) {
    if (kernel == NDRT_KERNEL_DEPTHWISE)
        return job->window == NDRT_DEPTHWISE_WINDOW && job->filters == job->channels &&
               job->stride <= 2;
    return job->window <= NDRT_FEW_CHANNELS_WINDOW && job->channels <= NDRT_FEW_CHANNELS_MOST &&
           (job->stride <= 2 || job->stride == 4);
}

static ndrt_status check(const ndrt_kernel_call *call) {
    const char *name = call->kernel == NDRT_KERNEL_DEPTHWISE ? "depthwise" : "few channels";
    if (!in_range(call)) return ndrt_fail(NDRT_INVALID, "%s: a number is out of range", name);
    const ndrt_windows job = job_of(call);
    if (!known(call->kernel, &job) || job.filters % LANES || job.rows < 1 || job.columns < 1)
        return ndrt_fail(NDRT_INVALID,
                         "%s: windows of %d by strides of %d over %lld channels of %lld x %lld, "
                         "%lld filters",
                         name, job.window, job.stride, (long long)job.channels,
                         (long long)job.height, (long long)job.width, (long long)job.filters);
    for (int i = 0; i < 3; i++)
        if (!call->data[i]) return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    return NDRT_OK;
}

static int threads(const ndrt_kernel_call *call) {
    const ndrt_windows job = job_of(call);
    int64_t read = call->kernel == NDRT_KERNEL_DEPTHWISE ? 1 : job.channels;
    int64_t made = ndrt_product(ndrt_product(job.images, job.rows, job.columns), job.filters, 1);
    int64_t work = ndrt_product_work(ndrt_product(made, job.window * job.window, read), 0);
    return ndrt_team_for(call, work > made ? work : made);
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_windows job = job_of(call);
    if (call->kernel == NDRT_KERNEL_DEPTHWISE)
        ndrt_depthwise(&job, nthreads);
    else
        ndrt_few_channels(&job, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_windows = {"windows", check, threads, execute};
