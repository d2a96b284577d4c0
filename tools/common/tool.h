/* SPDX-License-Identifier: MIT */
/*
 * What the tools share: messages, numbers for people, test data.
 */
#ifndef TOOL_H
#define TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

#include <neuron/neuron.h>

/* Exit statuses. */
#define TOOL_OK 0
#define TOOL_FAILED 1
#define TOOL_USAGE 2

/* Name for messages; set first thing in main(). */
extern const char *tool_name;

/* "/sys"; only tests change it. */
extern const char *tool_sysfs;

/* "NAME: message" on stderr. */
void tool_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, then exit(@status). */
noreturn void tool_die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "NAME: what: sentence of the library", then exit(TOOL_FAILED). */
noreturn void tool_die_neuron(const char *what);
/* "Try 'NAME --help'", then exit(TOOL_USAGE). */
noreturn void tool_usage_error(void);
/* --version: name and version, on stdout. */
void tool_print_version(void);
/* May standard output have colours? Only a terminal, unless NO_COLOR is set. */
bool tool_color(void);
/* The escape sequence, or "" if there may be none; TOOL_PLAIN ends it. */
enum tool_color { TOOL_PLAIN, TOOL_RED, TOOL_GREEN, TOOL_YELLOW };
const char *tool_paint(enum tool_color color);

/*
 * All devices, to be freed; "NAME: sentence of the library" and exit(TOOL_FAILED)
 * when there is none.
 */
struct neuron_device_entry *tool_devices(unsigned int *count);
/* The device that @name names, or the message and exit(TOOL_FAILED). */
struct neuron_device *tool_open(const char *name);
struct neuron_device *tool_open_index(unsigned int index);

/*
 * A bar on standard error, if that is a terminal, for what takes more than 2 s:
 * call it often. tool_progress_clear() takes it away; so do messages and the end.
 */
void tool_progress(const char *what, uint64_t done, uint64_t total);
void tool_progress_clear(void);

/* Ends the program with an error if its output could not be written. */
int tool_finish(int status);

/* CLOCK_MONOTONIC, ns. */
int64_t tool_now(void);

/* "96.0 GiB", "4 KiB", "12 B" */
struct tool_text {
	char text[32];
};

struct tool_text tool_bytes(uint64_t bytes);
/* "5.12 GB/s", "41.0 MB/s" */
struct tool_text tool_rate(uint64_t bytes, int64_t ns);
/* "850 ns", "12.3 us", "4.56 ms" */
struct tool_text tool_time(int64_t ns);

/* Names of processes are what their owners like: only plain ASCII stays. */
void tool_printable(char *text);

/* Number with optional K, M, G; false when it is none. */
bool tool_parse_size(const char *text, uint64_t *size);

/* Pseudo-random bytes that follow from @seed alone. */
void tool_random(void *data, size_t size, uint64_t seed);
/* CRC-32 as zlib and gzip have it. */
uint32_t tool_crc(const void *data, size_t size);

int tool_compare_i64(const void *a, const void *b);
/* Sorts @values. */
int64_t tool_median(int64_t *values, size_t count);

#endif
