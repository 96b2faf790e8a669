/* How much is measured, and when. */
#include "fft.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double now_s(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double processor_s(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

long read_number(const char *name, const char *text, long least, long most)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || number < least || number > most) {
        fprintf(stderr, "fft: %s must be a whole number from %ld to %ld, not \"%s\"\n", name, least, most, text);
        exit(2);
    }
    return number;
}

struct plan read_plan(long transforms, long batch)
{
    const char *measurements = getenv("DATAMILL_MEASUREMENTS"), *warmup = getenv("DATAMILL_WARMUP");

    if (!measurements)
        return (struct plan){transforms, 1};
    long wanted = read_number("DATAMILL_MEASUREMENTS", measurements, 1, 1L << 32);
    return (struct plan){batch, wanted + (warmup ? read_number("DATAMILL_WARMUP", warmup, 0, 1L << 32) : 0)};
}
