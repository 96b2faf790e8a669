/* Scheduler latency while a background command runs: how long a thread that was woken up waits for a processor.

   A server wakes all clients at random intervals by writing the time into the pipe of each. A client notes the
   time as soon as it has read it, compresses a text, notes the time again, and waits. The server begins the next
   interval when all have finished, so that no client is woken while it still works. After the design of
   Jens Axboe's Latt as section 3.1 of "Why You Should Care About Quantile Regression" (ASPLOS 2013)
   describes it, with its buffer in memory; written anew. */
#define _GNU_SOURCE
#include "idleness.h"
#include "task.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

struct wakeup {
    int64_t latency_ns;
    int64_t work_ns;
};

/* What the kernel itself knows of a thread: an independent account of the same time. */
struct account {
    int64_t cpu_ns;
    int64_t wait_ns;           /* ready to run, without a processor; negative: this kernel does not say */
};

struct client {
    pthread_t thread;
    int wake[2];               /* the server writes times into [1], the client reads them from [0] */
    struct task task;
    size_t packed_bytes;
    struct wakeup *wakeups;    /* all of them, preallocated and touched */
    long count;
    struct account before, after;
};

/* A command that looks at the system after each round, as section 4.5 of the paper had vmstat do. */
struct observer {
    const char *command;       /* for the shell; NULL: nobody looks */
    long runs;
    int64_t time_ns;
};

struct load {
    pthread_t thread;
    char **command;
    int error;                 /* why it could not be started, as errno */
    int status;                /* as wait says */
    int64_t started_ns, ended_ns;
    struct rusage usage;
};

/* What the server is told through its own pipe. */
enum event { CLIENTS_DONE = 'd', LOAD_ENDED = 'e' };

static int events[2];
static atomic_long busy_clients;
static long capacity = 100000;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A measurement that lost something must not look like one that did not: nothing is written, status 1. */
static void fail(const char *what, int error)
{
    fprintf(stderr, "latt: %s%s%s\n", what, error ? ": " : "", error ? strerror(error) : "");
    exit(1);
}

static struct account read_account(void)
{
    struct account account = {-1, -1};
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file) {
        if (fscanf(file, "%" SCNd64 " %" SCNd64, &account.cpu_ns, &account.wait_ns) != 2)
            account.wait_ns = -1;
        fclose(file);
    }
    return account;
}

static void tell_server(enum event event)
{
    char letter = (char)event;
    if (write(events[1], &letter, 1) != 1)
        fail("the server cannot be told", errno);
}

static void *serve_wakeups(void *argument)
{
    struct client *client = argument;
    client->packed_bytes = run_task(&client->task); /* touches all memory that the task needs */
    client->before = read_account();
    if (atomic_fetch_sub(&busy_clients, 1) == 1)
        tell_server(CLIENTS_DONE);
    for (;;) {
        int64_t requested_ns;
        ssize_t got = read(client->wake[0], &requested_ns, sizeof requested_ns);
        int64_t woken_ns = now_ns();
        if (got == 0) {
            client->after = read_account();
            return NULL;
        }
        if (got != (ssize_t)sizeof requested_ns)
            fail("a client cannot read its pipe", errno);
        if (run_task(&client->task) != client->packed_bytes)
            fail("a task gave another result than before", 0);
        int64_t done_ns = now_ns();
        client->wakeups[client->count].latency_ns = woken_ns - requested_ns;
        client->wakeups[client->count].work_ns = done_ns - woken_ns;
        client->count++;
        if (atomic_fetch_sub(&busy_clients, 1) == 1)
            tell_server(CLIENTS_DONE);
    }
}

static void *watch_load(void *argument)
{
    struct load *load = argument;
    pid_t process;
    load->started_ns = now_ns();
    load->error = posix_spawnp(&process, load->command[0], NULL, NULL, load->command, environ);
    if (!load->error)
        while (wait4(process, &load->status, 0, &load->usage) < 0)
            if (errno != EINTR)
                fail("the background command cannot be waited for", errno);
    load->ended_ns = now_ns();
    tell_server(LOAD_ENDED);
    return NULL;
}

/* Runs the observer to its end. What it prints is thrown away: that it runs is what matters. */
static void observe(struct observer *observer)
{
    if (!observer->command)
        return;
    char *const command[] = {"sh", "-c", (char *)observer->command, NULL};
    posix_spawn_file_actions_t actions;
    pid_t process;
    int status;
    int64_t started_ns = now_ns();
    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) != 0)
        fail("there is not enough memory for the observer", 0);
    int error = posix_spawnp(&process, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        fail("the observer cannot be started", error);
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR)
            fail("the observer cannot be waited for", errno);
    if (status) {
        const char *hint = WIFEXITED(status) && WEXITSTATUS(status) == 127
                               ? "; is the program installed? vmstat comes with Debian's procps" : "";
        fprintf(stderr, "latt: the observer (%s) ended with %s %d%s\n", observer->command,
                WIFEXITED(status) ? "status" : "signal",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), hint);
        exit(1);
    }
    observer->runs++;
    observer->time_ns += now_ns() - started_ns;
}

static void start_thread(pthread_t *thread, void *(*function)(void *), void *argument)
{
    int error = pthread_create(thread, NULL, function, argument);
    if (error)
        fail("a thread cannot be started", error);
}

static void start_client(struct client *client, size_t work_bytes)
{
    size_t room = (size_t)capacity * sizeof *client->wakeups;
    client->wakeups = malloc(room);
    if (!client->wakeups || make_task(&client->task, work_bytes) != 0)
        fail("there is not enough memory; ask for fewer clients, wake-ups or bytes", 0);
    memset(client->wakeups, 0xff, room); /* no page fault while measuring */
    if (pipe2(client->wake, O_CLOEXEC) != 0)
        fail("there are not enough pipes; ask for fewer clients", errno);
    start_thread(&client->thread, serve_wakeups, client);
}

/* Waits for an event for `limit_ns` (negative: for ever); returns it, or 0 when the time is over. */
static int wait_for_event(int64_t limit_ns)
{
    struct timespec limit = {limit_ns / 1000000000, limit_ns % 1000000000};
    struct pollfd wanted = {.fd = events[0], .events = POLLIN};
    int ready;
    do
        ready = ppoll(&wanted, 1, limit_ns < 0 ? NULL : &limit, NULL);
    while (ready < 0 && errno == EINTR);
    if (ready < 0)
        fail("the server cannot wait", errno);
    char letter = 0;
    if (ready > 0 && read(events[0], &letter, 1) != 1)
        fail("the server cannot read its pipe", errno);
    return letter;
}

/* xorshift64*, by Marsaglia and Vigna; evenly from `from` to `to`, both included up to rounding. */
static int64_t draw_interval_ns(uint64_t *state, int64_t from, int64_t to)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    uint64_t draw = *state * UINT64_C(2685821657736338717);
    return from + (int64_t)((double)(to - from) * ((double)(draw >> 11) / 9007199254740992.0));
}

/* Wakes all clients again and again while the load runs; returns the number of rounds. */
static long wake_clients(struct client *clients, long count, int64_t from_ns, int64_t to_ns,
                         struct observer *observer, struct idleness *idleness)
{
    uint64_t state = 0;
    while (state == 0)
        if (getrandom(&state, sizeof state, 0) != (ssize_t)sizeof state)
            fail("there are no random numbers", errno);
    long rounds = 0;
    int ended = 0;
    while (!ended) {
        if (wait_for_event(draw_interval_ns(&state, from_ns, to_ns)) == LOAD_ENDED)
            break;
        if (rounds == capacity) {
            fprintf(stderr, "latt: the background command outlives the %ld wake-ups of each client that "
                            "the buffer has room for; raise MAX_WAKEUPS\n", capacity);
            exit(1);
        }
        atomic_store(&busy_clients, count);
        for (long number = 0; number < count; number++) {
            int64_t requested_ns = now_ns();
            if (write(clients[number].wake[1], &requested_ns, sizeof requested_ns) !=
                (ssize_t)sizeof requested_ns)
                fail("a client cannot be woken", errno);
        }
        rounds++;
        /* A round that was begun is kept to its end: leaving out those that the load's end overtakes would
           leave out the slow ones. */
        while (wait_for_event(-1) == LOAD_ENDED)
            ended = 1;
        if (note_idleness(idleness, rounds - 1) != 0)
            fail("/proc/stat cannot be read any more", errno);
        observe(observer);
    }
    return rounds;
}

static void write_series(FILE *file, const char *name, const struct client *clients, long count, long rounds,
                         int work)
{
    fprintf(file, "\"%s\": [", name);
    for (long round = 0; round < rounds; round++)
        for (long number = 0; number < count; number++) {
            const struct wakeup *wakeup = &clients[number].wakeups[round];
            fprintf(file, "%s%.3f", round || number ? "," : "",
                    (double)(work ? wakeup->work_ns : wakeup->latency_ns) / 1e3);
        }
    fputs("],\n", file);
}

/* One value for each latency: that of its round. */
static void write_idleness(FILE *file, const struct idleness *idleness, long count, long rounds)
{
    if (!idleness->shares)
        return;
    fputs("\"idle_share\": [", file);
    for (long round = 0; round < rounds; round++)
        for (long number = 0; number < count; number++)
            fprintf(file, "%s%.4f", round || number ? "," : "", idleness->shares[round]);
    fputs("],\n", file);
}

/* Sums over all clients; nothing where the kernel keeps no such account. */
static void write_accounts(FILE *file, const struct client *clients, long count)
{
    double cpu_s = 0, wait_s = 0;
    for (long number = 0; number < count; number++) {
        if (clients[number].before.wait_ns < 0 || clients[number].after.wait_ns < 0)
            return;
        cpu_s += (double)(clients[number].after.cpu_ns - clients[number].before.cpu_ns) / 1e9;
        wait_s += (double)(clients[number].after.wait_ns - clients[number].before.wait_ns) / 1e9;
    }
    fprintf(file, "\"clients_cpu_s\": %.9f, \"clients_wait_s\": %.9f,\n", cpu_s, wait_s);
}

static double to_seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* In the order of the requests: all clients of the first round, all of the second, and so on. */
static void write_metrics(const char *path, const struct client *clients, long count, long rounds,
                          const struct load *load, const struct observer *observer,
                          const struct idleness *idleness)
{
    FILE *file = fopen(path, "w");
    if (!file)
        fail(path, errno);
    fputs("{", file);
    write_series(file, "latency_us", clients, count, rounds, 0);
    if (clients->task.bytes)
        write_series(file, "work_time_us", clients, count, rounds, 1);
    write_idleness(file, idleness, count, rounds);
    fprintf(file, "\"wakeups\": %ld, \"clients\": %ld, \"work_bytes\": %zu, \"packed_bytes\": %zu,\n",
            rounds * count, count, clients->task.bytes, clients->packed_bytes);
    write_accounts(file, clients, count);
    fprintf(file, "\"observer_runs\": %ld, \"observer_time_s\": %.9f,\n", observer->runs,
            (double)observer->time_ns / 1e9);
    fprintf(file, "\"load_time_s\": %.9f, \"load_cpu_s\": %.6f}\n",
            (double)(load->ended_ns - load->started_ns) / 1e9,
            to_seconds(load->usage.ru_utime) + to_seconds(load->usage.ru_stime));
    int full = ferror(file);
    if (fclose(file) != 0 || full)
        fail(path, errno);
}

static void check_load(const struct load *load)
{
    if (load->error)
        fail(load->command[0], load->error);
    if (load->status) {
        fprintf(stderr, "latt: the background command ended with %s %d\n",
                WIFEXITED(load->status) ? "status" : "signal",
                WIFEXITED(load->status) ? WEXITSTATUS(load->status) : WTERMSIG(load->status));
        exit(1);
    }
}

static void check_wakeups(const struct client *clients, long count, long rounds)
{
    if (rounds == 0)
        fail("the background command ended before the first wake-up; let it run longer", 0);
    for (long number = 0; number < count; number++) {
        if (clients[number].count != rounds)
            fail("a client lost a wake-up", 0);
        for (long round = 0; round < rounds; round++)
            if (clients[number].wakeups[round].latency_ns < 0)
                fail("the clock of this machine runs backwards", 0);
    }
}

static long read_number(const char *text, const char *name, long least, long most)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < least || number > most) {
        fprintf(stderr, "latt: %s must be a whole number from %ld to %ld, not \"%s\"\n", name, least, most, text);
        exit(2);
    }
    return number;
}

int main(int argument_count, char **arguments)
{
    long count = 8, work_bytes = 65536, from_us = 1000, to_us = 19000;
    const char *path = "metrics.json";
    struct observer observer = {0};
    struct idleness idleness = {0};
    long wants_idleness = 0;
    int option;
    while ((option = getopt(argument_count, arguments, "+c:b:f:t:n:o:w:i:")) != -1)
        switch (option) {
        case 'c': count = read_number(optarg, "CLIENTS", 1, 400); break;
        case 'b': work_bytes = read_number(optarg, "WORK_BYTES", 0, 1L << 28); break;
        case 'f': from_us = read_number(optarg, "MIN_INTERVAL_US", 0, 60000000); break;
        case 't': to_us = read_number(optarg, "MAX_INTERVAL_US", 0, 60000000); break;
        case 'n': capacity = read_number(optarg, "MAX_WAKEUPS", 1, 100000000); break;
        case 'o': path = optarg; break;
        case 'w': observer.command = *optarg ? optarg : NULL; break;
        case 'i': wants_idleness = read_number(optarg, "IDLENESS", 0, 1); break;
        default: optind = argument_count;
        }
    if (optind >= argument_count) {
        fputs("usage: latt [-c CLIENTS] [-b WORK_BYTES] [-f MIN_INTERVAL_US] [-t MAX_INTERVAL_US]\n"
              "            [-n MAX_WAKEUPS] [-o FILE] [-w OBSERVER] [-i 0|1] COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    if (to_us < from_us) {
        fputs("latt: MAX_INTERVAL_US must not be below MIN_INTERVAL_US\n", stderr);
        return 2;
    }

    struct client *clients = calloc((size_t)count, sizeof *clients);
    if (!clients || pipe2(events, O_CLOEXEC) != 0)
        fail("cannot begin", errno);
    atomic_store(&busy_clients, count);
    for (long number = 0; number < count; number++)
        start_client(&clients[number], (size_t)work_bytes);
    wait_for_event(-1); /* every client has warmed up */
    observe(&observer); /* one that does not work is told before anything is measured */
    observer.runs = 0;
    observer.time_ns = 0;

    if (wants_idleness && begin_idleness(&idleness, capacity) != 0)
        fail("the idleness of the processors cannot be read", errno);

    struct load load = {.command = arguments + optind};
    start_thread(&load.thread, watch_load, &load);
    long rounds = wake_clients(clients, count, from_us * 1000, to_us * 1000, &observer, &idleness);
    pthread_join(load.thread, NULL);
    for (long number = 0; number < count; number++) {
        close(clients[number].wake[1]);
        pthread_join(clients[number].thread, NULL);
    }

    check_load(&load);
    check_wakeups(clients, count, rounds);
    write_metrics(path, clients, count, rounds, &load, &observer, &idleness);
    printf("%ld wake-ups, %ld of each client, in %.3f s\n", rounds * count, rounds,
           (double)(load.ended_ns - load.started_ns) / 1e9);
    return 0;
}
