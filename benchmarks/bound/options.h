/* The command line. */
#ifndef BOUND_OPTIONS_H
#define BOUND_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "plan.h"

typedef struct {
    const net_entry *net;
    plan_mode mode;
    plan_layout layout;
    int batch, threads, rounds, warmup;
    uint64_t seed;
    const char *load, *dump;
    bool json, verbose, list_params, peak, serve;
} bound_options;

bound_options options_read(int argc, char **argv); /* ends the program on --help and on mistakes */

extern const char *const mode_names[MODE_COUNT];
extern const char *const layout_names[LAYOUT_COUNT];

#endif
