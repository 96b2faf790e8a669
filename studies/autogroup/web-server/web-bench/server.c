/* A small web server in several processes, as Apache's prefork model has them: each takes a connection, reads a
   request, makes a page, sends it, and closes. It runs until it is killed.

   server PORT PROCESSES PAGE_BYTES */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static long read_number(const char *text, const char *name, long least, long most)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end || number < least || number > most) {
        fprintf(stderr, "server: %s must be a whole number from %ld to %ld, not \"%s\"\n", name, least, most, text);
        exit(2);
    }
    return number;
}

static void fail(const char *what)
{
    fprintf(stderr, "server: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Lines of numbers that depend on each other: made anew for each request, as a script would. */
static size_t make_page(char *page, size_t bytes)
{
    size_t filled = 0;
    unsigned long state = 1;
    while (filled + 64 < bytes) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        filled += (size_t)snprintf(page + filled, bytes - filled, "<p>%lu of %zu</p>\n", state >> 33, filled);
    }
    memset(page + filled, '\n', bytes - filled);
    return bytes;
}

static int send_all(int peer, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(peer, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return -1;
        bytes += sent;
        count -= (size_t)sent;
    }
    return 0;
}

static void serve(int listener, size_t bytes)
{
    char *page = malloc(bytes);
    if (!page)
        fail("a page");
    for (;;) {
        int peer = accept(listener, NULL, NULL);
        if (peer < 0) {
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            fail("taking a connection");
        }
        char request[2048];
        size_t got = 0;
        ssize_t more;
        while (got < sizeof request - 1 && (more = read(peer, request + got, sizeof request - 1 - got)) > 0) {
            got += (size_t)more;
            request[got] = 0;
            if (strstr(request, "\r\n\r\n"))
                break;
        }
        char head[128];
        size_t length = make_page(page, bytes);
        int size = snprintf(head, sizeof head, "HTTP/1.0 200 OK\r\nContent-Length: %zu\r\n\r\n", length);
        if (send_all(peer, head, (size_t)size) == 0)
            send_all(peer, page, length);
        close(peer);
    }
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fputs("usage: server PORT PROCESSES PAGE_BYTES\n", stderr);
        return 2;
    }
    struct sockaddr_in place = {.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)read_number(arguments[1], "PORT", 1, 65535)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    long processes = read_number(arguments[2], "PROCESSES", 1, 1000);
    size_t bytes = (size_t)read_number(arguments[3], "PAGE_BYTES", 64, 1 << 26);
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0)
        fail("a socket");
    if (bind(listener, (struct sockaddr *)&place, sizeof place) != 0 || listen(listener, 1024) != 0)
        fail("127.0.0.1 at that port");
    for (long number = 0; number < processes; number++) {
        pid_t child = fork();
        if (child < 0)
            fail("a process");
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            serve(listener, bytes);
        }
    }
    wait(NULL);
    fputs("server: a process ended\n", stderr);
    return 1;
}
