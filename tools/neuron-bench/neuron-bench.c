// SPDX-License-Identifier: MIT
/*
 * neuron-bench: figures of driver and library.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "bench.h"
#include "json.h"
#include "table.h"
#include "tool.h"

#define MAX_NAMED 32
#define MAX_AGAINST 64

static const struct row rows[] = {
	{ .name = "stack.h2d.host.64m", .unit = "GB/s", .against = "model.h2d.256m",
	  .run = bench_host_to_hbm, .text = "host buffer to HBM, 64 MiB" },
	{ .name = "stack.d2h.host.64m", .unit = "GB/s", .against = "model.d2h.256m",
	  .run = bench_hbm_to_host, .text = "HBM to host buffer, 64 MiB" },
	{ .name = "stack.h2d.user.64m", .unit = "GB/s", .against = "model.h2d.256m",
	  .run = bench_write, .text = "memory of the program to HBM, 64 MiB" },
	{ .name = "stack.d2h.user.64m", .unit = "GB/s", .against = "model.d2h.256m",
	  .run = bench_read, .text = "HBM to memory of the program, 64 MiB" },
	{ .name = "stack.d2d.64m", .unit = "GB/s", .against = "model.d2d.256m",
	  .run = bench_hbm_to_hbm, .text = "HBM to HBM, 64 MiB" },
	{ .name = "stack.copy.4k.latency", .unit = "us",
	  .run = bench_latency, .text = "host buffer to HBM, 4 KiB, submit to done" },
	{ .name = "stack.copy.4k.batch1024", .unit = "copies/s",
	  .run = bench_batch, .text = "1024 copies of 4 KiB in one submit, against single ones" },
	{ .name = "stack.copy.4k.insns", .unit = "instructions", .asked = true,
	  .run = bench_instructions,
	  .text = "the 4 KiB copy where a guest's ns is an instruction (neuron-vm --icount)" },
	{ .name = "stack.list.4k.insns", .unit = "instructions", .asked = true,
	  .run = bench_list_one,
	  .text = "that copy as a command list, against a submit of it" },
	{ .name = "stack.list.64x4k.insns", .unit = "instructions", .asked = true,
	  .run = bench_list_many,
	  .text = "64 copies of 4 KiB as a command list, against a submit of them" },
	{ .name = "probe.1chip", .unit = "s", .asked = true, .opens = true,
	  .run = bench_probe, .text = "insmod to usable, 1 chip (needs --module)" },
	{ .name = "probe.16chips", .unit = "s", .asked = true, .opens = true,
	  .run = bench_probe, .text = "insmod to all usable, 16 chips (needs --module)" },
	{ .name = "kill.lost", .unit = "bytes", .asked = true,
	  .run = bench_kill, .text = "memory lost by kill -9 in mid-DMA, many times" },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static struct {
	char name[64];
	double value;
} against[MAX_AGAINST];
static unsigned int against_count;

static void add_against(const char *name, size_t length, double value)
{
	if (against_count == MAX_AGAINST)
		tool_die(TOOL_USAGE, "more than %d figures to compare with", MAX_AGAINST);
	snprintf(against[against_count].name, sizeof(against[0].name), "%.*s", (int)length, name);
	against[against_count++].value = value;
}

static void parse_against(const char *text)
{
	const char *equal = strchr(text, '=');
	double value;
	char *end;

	if (!equal || equal == text)
		tool_die(TOOL_USAGE, "--against '%s': NAME=VALUE was expected", text);
	value = strtod(equal + 1, &end);
	if (end == equal + 1 || *end || !(value > 0))
		tool_die(TOOL_USAGE, "--against '%s': no number above 0", text);
	add_against(text, (size_t)(equal - text), value);
}

/* A file of JSON objects, one a line, as the model's benchmark writes them. */
static void read_against(const char *path)
{
	struct json_object *object, *name, *value;
	char line[1024];
	FILE *f;

	f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	if (!f)
		tool_die(TOOL_FAILED, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (line[0] != '{')
			continue;
		object = json_tokener_parse(line);
		if (json_object_object_get_ex(object, "name", &name) &&
		    json_object_object_get_ex(object, "value", &value) &&
		    json_object_get_double(value) > 0)
			add_against(json_object_get_string(name),
				    (size_t)json_object_get_string_len(name),
				    json_object_get_double(value));
		json_object_put(object);
	}
	if (f != stdin)
		fclose(f);
}

static double find_against(const char *name)
{
	unsigned int i;

	for (i = against_count; name && i--;)
		if (!strcmp(against[i].name, name))
			return against[i].value;
	return 0;
}

/* "stack." names all rows that start so. */
static bool matches(const struct row *row, const char *name)
{
	size_t length = strlen(name);

	if (length && name[length - 1] == '.')
		return !strncmp(row->name, name, length);
	return !strcmp(row->name, name);
}

static bool wanted(const struct row *row, char *const *named, unsigned int count)
{
	unsigned int i;

	if (!count)
		return !row->asked;
	for (i = 0; i < count; i++)
		if (matches(row, named[i]))
			return true;
	return false;
}

static void check_names(char *const *named, unsigned int count)
{
	unsigned int i, r;

	for (i = 0; i < count; i++) {
		for (r = 0; r < ROWS; r++)
			if (matches(&rows[r], named[i]))
				break;
		if (r == ROWS)
			tool_die(TOOL_USAGE, "there is no row '%s' (see --list)", named[i]);
	}
}

static const struct report_column columns[] = {
	{ "name", "row", -24, 0 },
	{ "value", "value", 12, -1 },
	{ "unit", "unit", -12, 0 },
	{ "low", "low", 12, -1 },
	{ "high", "high", 12, -1 },
	{ "samples", "samples", 7, 0 },
	{ "against", "against", 12, -1 },
	{ "ratio", "ratio", 8, 3 },
	{ NULL, NULL, 0, 0 },
};

static struct json_object *object_of(const struct row *row, const struct result *result)
{
	struct json_object *o = json_object_new_object();
	char text[32];

	json_string(o, "name", row->name);
	report_number(o, "value", result->value);
	json_string(o, "unit", row->unit);
	if (result->spread.samples) {
		report_number(o, "low", result->spread.low);
		report_number(o, "high", result->spread.high);
		json_uint(o, "samples", result->spread.samples);
	}
	if (result->against > 0) {
		report_number(o, "against", result->against);
		snprintf(text, sizeof(text), "%.3f", result->value / result->against);
		json_object_object_add(o, "ratio",
				       json_object_new_double_s(result->value / result->against,
								text));
	}
	return o;
}

static void run_row(struct bench *bench, const struct row *row, struct report *report)
{
	struct result result = { 0 };
	double value;

	if (!row->opens &&
	    (neuron_device_open_name(bench->device_name, &bench->device) ||
	     neuron_queue_create(bench->device, NULL, &bench->queue)))
		tool_die(TOOL_FAILED, "%s", neuron_last_error());
	row->run(bench, row, &result);
	if (!row->opens) {
		neuron_queue_destroy(bench->queue);
		neuron_device_close(bench->device);
	}
	value = find_against(row->name);
	if (!(value > 0))
		value = find_against(row->against);
	if (value > 0)
		result.against = value;
	report_row(report, object_of(row, &result));
}

static void list(void)
{
	struct table *table = table_new("ROW", "UNIT", "WHAT", NULL);
	unsigned int i;

	for (i = 0; i < ROWS; i++) {
		table_cell(table, "%s%s", rows[i].name, rows[i].asked ? " *" : "");
		table_cell(table, "%s", rows[i].unit);
		table_cell(table, "%s", rows[i].text);
	}
	table_print(table, stdout, 0);
	table_free(table);
	puts("\n* only runs when named with --only");
}

static void print_usage(void)
{
	printf("usage: neuron-bench [OPTION]\n"
	       "       neuron-bench sweep [OPTION] [BENCHMARK]...\n"
	       "       neuron-bench coll [OPTION]\n"
	       "       neuron-bench p2p [OPTION]\n"
	       "\n"
	       "Measures driver and library on one device: one figure a row, or copies of many\n"
	       "sizes (sweep), or collectives (coll) or copies between devices (p2p); these have\n"
	       "a --help of their own. What is moved is compared, but by p2p.\n"
	       "\n"
	       "  -o, --only ROW          this row; may be given again; \"stack.\" names all that\n"
	       "                          start so\n"
	       "  -d, --device NAME       index, accelN, path or PCI address (default: 0)\n"
	       "  -a, --against NAME=X    compare row NAME with X, or all rows that compare with\n"
	       "                          the model's figure NAME\n"
	       "  -f, --against-file FILE the same from JSON lines with \"name\" and \"value\"\n"
	       "  -j, --json              one JSON object a line\n"
	       "      --csv               comma separated values\n"
	       "  -l, --list              list the rows\n"
	       "  -m, --module FILE       kernel module, for the probe rows\n"
	       "      --module-args ARGS  its parameters\n"
	       "  -r, --rounds N          rounds of kill.lost (default: 100)\n"
	       "  -h, --help              this text\n"
	       "  -V, --version           version\n"
	       "\n"
	       "Exit status: 0; 1 a row could not be measured; 2 wrong usage.\n");
}

uint64_t bench_number(const char *what, const char *text, uint64_t most)
{
	uint64_t number;

	if (!tool_parse_size(text, &number) || !number || number > most)
		tool_die(TOOL_USAGE, "%s '%s': 1 to %llu", what, text, (unsigned long long)most);
	return number;
}

int main(int argc, char **argv)
{
	enum { OPT_MODULE_ARGS = 256, OPT_CSV };
	static const struct option options[] = {
		{ "only", required_argument, NULL, 'o' },
		{ "device", required_argument, NULL, 'd' },
		{ "against", required_argument, NULL, 'a' },
		{ "against-file", required_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "csv", no_argument, NULL, OPT_CSV },
		{ "list", no_argument, NULL, 'l' },
		{ "module", required_argument, NULL, 'm' },
		{ "module-args", required_argument, NULL, OPT_MODULE_ARGS },
		{ "rounds", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct bench bench = { .device_name = "0", .rounds = 100 };
	struct report report = { .columns = columns };
	char *named[MAX_NAMED];
	unsigned int count = 0, i;
	uint64_t number;
	int c;

	tool_name = "neuron-bench";
	if (argc > 1 && !strcmp(argv[1], "coll"))
		return bench_coll(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "p2p"))
		return bench_p2p(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "sweep"))
		return bench_sweep(argc - 1, argv + 1);
	while ((c = getopt_long(argc, argv, "o:d:a:f:jlm:r:hV", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			if (count == MAX_NAMED)
				tool_die(TOOL_USAGE, "more than %d rows named", MAX_NAMED);
			named[count++] = optarg;
			break;
		case 'd':
			bench.device_name = optarg;
			break;
		case 'a':
			parse_against(optarg);
			break;
		case 'f':
			read_against(optarg);
			break;
		case 'j':
			report.format = REPORT_JSON;
			break;
		case OPT_CSV:
			report.format = REPORT_CSV;
			break;
		case 'l':
			list();
			return tool_finish(TOOL_OK);
		case 'm':
			bench.module = optarg;
			break;
		case OPT_MODULE_ARGS:
			bench.module_args = optarg;
			break;
		case 'r':
			if (!tool_parse_size(optarg, &number) || !number || number > 1000000)
				tool_die(TOOL_USAGE, "rounds '%s': 1 to 1000000", optarg);
			bench.rounds = (unsigned int)number;
			break;
		case 'h':
			print_usage();
			return tool_finish(TOOL_OK);
		case 'V':
			tool_print_version();
			return tool_finish(TOOL_OK);
		default:
			tool_usage_error();
		}
	}
	if (optind < argc) {
		tool_warn("unexpected argument '%s'", argv[optind]);
		tool_usage_error();
	}
	check_names(named, count);
	for (i = 0; i < ROWS; i++)
		if (wanted(&rows[i], named, count))
			run_row(&bench, &rows[i], &report);
	report_end(&report);
	return tool_finish(TOOL_OK);
}
