/* Reads the plan, makes the server's process, measures as its client, and writes metrics.json in the end. */
#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static long read_number(const char *name, const char *text, long least, long most)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || number < least || number > most) {
        fprintf(stderr, "loopback: %s must be a whole number from %ld to %ld, not \"%s\"\n", name, least, most,
                text);
        exit(2);
    }
    return number;
}

/* A socket that listens on 127.0.0.1, on a port that the kernel chooses. */
static int listen_here(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 128) < 0 || getsockname(listener, (struct sockaddr *)&address, &length) < 0)
        fail("loopback: a socket on 127.0.0.1");
    *port = ntohs(address.sin_port);
    return listener;
}

static void write_metrics(const struct plan *plan, double streams_s, const double *passed_us)
{
    FILE *file = fopen("metrics.json", "w");
    double sent = (double)plan->streams * (double)plan->stream_bytes;

    if (!file)
        fail("metrics.json");
    fprintf(file, "{\"bandwidth_bytes_per_s\": %.8g, \"sent_bytes\": %.0f, \"streams\": %ld", sent / streams_s, sent,
            plan->streams);
    for (long at = 0; at < plan->round_trips; at++)
        fprintf(file, "%s%.3f", at ? ", " : ", \"round_trip_us\": [", passed_us[at]);
    fprintf(file, "%s}\n", plan->round_trips ? "]" : "");
    if (fclose(file) != 0)
        fail("metrics.json");
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: loopback STREAMS MEGABYTES BLOCK_BYTES ROUND_TRIPS MESSAGE_BYTES\n");
        return 2;
    }
    long streams = read_number("STREAMS", argv[1], 1, 100);
    long megabytes = read_number("MEGABYTES", argv[2], 1, 1 << 20);
    const struct plan plan = {
        .streams = streams,
        .stream_bytes = (size_t)megabytes * 1000000 / (size_t)streams,
        .block_bytes = (size_t)read_number("BLOCK_BYTES", argv[3], 1, 1 << 26),
        .round_trips = read_number("ROUND_TRIPS", argv[4], 0, 1000000),
        .message_bytes = (size_t)read_number("MESSAGE_BYTES", argv[5], 1, 1 << 20),
    };
    double *passed_us = calloc((size_t)plan.round_trips + 1, sizeof *passed_us);
    int port, status, listener = listen_here(&port);

    if (!passed_us)
        fail("loopback");
    signal(SIGPIPE, SIG_IGN);
    pid_t parent = getpid(), server = fork();
    if (server < 0)
        fail("loopback: fork");
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            serve(listener, &plan);
        return 0;
    }
    close(listener);
    double streams_s = send_streams(port, &plan);
    measure_round_trips(port, &plan, passed_us);
    if (waitpid(server, &status, 0) < 0 || status != 0) {
        fprintf(stderr, "loopback: the server failed\n");
        return 1;
    }
    write_metrics(&plan, streams_s, passed_us);
    free(passed_us);
    return 0;
}
