/* Measures how long a web server takes for a number of requests, of which some are always under way, in one
   thread; what Apache's ab does. One connection a request.

   client PORT REQUESTS CONCURRENCY WAIT_S */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct exchange {
    int socket;
    int sent;                  /* whether the request is on its way */
    double started_s;
    char head[256];            /* the beginning of the answer */
    size_t got;
};

static struct sockaddr_in place;
static const char REQUEST[] = "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n";

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fail(const char *what)
{
    fprintf(stderr, "client: %s: %s\n", what, strerror(errno));
    exit(1);
}

static long read_number(const char *text, const char *name, long least, long most)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end || number < least || number > most) {
        fprintf(stderr, "client: %s must be a whole number from %ld to %ld, not \"%s\"\n", name, least, most, text);
        exit(2);
    }
    return number;
}

static void begin(struct exchange *exchange)
{
    exchange->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (exchange->socket < 0)
        fail("a socket");
    exchange->sent = 0;
    exchange->got = 0;
    exchange->started_s = now_s();
    if (connect(exchange->socket, (struct sockaddr *)&place, sizeof place) != 0 && errno != EINPROGRESS)
        fail("connecting");
}

/* Returns 1 when the exchange is over, and fails when its answer is not whole. */
static int advance(struct exchange *exchange)
{
    if (!exchange->sent) {
        ssize_t sent = send(exchange->socket, REQUEST, sizeof REQUEST - 1, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            return 0;
        if (sent != (ssize_t)sizeof REQUEST - 1)
            fail("sending a request");
        exchange->sent = 1;
        return 0;
    }
    char piece[65536];
    for (;;) {
        ssize_t more = read(exchange->socket, piece, sizeof piece);
        if (more < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (more < 0)
            fail("reading an answer");
        if (more == 0)
            break;
        size_t room = sizeof exchange->head - 1;
        if (exchange->got < room) {
            size_t take = room - exchange->got < (size_t)more ? room - exchange->got : (size_t)more;
            memcpy(exchange->head + exchange->got, piece, take);
            exchange->head[exchange->got + take] = 0;
        }
        exchange->got += (size_t)more;
    }
    size_t length = 0;
    const char *body = exchange->got ? strstr(exchange->head, "\r\n\r\n") : NULL;
    if (!body || sscanf(exchange->head, "HTTP/1.0 200 OK\r\nContent-Length: %zu", &length) != 1 ||
        exchange->got != (size_t)(body + 4 - exchange->head) + length) {
        fputs("client: the server's answer is not whole\n", stderr);
        exit(1);
    }
    close(exchange->socket);
    return 1;
}

/* The server is started beside this program: its first answer says that it is there. */
static void wait_for_server(double limit_s)
{
    double start_s = now_s();
    for (;;) {
        int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (peer < 0)
            fail("a socket");
        int refused = connect(peer, (struct sockaddr *)&place, sizeof place) != 0;
        close(peer);
        if (!refused)
            return;
        if (now_s() - start_s > limit_s)
            fail("no server answers");
        usleep(10000);
    }
}

int main(int count, char **arguments)
{
    if (count != 5) {
        fputs("usage: client PORT REQUESTS CONCURRENCY WAIT_S\n", stderr);
        return 2;
    }
    place = (struct sockaddr_in){.sin_family = AF_INET,
                                 .sin_port = htons((unsigned short)read_number(arguments[1], "PORT", 1, 65535)),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    long requests = read_number(arguments[2], "REQUESTS", 1, 10000000);
    long concurrency = read_number(arguments[3], "CONCURRENCY", 1, 1000);
    wait_for_server((double)read_number(arguments[4], "WAIT_S", 0, 3600));

    struct exchange *exchanges = calloc((size_t)concurrency, sizeof *exchanges);
    struct pollfd *wanted = calloc((size_t)concurrency, sizeof *wanted);
    if (!exchanges || !wanted)
        fail("memory");
    long begun = 0, done = 0;
    double slowest_s = 0, start_s = now_s();
    for (long number = 0; number < concurrency; number++) {
        wanted[number].fd = -1;
        if (begun < requests) {
            begin(&exchanges[number]);
            wanted[number] = (struct pollfd){.fd = exchanges[number].socket, .events = POLLOUT};
            begun++;
        }
    }
    while (done < requests) {
        if (poll(wanted, (nfds_t)concurrency, -1) < 0 && errno != EINTR)
            fail("waiting");
        for (long number = 0; number < concurrency; number++) {
            struct exchange *exchange = &exchanges[number];
            if (wanted[number].fd < 0 || !wanted[number].revents)
                continue;
            if (!advance(exchange)) {
                wanted[number].events = exchange->sent ? POLLIN : POLLOUT;
                continue;
            }
            double taken_s = now_s() - exchange->started_s;
            slowest_s = taken_s > slowest_s ? taken_s : slowest_s;
            done++;
            wanted[number].fd = -1;
            if (begun < requests) {
                begin(exchange);
                wanted[number] = (struct pollfd){.fd = exchange->socket, .events = POLLOUT};
                begun++;
            }
        }
    }
    double time_s = now_s() - start_s;
    FILE *file = fopen("metrics.json", "w");
    if (!file)
        fail("metrics.json");
    fprintf(file, "{\"time_s\": %.9f, \"slowest_s\": %.9f, \"requests\": %ld}\n", time_s, slowest_s, requests);
    if (fclose(file) != 0)
        fail("metrics.json");
    printf("%ld requests in %.3f s\n", requests, time_s);
    return 0;
}
