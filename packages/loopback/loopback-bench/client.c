/* The process that sends and measures. */
#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct stream {
    pthread_t thread;
    int connection;
    const struct plan *plan;
};

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) < 0 ||
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
        fail("loopback: connect");
    return connection;
}

static void *send_stream(void *argument)
{
    struct stream *stream = argument;
    size_t left = stream->plan->stream_bytes, block = stream->plan->block_bytes;
    char *bytes = malloc(block), confirmed;

    if (!bytes)
        fail("loopback: client");
    memset(bytes, 'x', block);
    while (left > 0) {
        size_t part = left < block ? left : block;
        send_all(stream->connection, bytes, part);
        left -= part;
    }
    receive_all(stream->connection, &confirmed, 1);
    close(stream->connection);
    free(bytes);
    return NULL;
}

double send_streams(int port, const struct plan *plan)
{
    struct stream *streams = calloc((size_t)plan->streams, sizeof *streams);

    if (!streams)
        fail("loopback: client");
    for (long at = 0; at < plan->streams; at++)
        streams[at] = (struct stream){.connection = connect_to(port), .plan = plan};
    double start_s = now_s();
    for (long at = 0; at < plan->streams; at++)
        if (pthread_create(&streams[at].thread, NULL, send_stream, &streams[at]))
            fail("loopback: thread of the client");
    for (long at = 0; at < plan->streams; at++)
        pthread_join(streams[at].thread, NULL);
    double passed_s = now_s() - start_s;
    free(streams);
    return passed_s;
}

void measure_round_trips(int port, const struct plan *plan, double *passed_us)
{
    char *message = malloc(plan->message_bytes);
    int connection = connect_to(port);

    if (!message)
        fail("loopback: client");
    memset(message, 'x', plan->message_bytes);
    for (long at = 0; at < plan->round_trips; at++) {
        double start_s = now_s();
        send_all(connection, message, plan->message_bytes);
        receive_all(connection, message, plan->message_bytes);
        passed_us[at] = (now_s() - start_s) * 1e6;
    }
    close(connection);
    free(message);
}
