#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

const char *const mode_names[MODE_COUNT] = {"unfused", "fused", "naive"};
const char *const layout_names[LAYOUT_COUNT] = {"nhwc", "blk", "any"};

static void print_help(void) {
    fputs("usage: bound [options]\n"
          "  --net NAME       one of:",
          stdout);
    net_print_names(stdout);
    fputs("\n"
          "  --mode M         fused, unfused or naive (fused)\n"
          "  --layout L       nhwc, blk or any (nhwc)\n"
          "  --batch N        images in one run (1)\n"
          "  --threads T      OpenMP threads (1)\n"
          "  --rounds R       runs that are timed (50)\n"
          "  --warmup W       runs before them (5)\n"
          "  --seed S         of the random weights and input (1)\n"
          "  --load FILE      float32 parameters and input, see --list-params for their order\n"
          "  --dump FILE      writes the logits as float32\n"
          "  --json           one line for a program to read\n"
          "  --verbose        every step: implementation, layouts, time\n"
          "  --list-params    prints names and shapes in the order of --load, runs nothing\n"
          "  --serve          reads \"WARMUP RUNS\" from standard input, answers with times\n"
          "  --peak           measures multiply-add on registers instead of a net\n",
          stdout);
}

static int positive(const char *option, const char *text, int least) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || *end || end == text || value < least || value > INT_MAX)
        die("--%s %s: a whole number of at least %d is wanted", option, text, least);
    return (int)value;
}

static int choice(const char *option, const char *text, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0) return i;
    fprintf(stderr, "bound: --%s %s: choose one of", option, text);
    for (int i = 0; i < count; i++) fprintf(stderr, " %s", names[i]);
    fputc('\n', stderr);
    exit(1);
}

static const net_entry *chosen_net(const char *name) {
    const net_entry *found = net_find(name);
    if (found) return found;
    fprintf(stderr, "bound: --net %s: choose one of", name);
    net_print_names(stderr);
    fputc('\n', stderr);
    exit(1);
}

bound_options options_read(int argc, char **argv) {
    enum {
        NET = 1,
        MODE,
        LAYOUT,
        BATCH,
        THREADS,
        ROUNDS,
        WARMUP,
        SEED,
        LOAD,
        DUMP,
        JSON,
        VERBOSE,
        LIST,
        PEAK,
        SERVE,
        HELP
    };
    static const struct option known[] = {{"net", 1, 0, NET},
                                          {"mode", 1, 0, MODE},
                                          {"layout", 1, 0, LAYOUT},
                                          {"batch", 1, 0, BATCH},
                                          {"threads", 1, 0, THREADS},
                                          {"rounds", 1, 0, ROUNDS},
                                          {"warmup", 1, 0, WARMUP},
                                          {"seed", 1, 0, SEED},
                                          {"load", 1, 0, LOAD},
                                          {"dump", 1, 0, DUMP},
                                          {"json", 0, 0, JSON},
                                          {"verbose", 0, 0, VERBOSE},
                                          {"list-params", 0, 0, LIST},
                                          {"peak", 0, 0, PEAK},
                                          {"serve", 0, 0, SERVE},
                                          {"help", 0, 0, HELP},
                                          {0, 0, 0, 0}};
    bound_options o = {.net = net_find("resnet50_v1"),
                       .mode = MODE_FUSED,
                       .layout = LAYOUT_NHWC,
                       .batch = 1,
                       .threads = 1,
                       .rounds = 50,
                       .warmup = 5,
                       .seed = 1};
    int option, which = 0;
    while ((option = getopt_long(argc, argv, "", known, &which)) != -1) {
        const char *name = known[which].name;
        switch (option) {
        case NET: o.net = chosen_net(optarg); break;
        case MODE: o.mode = (plan_mode)choice(name, optarg, mode_names, MODE_COUNT); break;
        case LAYOUT:
            o.layout = (plan_layout)choice(name, optarg, layout_names, LAYOUT_COUNT);
            break;
        case BATCH: o.batch = positive(name, optarg, 1); break;
        case THREADS: o.threads = positive(name, optarg, 1); break;
        case ROUNDS: o.rounds = positive(name, optarg, 1); break;
        case WARMUP: o.warmup = positive(name, optarg, 0); break;
        case SEED: o.seed = (uint64_t)positive(name, optarg, 0); break;
        case LOAD: o.load = optarg; break;
        case DUMP: o.dump = optarg; break;
        case JSON: o.json = true; break;
        case VERBOSE: o.verbose = true; break;
        case LIST: o.list_params = true; break;
        case PEAK: o.peak = true; break;
        case SERVE: o.serve = true; break;
        case HELP: print_help(); exit(0);
        default: exit(1); /* getopt has said why */
        }
    }
    if (optind < argc) die("%s: not an option", argv[optind]);
    return o;
}
