// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

#include "tool.h"

const char *tool_name = "?";
const char *tool_sysfs = "/sys";

__attribute__((format(printf, 1, 0)))
static void say(const char *format, va_list args)
{
	fflush(stdout);
	tool_progress_clear();
	fprintf(stderr, "%s: ", tool_name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void tool_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void tool_die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	exit(status);
}

void tool_die_neuron(const char *what)
{
	tool_die(TOOL_FAILED, "%s: %s", what, neuron_last_error());
}

void tool_usage_error(void)
{
	fprintf(stderr, "Try '%s --help'.\n", tool_name);
	exit(TOOL_USAGE);
}

void tool_print_version(void)
{
	printf("%s (libneuron %s)\n", tool_name, neuron_version_string());
}

bool tool_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (!no || !*no) && term && strcmp(term, "dumb");
}

const char *tool_paint(enum tool_color color)
{
	static const char *const codes[] = { "\033[0m", "\033[31m", "\033[32m", "\033[33m" };

	return tool_color() ? codes[color] : "";
}

struct neuron_device_entry *tool_devices(unsigned int *count)
{
	struct neuron_device_entry *entries = NULL;
	int found, room = 0;

	/* Devices may come while we look. */
	while ((found = neuron_enumerate(entries, sizeof(*entries), (uint32_t)room)) > room) {
		room = found;
		entries = realloc(entries, (size_t)room * sizeof(*entries));
		if (!entries)
			tool_die(TOOL_FAILED, "out of memory");
	}
	if (found <= 0)
		tool_die(TOOL_FAILED, "%s", neuron_last_error());
	*count = (unsigned int)found;
	return entries;
}

struct neuron_device *tool_open(const char *name)
{
	struct neuron_device *device;

	if (neuron_device_open_name(name, &device))
		tool_die(TOOL_FAILED, "%s", neuron_last_error());
	return device;
}

struct neuron_device *tool_open_index(unsigned int index)
{
	struct neuron_device *device;

	if (neuron_device_open(index, &device))
		tool_die(TOOL_FAILED, "%s", neuron_last_error());
	return device;
}

int tool_finish(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		tool_warn("output: %s", strerror(errno));
		return TOOL_FAILED;
	}
	return status;
}

int64_t tool_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

struct tool_text tool_bytes(uint64_t bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	struct tool_text out;
	unsigned int u = 0;

	while (value >= 1024 && u < 4) {
		value /= 1024;
		u++;
	}
	/* Whole numbers without a decimal, others with one. */
	if (value == (double)(uint64_t)value)
		snprintf(out.text, sizeof(out.text), "%.0f %s", value, unit[u]);
	else
		snprintf(out.text, sizeof(out.text), "%.1f %s", value, unit[u]);
	return out;
}

struct tool_text tool_rate(uint64_t bytes, int64_t ns)
{
	struct tool_text out;
	double gb = ns > 0 ? (double)bytes / (double)ns : 0;

	if (gb < 0.1)
		snprintf(out.text, sizeof(out.text), "%.1f MB/s", gb * 1e3);
	else
		snprintf(out.text, sizeof(out.text), "%.2f GB/s", gb);
	return out;
}

struct tool_text tool_time(int64_t ns)
{
	struct tool_text out;

	if (ns < 1000)
		snprintf(out.text, sizeof(out.text), "%" PRId64 " ns", ns);
	else if (ns < 1000000)
		snprintf(out.text, sizeof(out.text), "%.1f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(out.text, sizeof(out.text), "%.2f ms", (double)ns / 1e6);
	else
		snprintf(out.text, sizeof(out.text), "%.2f s", (double)ns / 1e9);
	return out;
}

void tool_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

bool tool_parse_size(const char *text, uint64_t *size)
{
	unsigned long long value;
	unsigned int shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno)
		return false;
	if (*end == 'K' || *end == 'k')
		shift = 10;
	else if (*end == 'M' || *end == 'm')
		shift = 20;
	else if (*end == 'G' || *end == 'g')
		shift = 30;
	if (shift)
		end++;
	if (*end || value > UINT64_MAX >> shift)
		return false;
	*size = value << shift;
	return true;
}

void tool_random(void *data, size_t size, uint64_t seed)
{
	/* xorshift64*, a word at a time */
	uint64_t x = seed * 0x9e3779b97f4a7c15u | 1;
	unsigned char *p = data;
	uint64_t word;
	size_t n;

	while (size) {
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		word = x * 0x2545f4914f6cdd1du;
		n = size < sizeof(word) ? size : sizeof(word);
		memcpy(p, &word, n);
		p += n;
		size -= n;
	}
}

uint32_t tool_crc(const void *data, size_t size)
{
	return (uint32_t)crc32_z(crc32_z(0, NULL, 0), data, size);
}

int tool_compare_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

int64_t tool_median(int64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), tool_compare_i64);
	if (count % 2)
		return values[count / 2];
	return (values[count / 2 - 1] + values[count / 2]) / 2;
}
