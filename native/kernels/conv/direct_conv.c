/* Direct convolutions: reads and checks the call, then runs depthwise.c or few_channels.c. */
#include "ndrt_args.h"
#include "ndrt_direct_conv.h"
#include "onednn/ndrt_onednn.h"

/* Counts and sides are less than this, so that products of a few of them do not overflow. */
static const int64_t LEAST_REFUSED = (int64_t)1 << 31;

static int is_within(int64_t value, int64_t least) {
    return value >= least && value < LEAST_REFUSED;
}

static int in_range(const ndrt_direct_conv *job) {
    return is_within(job->images, 1) && is_within(job->channels, 1) && is_within(job->height, 1) &&
           is_within(job->width, 1) && is_within(job->filters, 1) && job->window >= 1 &&
           job->stride >= 1 && is_within(job->pad_y, 0) && is_within(job->pad_x, 0);
}

/* FEW_CHANNELS has the arguments of DEPTHWISE. */
static ndrt_direct_conv job_of(const ndrt_kernel_call *call) {
    const ndrt_depthwise_args k = ndrt_read_depthwise(call);
    ndrt_direct_conv job = {.out = k.out,
                            .data = k.data,
                            .weights = k.weights,
                            .bias = k.bias,
                            .images = k.images,
                            .channels = k.channels,
                            .height = k.height,
                            .width = k.width,
                            .low = k.low,
                            .high = k.high,
                            .filters = k.filters,
                            .window = k.window,
                            .stride = k.stride,
                            .pad_y = k.pad_y,
                            .pad_x = k.pad_x};
    if (!in_range(&job)) return job;
    const int64_t room_y = job.height + 2 * job.pad_y - job.window;
    const int64_t room_x = job.width + 2 * job.pad_x - job.window;
    job.rows = room_y < 0 ? 0 : room_y / job.stride + 1;
    job.columns = room_x < 0 ? 0 : room_x / job.stride + 1;
    return job;
}

static int known(int kernel, const ndrt_direct_conv *job) {
    if (kernel == NDRT_KERNEL_DEPTHWISE)
        return job->window == NDRT_DEPTHWISE_WINDOW && job->filters == job->channels &&
               job->stride <= 2;
    return job->window <= NDRT_FEW_CHANNELS_WINDOW && job->channels <= NDRT_FEW_CHANNELS_MOST &&
           (job->stride <= 2 || job->stride == 4);
}

static ndrt_status check(const ndrt_kernel_call *call) {
    const char *name = call->kernel == NDRT_KERNEL_DEPTHWISE ? "depthwise" : "few channels";
    const ndrt_direct_conv job = job_of(call);
    if (!in_range(&job)) return ndrt_fail(NDRT_INVALID, "%s: a number is out of range", name);
    if (!known(call->kernel, &job) || job.filters % NDRT_PACKED_CHANNELS || job.rows < 1 ||
        job.columns < 1)
        return ndrt_fail(NDRT_INVALID,
                         "%s: windows of %d by strides of %d over %lld channels of %lld x %lld, "
                         "%lld filters",
                         name, job.window, job.stride, (long long)job.channels,
                         (long long)job.height, (long long)job.width, (long long)job.filters);
    return ndrt_need_arrays(call, 3);
}

static int threads(const ndrt_kernel_call *call) {
    const ndrt_direct_conv job = job_of(call);
    int64_t read = call->kernel == NDRT_KERNEL_DEPTHWISE ? 1 : job.channels;
    int64_t made = ndrt_product(ndrt_product(job.images, job.rows, job.columns), job.filters, 1);
    int64_t work = ndrt_product_work(ndrt_product(made, job.window * job.window, read), 0);
    return ndrt_team_for(call, work > made ? work : made);
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_direct_conv job = job_of(call);
    if (call->kernel == NDRT_KERNEL_DEPTHWISE)
        ndrt_depthwise(&job, nthreads);
    else
        ndrt_few_channels(&job, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_direct_conv = {"direct convolution", check, threads, execute};
