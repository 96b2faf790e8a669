/* How idle the processors were, round by round. */
#ifndef LATT_IDLENESS_H
#define LATT_IDLENESS_H

struct idleness {
    double *shares;            /* of each round, from 0 to 1; NULL: nobody asks */
    long room;
    int file;                  /* /proc/stat, kept open */
    unsigned long long idle, all;
};

/* Begins to look; 0, or -1 when the kernel does not tell or there is no memory. */
int begin_idleness(struct idleness *idleness, long room);

/* Notes the share of processor time that was idle since the last look, as that of a round; 0, or -1. */
int note_idleness(struct idleness *idleness, long round);

#endif
