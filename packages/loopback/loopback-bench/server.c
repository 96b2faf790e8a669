/* The process that receives. */
#include "loopback.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct stream {
    pthread_t thread;
    int connection;
    const struct plan *plan;
};

static int accept_one(int listener)
{
    int connection = accept(listener, NULL, NULL), on = 1;

    if (connection < 0 || setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
        fail("loopback: accept");
    return connection;
}

/* Takes in a whole stream and confirms it with one byte. */
static void *take_stream(void *argument)
{
    struct stream *stream = argument;
    size_t left = stream->plan->stream_bytes, block = stream->plan->block_bytes;
    char *bytes = malloc(block);

    if (!bytes)
        fail("loopback: server");
    while (left > 0) {
        size_t part = left < block ? left : block;
        receive_all(stream->connection, bytes, part);
        left -= part;
    }
    send_all(stream->connection, "", 1);
    close(stream->connection);
    free(bytes);
    return NULL;
}

void serve(int listener, const struct plan *plan)
{
    struct stream *streams = calloc((size_t)plan->streams, sizeof *streams);
    char *message = malloc(plan->message_bytes);

    if (!streams || !message)
        fail("loopback: server");
    for (long at = 0; at < plan->streams; at++) {
        streams[at] = (struct stream){.connection = accept_one(listener), .plan = plan};
        if (pthread_create(&streams[at].thread, NULL, take_stream, &streams[at]))
            fail("loopback: thread of the server");
    }
    for (long at = 0; at < plan->streams; at++)
        pthread_join(streams[at].thread, NULL);
    int connection = accept_one(listener);
    for (long at = 0; at < plan->round_trips; at++) {
        receive_all(connection, message, plan->message_bytes);
        send_all(connection, message, plan->message_bytes);
    }
    close(connection);
    free(message);
    free(streams);
}
