/* A CPU-bound background load: every thread compresses the same amount of text, then the program ends.

   load MEGABYTES [THREADS]     MEGABYTES for each thread; THREADS: one for each processor that it may use */
#define _GNU_SOURCE
#include "task.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASK_BYTES = 65536 };

static long tasks_of_thread;

static void *work(void *nothing)
{
    (void)nothing;
    struct task task;
    if (make_task(&task, TASK_BYTES) != 0)
        return "no memory";
    size_t expected = run_task(&task);
    for (long done = 1; done < tasks_of_thread; done++)
        if (run_task(&task) != expected)
            return "a task gave another result than before";
    return NULL;
}

static long read_number(const char *text, const char *what, long most)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end || number < 1 || number > most) {
        fprintf(stderr, "load: %s must be a whole number from 1 to %ld, not \"%s\"\n", what, most, text);
        exit(2);
    }
    return number;
}

int main(int count, char **arguments)
{
    if (count < 2 || count > 3) {
        fputs("usage: load MEGABYTES [THREADS]\n", stderr);
        return 2;
    }
    tasks_of_thread = read_number(arguments[1], "MEGABYTES", 1000000) * 1000000 / TASK_BYTES;
    cpu_set_t processors;
    long threads = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
    if (count == 3)
        threads = read_number(arguments[2], "THREADS", 1024);

    pthread_t *others = calloc((size_t)threads, sizeof *others);
    if (!others)
        return 1;
    for (long number = 0; number < threads; number++)
        if (pthread_create(&others[number], NULL, work, NULL) != 0) {
            fputs("load: a thread cannot be started\n", stderr);
            return 1;
        }
    for (long number = 0; number < threads; number++) {
        void *complaint;
        pthread_join(others[number], &complaint);
        if (complaint) {
            fprintf(stderr, "load: %s\n", (const char *)complaint);
            return 1;
        }
    }
    free(others);
    return 0;
}
