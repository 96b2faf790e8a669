/* Transforms a signal forth and back, many times, and checks that it comes back. */
#include "fft.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_list(FILE *file, const char *name, const double *values, long count)
{
    for (long at = 0; at < count; at++)
        fprintf(file, "%s%s%s%.9g", at ? ", " : ", \"", at ? "" : name, at ? "" : "\": [", values[at]);
    fprintf(file, "]");
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: fft POINTS TRANSFORMS BATCH ALLOCATE\n");
        return 2;
    }
    size_t points = (size_t)read_number("POINTS", argv[1], 2, 1L << 26);
    long transforms = read_number("TRANSFORMS", argv[2], 2, 1L << 40);
    long batch = read_number("BATCH", argv[3], 2, 1L << 40);
    bool allocate = read_number("ALLOCATE", argv[4], 0, 1) == 1;
    if ((points & (points - 1)) != 0 || transforms % 2 != 0 || batch % 2 != 0) {
        fprintf(stderr, "fft: POINTS must be a power of two, and TRANSFORMS and BATCH even numbers\n");
        return 2;
    }
    struct plan plan = read_plan(transforms, batch);

    struct roots roots;
    double complex *first = malloc(points * sizeof *first), *signal = malloc(points * sizeof *signal);
    double *times_s = malloc((size_t)plan.measurements * sizeof *times_s);
    double *processor_times_s = malloc((size_t)plan.measurements * sizeof *processor_times_s);
    if (!first || !signal || !times_s || !processor_times_s || !make_roots(&roots, points)) {
        perror("fft");
        return 1;
    }
    uint32_t state = 1;
    for (size_t at = 0; at < points; at++) {
        state = state * 1664525u + 1013904223u;
        first[at] = (double)state / UINT32_MAX - 0.5;
    }

    double error = 0;
    memcpy(signal, first, points * sizeof *signal);
    double start_s = now_s(), last_s = start_s, last_processor_s = processor_s();
    for (long measured = 0; measured < plan.measurements; measured++) {
        for (long done = 0; done < plan.batch; done++) {
            double complex *spare = take_spare(points, allocate);
            transform(&roots, signal, spare, done % 2 == 1);
            give_spare(spare, allocate);
        }
        double read_s = now_s(), read_processor_s = processor_s();
        times_s[measured] = (read_s - last_s) / (double)plan.batch;
        processor_times_s[measured] = (read_processor_s - last_processor_s) / (double)plan.batch;
        last_s = read_s;
        last_processor_s = read_processor_s;
    }

    for (size_t at = 0; at < points; at++)
        error = fmax(error, cabs(signal[at] - first[at]));
    if (!(error < 1e-9)) {
        fprintf(stderr, "fft: the signal came back with an error of %g\n", error);
        return 1;
    }
    FILE *file = fopen("metrics.json", "w");
    if (!file) {
        perror("metrics.json");
        return 1;
    }
    transforms = plan.batch * plan.measurements;
    fprintf(file, "{\"transforms_per_s\": %.6g, \"transforms\": %ld, \"points\": %zu, \"allocate\": %d",
            (double)transforms / (last_s - start_s), transforms, points, allocate);
    write_list(file, "transform_time_s", times_s, plan.measurements);
    write_list(file, "transform_cpu_time_s", processor_times_s, plan.measurements);
    fprintf(file, "}\n");
    return fclose(file) != 0;
}
