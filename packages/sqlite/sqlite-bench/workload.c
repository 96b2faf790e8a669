/* Fills, indexes and asks a database, in memory and in a file, and writes how fast each step was. */
#include "sqlite3.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 1000 };

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint32_t draw_number(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 33);
}

static void check(sqlite3 *database, int result, int wanted)
{
    if (result != wanted) {
        fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(database));
        exit(1);
    }
}

static void execute(sqlite3 *database, const char *sql)
{
    check(database, sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
}

static sqlite3_stmt *prepare(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *statement;

    check(database, sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    return statement;
}

static void insert_rows(sqlite3 *database, long rows)
{
    sqlite3_stmt *statement = prepare(database, "INSERT INTO parcel VALUES (?, ?, ?, ?)");
    uint64_t state = 1;
    char text[64];

    for (long row = 0; row < rows; row++) {
        if (row % BATCH == 0)
            execute(database, row ? "COMMIT; BEGIN" : "BEGIN");
        snprintf(text, sizeof text, "street %u, house %u, floor %u", draw_number(&state) % 5000,
                 draw_number(&state) % 200, draw_number(&state) % 9);
        sqlite3_bind_int64(statement, 1, row);
        sqlite3_bind_int64(statement, 2, draw_number(&state) % 500);
        sqlite3_bind_text(statement, 3, text, -1, SQLITE_TRANSIENT);
        sqlite3_bind_double(statement, 4, (draw_number(&state) % 100000) / 100.0);
        check(database, sqlite3_step(statement), SQLITE_DONE);
        sqlite3_reset(statement);
    }
    execute(database, "COMMIT");
    sqlite3_finalize(statement);
}

/* One row by its key, again and again. */
static uint64_t look_up(sqlite3 *database, long rows, long selects)
{
    sqlite3_stmt *statement = prepare(database, "SELECT town, length(address) FROM parcel WHERE id = ?");
    uint64_t state = 2, digest = 0;

    for (long done = 0; done < selects; done++) {
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)(draw_number(&state) % (uint32_t)rows));
        check(database, sqlite3_step(statement), SQLITE_ROW);
        digest += (uint64_t)(sqlite3_column_int64(statement, 0) * sqlite3_column_int64(statement, 1));
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return digest;
}

/* Ranges of the index, with sums and an order. */
static uint64_t ask(sqlite3 *database, long queries)
{
    sqlite3_stmt *statement =
        prepare(database, "SELECT town, count(*), sum(weight), max(address) FROM parcel "
                          "WHERE town BETWEEN ? AND ? GROUP BY town ORDER BY 3 DESC LIMIT 5");
    uint64_t state = 3, digest = 0;

    for (long done = 0; done < queries; done++) {
        uint32_t town = draw_number(&state) % 490;
        int result;

        sqlite3_bind_int64(statement, 1, town);
        sqlite3_bind_int64(statement, 2, town + 10);
        while ((result = sqlite3_step(statement)) == SQLITE_ROW)
            digest += (uint64_t)sqlite3_column_int64(statement, 1) + (uint64_t)sqlite3_column_double(statement, 2);
        check(database, result, SQLITE_DONE);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return digest;
}

static uint64_t measure(FILE *file, const char *name, const char *path, long rows)
{
    sqlite3 *database;
    uint64_t digest;
    long selects = rows, queries = rows / 200 + 1;
    double times_s[5];

    int opened = sqlite3_open(path, &database);
    check(database, opened, SQLITE_OK);
    execute(database, "CREATE TABLE parcel (id INTEGER PRIMARY KEY, town INTEGER, address TEXT, weight REAL)");
    times_s[0] = now_s();
    insert_rows(database, rows);
    times_s[1] = now_s();
    digest = look_up(database, rows, selects);
    times_s[2] = now_s();
    execute(database, "CREATE INDEX by_town ON parcel (town, weight)");
    times_s[3] = now_s();
    digest += ask(database, queries);
    times_s[4] = now_s();
    sqlite3_close(database);

    fprintf(file,
            "\"%s_inserts_per_s\": %.6g, \"%s_selects_per_s\": %.6g, \"%s_index_s\": %.6g, \"%s_queries_per_s\": %.6g, ",
            name, (double)rows / (times_s[1] - times_s[0]), name, (double)selects / (times_s[2] - times_s[1]), name,
            times_s[3] - times_s[2], name, (double)queries / (times_s[4] - times_s[3]));
    return digest;
}

int main(int argc, char **argv)
{
    char *end = "";
    long rows = argc == 3 ? strtol(argv[1], &end, 10) : 0;

    if (rows < 1 || rows > 100000000 || *end) {
        fprintf(stderr, "usage: workload ROWS DATABASE\n");
        return 2;
    }
    FILE *file = fopen("metrics.json", "w");
    if (!file) {
        perror("metrics.json");
        return 1;
    }
    unlink(argv[2]);
    fputc('{', file);
    uint64_t memory = measure(file, "memory", ":memory:", rows), disk = measure(file, "file", argv[2], rows);
    if (memory != disk) {
        fprintf(stderr, "sqlite: memory and file gave different answers\n");
        return 1;
    }
    /* 32 bits: what a double holds exactly. */
    fprintf(file, "\"rows\": %ld, \"digest\": %lu}\n", rows, (unsigned long)(disk & 0xffffffffu));
    return fclose(file) != 0;
}
