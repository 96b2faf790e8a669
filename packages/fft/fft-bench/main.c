/* Transforms a signal forth and back, many times, and checks that it comes back. */
#include "fft.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long read_number(const char *name, const char *text, long least, long most)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || number < least || number > most) {
        fprintf(stderr, "fft: %s must be a whole number from %ld to %ld, not \"%s\"\n", name, least, most, text);
        exit(2);
    }
    return number;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: fft POINTS TRANSFORMS ALLOCATE\n");
        return 2;
    }
    size_t points = (size_t)read_number("POINTS", argv[1], 2, 1L << 26);
    long transforms = read_number("TRANSFORMS", argv[2], 2, 1L << 40);
    bool allocate = read_number("ALLOCATE", argv[3], 0, 1) == 1;
    if ((points & (points - 1)) != 0 || transforms % 2 != 0) {
        fprintf(stderr, "fft: POINTS must be a power of two, and TRANSFORMS an even number\n");
        return 2;
    }

    struct roots roots;
    double complex *first = malloc(points * sizeof *first), *signal = malloc(points * sizeof *signal);
    if (!first || !signal || !make_roots(&roots, points)) {
        perror("fft");
        return 1;
    }
    uint32_t state = 1;
    for (size_t at = 0; at < points; at++) {
        state = state * 1664525u + 1013904223u;
        first[at] = (double)state / UINT32_MAX - 0.5;
    }

    double error = 0, start_s = now_s();
    memcpy(signal, first, points * sizeof *signal);
    for (long done = 0; done < transforms; done++) {
        double complex *spare = take_spare(points, allocate);
        transform(&roots, signal, spare, done % 2 == 1);
        give_spare(spare, allocate);
    }
    double passed_s = now_s() - start_s;

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
    fprintf(file, "{\"transforms_per_s\": %.6g, \"transforms\": %ld, \"points\": %zu, \"allocate\": %d}\n",
            (double)transforms / passed_s, transforms, points, allocate);
    return fclose(file) != 0;
}
