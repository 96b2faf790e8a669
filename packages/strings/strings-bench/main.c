/* Runs each mix in all threads at once, one mix after the other, and writes operations per second of each. */
#include "strings.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct mix {
    const char *name;
    uint64_t (*run)(struct draws *, long);
    /* Operations in one of OPERATIONS, so that each mix takes about as long. */
    long share;
};

static const struct mix MIXES[] = {
    {"text", mix_texts, 8},
    {"small", mix_small, 10},
    {"sizes", mix_sizes, 2},
    {"growing", mix_growing, 60},
};

struct thread {
    pthread_t id;
    const struct mix *mix;
    pthread_barrier_t *start;
    struct draws draws;
    long operations;
    uint64_t digest;
    double start_s, end_s;
};

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *run_thread(void *argument)
{
    struct thread *thread = argument;

    pthread_barrier_wait(thread->start);
    thread->start_s = now_s();
    thread->digest = thread->mix->run(&thread->draws, thread->operations);
    thread->end_s = now_s();
    return NULL;
}

/* Operations of all threads per second, from when the first one starts, all being ready, to when the last one ends:
 * on their own clocks, since this thread may wake up only when a short mix is over. */
static double run_mix(const struct mix *mix, struct thread *threads, long count, long operations)
{
    pthread_barrier_t start;

    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (long at = 0; at < count; at++) {
        threads[at].mix = mix;
        threads[at].start = &start;
        threads[at].operations = operations * mix->share;
        threads[at].draws.state = (uint64_t)at + 1;
        int error = pthread_create(&threads[at].id, NULL, run_thread, &threads[at]);
        if (error) {
            fprintf(stderr, "strings: no thread: %s\n", strerror(error));
            exit(1);
        }
    }
    double start_s = INFINITY, end_s = 0;
    for (long at = 0; at < count; at++) {
        pthread_join(threads[at].id, NULL);
        start_s = fmin(start_s, threads[at].start_s);
        end_s = fmax(end_s, threads[at].end_s);
    }
    double passed_s = end_s - start_s;
    pthread_barrier_destroy(&start);
    return (double)(count * operations * mix->share) / passed_s;
}

static long read_number(const char *name, const char *text, long least, long most)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || number < least || number > most) {
        fprintf(stderr, "strings: %s must be a whole number from %ld to %ld, not \"%s\"\n", name, least, most,
                text);
        exit(2);
    }
    return number;
}

/* What the experiment asks for in the environment, warm-up included; 0 when it asks for nothing. */
static long count_measurements(void)
{
    const char *wanted = getenv("DATAMILL_MEASUREMENTS"), *warmup = getenv("DATAMILL_WARMUP");

    if (!wanted)
        return 0;
    return read_number("DATAMILL_MEASUREMENTS", wanted, 1, 1L << 32) +
           (warmup ? read_number("DATAMILL_WARMUP", warmup, 0, 1L << 32) : 0);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: strings OPERATIONS BATCH THREADS\n");
        return 2;
    }
    long operations = read_number("OPERATIONS", argv[1], 1, 1L << 40);
    long batch = read_number("BATCH", argv[2], 1, 1L << 40);
    long count = read_number("THREADS", argv[3], 1, 1024);
    long measurements = count_measurements();
    struct thread *threads = calloc((size_t)count, sizeof *threads);
    FILE *file = fopen("metrics.json", "w");
    if (!threads || !file) {
        perror("strings");
        return 1;
    }
    uint64_t digest = 0;
    for (size_t at = 0; at < sizeof MIXES / sizeof *MIXES; at++) {
        fprintf(file, "%s\"%s_ops_per_s\": ", at ? ", " : "{", MIXES[at].name);
        if (!measurements)
            fprintf(file, "%.6g", run_mix(&MIXES[at], threads, count, operations));
        for (long measured = 0; measured < measurements; measured++)
            fprintf(file, "%s%.6g", measured ? ", " : "[", run_mix(&MIXES[at], threads, count, batch));
        if (measurements)
            fprintf(file, "]");
        for (long thread = 0; thread < count; thread++)
            digest = digest * 31 + threads[thread].digest;
    }
    /* 32 bits: what a double holds exactly. */
    fprintf(file, ", \"threads\": %ld, \"digest\": %lu}\n", count, (unsigned long)(digest & 0xffffffffu));
    free(threads);
    return fclose(file) != 0;
}
