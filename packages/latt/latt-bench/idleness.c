/* What vmstat reads, read without a process: section 4.5 of the ASPLOS 2013 paper collects an idleness value with
   every latency. The kernel counts in ticks of usually 10 ms, so that one round has a coarse value and their mean over
   a trial a fine one. */
#define _GNU_SOURCE
#include "idleness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Idle and waiting for disks is idle, as in vmstat's columns id and wa; guests are part of user time. */
static int look(int file, unsigned long long *idle, unsigned long long *all)
{
    char text[512];
    unsigned long long ticks[8];
    ssize_t got = pread(file, text, sizeof text - 1, 0);
    if (got <= 0)
        return -1;
    text[got] = 0;
    if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1], &ticks[2], &ticks[3],
               &ticks[4], &ticks[5], &ticks[6], &ticks[7]) != 8)
        return -1;
    *idle = ticks[3] + ticks[4];
    *all = 0;
    for (int place = 0; place < 8; place++)
        *all += ticks[place];
    return 0;
}

int begin_idleness(struct idleness *idleness, long room)
{
    idleness->file = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    idleness->shares = malloc((size_t)room * sizeof *idleness->shares);
    idleness->room = room;
    if (idleness->file < 0 || !idleness->shares)
        return -1;
    memset(idleness->shares, 0xff, (size_t)room * sizeof *idleness->shares); /* no page fault while measuring */
    return look(idleness->file, &idleness->idle, &idleness->all);
}

int note_idleness(struct idleness *idleness, long round)
{
    unsigned long long idle, all;
    if (!idleness->shares)
        return 0;
    if (round >= idleness->room || look(idleness->file, &idle, &all) != 0)
        return -1;
    /* Less than a tick may have passed: then the round is as idle as the one before. */
    if (all > idleness->all)
        idleness->shares[round] = (double)(idle - idleness->idle) / (double)(all - idleness->all);
    else
        idleness->shares[round] = round ? idleness->shares[round - 1] : 0;
    if (idleness->shares[round] > 1)
        idleness->shares[round] = 1; /* iowait may be counted back */
    idleness->idle = idle;
    idleness->all = all;
    return 0;
}
