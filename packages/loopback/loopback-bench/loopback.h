/* What server, client and main share. */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <stddef.h>

struct plan {
    long streams;       /* connections that send at the same time, each with a thread on either side */
    size_t stream_bytes; /* sent on each of them */
    size_t block_bytes; /* given to one write() */
    long round_trips;
    size_t message_bytes; /* of each round trip's request and of its answer */
};

/* Writes or reads exactly so many bytes, or ends the process with a message. */
void send_all(int connection, const char *bytes, size_t count);
void receive_all(int connection, char *bytes, size_t count);

/* Serves the plan on a listening socket: takes in all streams, then answers the round trips. */
void serve(int listener, const struct plan *plan);

/* Sends all streams and returns how long it took in seconds, until the server has confirmed the last byte. */
double send_streams(int port, const struct plan *plan);

/* Fills `passed_us` with the time of each round trip. */
void measure_round_trips(int port, const struct plan *plan, double *passed_us);

_Noreturn void fail(const char *what);

#endif
