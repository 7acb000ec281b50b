/* What the makers share: directions, missing layouts, windows that slide over spatial dims. */
#include "ndrt_onednn.h"

ndrt_status ndrt_need(const char *kind, const char *field, const ndrt_desc *desc) {
    return desc ? NDRT_OK : ndrt_fail(NDRT_INVALID, "%s: the spec has no %s", kind, field);
}

ndrt_status ndrt_no_direction(const char *kind, int direction) {
    return ndrt_fail(NDRT_INVALID, "%s: direction %d is none of its own", kind, direction);
}

dnnl_prop_kind_t ndrt_prop(int direction) {
    switch (direction) {
    case NDRT_FORWARD_TRAINING: return dnnl_forward_training;
    case NDRT_FORWARD_INFERENCE: return dnnl_forward_inference;
    case NDRT_BACKWARD: return dnnl_backward;
    case NDRT_BACKWARD_DATA: return dnnl_backward_data;
    case NDRT_BACKWARD_WEIGHTS: return dnnl_backward_weights;
    default: return dnnl_prop_kind_undef;
    }
}

int ndrt_is_forward(int direction) {
    return direction == NDRT_FORWARD_TRAINING || direction == NDRT_FORWARD_INFERENCE;
}

ndrt_status ndrt_window_read(const char *kind, const ndrt_spec *spec, const ndrt_desc *src,
                             ndrt_window *window) {
    TRY(ndrt_need(kind, "src", src));
    int nspatial = ndrt_desc_read(src)->ndims - 2;
    if (nspatial < 1 || nspatial > NDRT_MAX_SPATIAL || spec->nspatial != nspatial)
        return ndrt_fail(NDRT_INVALID, "%s: %d spatial dims in the spec, %d in src", kind,
                         spec->nspatial, nspatial);
    *window = (ndrt_window){.strides = {0}};
    for (int i = 0; i < nspatial; i++) {
        window->kernel[i] = spec->kernel[i];
        window->strides[i] = spec->strides[i];
        window->dilates[i] = spec->dilates[i];
        window->pad_l[i] = spec->pad_l[i];
        window->pad_r[i] = spec->pad_r[i];
        if (spec->strides[i] < 1)
            return ndrt_fail(NDRT_INVALID, "%s: stride %lld", kind, (long long)spec->strides[i]);
    }
    return NDRT_OK;
}
