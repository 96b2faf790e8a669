/* The work of one wake-up: compressing a fixed text, entirely in memory. */
#ifndef LATT_TASK_H
#define LATT_TASK_H

#include <stddef.h>
#include <stdint.h>

struct task {
    size_t bytes;        /* of the text; 0: no work */
    unsigned char *text;
    unsigned char *packed;
    int32_t *newest;     /* by hash of four bytes: where they occurred last, or -1 */
    int32_t *older;      /* by place: the occurrence before that with the same hash, or -1 */
};

/* Makes a task on a text of `bytes` bytes, the same text in every process and thread.
   Returns 0, or -1 when there is no memory. */
int make_task(struct task *task, size_t bytes);

/* Compresses the text once; returns the compressed size in bytes, which is always the same. */
size_t run_task(struct task *task);

#endif
