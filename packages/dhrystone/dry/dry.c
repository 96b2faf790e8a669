#if 0
# Self-compiling, as in the papers: to a shell, this file is a script that compiles itself and its neighbours. The
# compiler is found through PATH, one call for each file and one for linking, so that every build factor acts.
set -eu
cd "$(dirname "$0")"
for name in dry choices numbers records texts; do
    cc -O2 -std=gnu11 -Wall -Wextra -c "$name.c"
done
cc -o dry dry.o choices.o numbers.o records.o texts.o
exit 0
#endif
/* Dhrystone-style: a mix of assignments, comparisons, calls, records and texts, as in systems programs. Written anew
 * after the published description of the mix (R. P. Weicker, CACM 27(10), 1984); no code is taken from it. */
#include "dry.h"

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

/* One iteration: about 100 statements, most of them simple, a third of them calls across files. */
static long iterate(struct world *world, long iteration)
{
    char second[TEXT_BYTES];
    long low = 2, high = 3, sum;

    set_letter(world, 'A' + (char)(iteration & 3));
    copy_text(second, iteration & 1 ? "A PROGRAM OF MANY SMALL STEPS," : "A PROGRAM OF A FEW LONG STEPS,");
    world->flag = !texts_are_ordered(world->text, second);
    while (low < high) {
        sum = 5 * low - high;
        add_two(low, high, &sum);
        low++;
    }
    fill_tables(world->row, world->table, low, high + (iteration & 7));
    walk_records(world);
    for (char letter = 'A'; letter <= world->letter; letter++)
        if (choose_colour(letter) == choose_other(world->colour))
            world->colour = choose_other(world->colour);
    high = low * (iteration & 15);
    low = high / (sum | 1);
    low = 7 * (high - sum) - low;
    adjust(world, &low);
    return low + world->row[8] + world->record->number + world->colour + world->flag + second[3];
}

static long read_number(const char *name, const char *text, long least)
{
    char *end = NULL;
    long number = text ? strtol(text, &end, 10) : 0;

    if (!end || end == text || *end || number < least) {
        fprintf(stderr, "dry: %s must be a whole number from %ld on\n", name, least);
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
    long before = warmup ? read_number("DATAMILL_WARMUP", warmup, 0) : 0;
    return before + read_number("DATAMILL_MEASUREMENTS", wanted, 1);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: dry ITERATIONS BATCH\n");
        return 2;
    }
    long iterations = read_number("ITERATIONS", argv[1], 1), batch = read_number("BATCH", argv[2], 1);
    long measurements = count_measurements();
    struct world world;
    unsigned long digest = 0;

    if (!measurements) {
        measurements = 1;
        batch = iterations;
    }
    double *times_s = malloc((size_t)measurements * sizeof *times_s);
    if (!times_s || !make_world(&world)) {
        perror("dry");
        return 1;
    }
    iterations = 0;
    double start_s = now_s(), last_s = start_s;
    for (long measured = 0; measured < measurements; measured++) {
        for (long done = 0; done < batch; done++)
            digest = digest * 31 + (unsigned long)iterate(&world, iterations++);
        double read_s = now_s();
        times_s[measured] = (read_s - last_s) / (double)batch;
        last_s = read_s;
    }
    double passed_s = last_s - start_s;

    FILE *file = fopen("metrics.json", "w");
    if (!file) {
        perror("metrics.json");
        return 1;
    }
    /* 32 bits: what a double holds exactly. */
    fprintf(file, "{\"iterations\": %ld, \"iterations_per_s\": %.6g, \"digest\": %lu", iterations,
            (double)iterations / passed_s, digest & 0xffffffffUL);
    for (long measured = 0; measured < measurements; measured++)
        fprintf(file, "%s%.9g", measured ? ", " : ", \"iteration_time_s\": [", times_s[measured]);
    fprintf(file, "]}\n");
    return fclose(file) != 0;
}
