// SPDX-License-Identifier: MIT
/*
 * neuron-bench sweep: copies of many sizes. Of each size several are measured one
 * by one, after some that do not count; what arrived is compared.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "json.h"
#include "report.h"
#include "tool.h"

#define MAX_SIZE (1ull << 30)
#define MAX_ROUNDS 10000
#define WARM_UP 3
/* Submits of row "rate" that are under way at a time */
#define BURST 64

/* What was asked for, and what it is done with */
static struct {
	const char *device_name;
	uint64_t min, max;
	unsigned int rounds, engines;
	bool modelled;
	struct report report;

	struct neuron_device *device;
	struct neuron_queue *queue;
	struct neuron_buffer *host, *hbm, *hbm_to, *stamps;
	unsigned char *user, *data, *back;
	int64_t *ns;
} sweep;

/**
 * struct kind - a benchmark of many sizes
 */
struct kind {
	const char *name;
	const char *text;
	/** @by_program: copies memory of the program; else a buffer to a buffer */
	bool by_program;
	/** @burst: many submits at a time */
	bool burst;
	struct neuron_buffer **dst, **src;
};

static const struct kind kinds[] = {
	{ .name = "h2d", .text = "host buffer to HBM", .dst = &sweep.hbm, .src = &sweep.host },
	{ .name = "d2h", .text = "HBM to host buffer", .dst = &sweep.host, .src = &sweep.hbm },
	{ .name = "d2d", .text = "HBM to HBM", .dst = &sweep.hbm_to, .src = &sweep.hbm },
	{ .name = "h2d-user", .text = "memory of the program to HBM", .by_program = true,
	  .dst = &sweep.hbm },
	{ .name = "d2h-user", .text = "HBM to memory of the program", .by_program = true,
	  .src = &sweep.hbm },
	{ .name = "rate", .text = "host buffer to HBM, 64 submits at a time", .burst = true,
	  .dst = &sweep.hbm, .src = &sweep.host },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct report_column columns[] = {
	{ "name", "benchmark", -10, 0 },
	{ "size", "size(B)", 12, 0 },
	{ "clock", "clock", 6, 0 },
	{ "time_us", "time(us)", 12, 2 },
	{ "time_us_low", "low", 12, 2 },
	{ "time_us_high", "high", 12, 2 },
	{ "gb_per_s", "GB/s", 9, 3 },
	{ "per_s", "copies/s", 12, 0 },
	{ "samples", "samples", 8, 0 },
	{ NULL, NULL, 0, 0 },
};

static void print_help(void)
{
	unsigned int i;

	printf("usage: neuron-bench sweep [OPTION] [BENCHMARK]...\n"
	       "\n"
	       "Copies of many sizes on one device, all benchmarks or those that are named:\n\n");
	for (i = 0; i < KINDS; i++)
		printf("  %-10s %s\n", kinds[i].name, kinds[i].text);
	printf("\n"
	       "      --min SIZE       bytes to begin with (default: 4K)\n"
	       "      --max SIZE       to end with, times 4 (default: 64M)\n"
	       "      --rounds N       measured ones of each size (default: 15)\n"
	       "      --engines N      DMA engines that a copy is spread over, 1 to 16 (default: the\n"
	       "                       driver's choice; 1 with the clock of the model)\n"
	       "      --clock CLOCK    host (default): what the program waits, or model: what\n"
	       "                       the DMA engine takes in modelled time\n"
	       "  -d, --device NAME    index, accelN, path or PCI address (default: 0)\n"
	       "  -j, --json           one JSON object a line\n"
	       "      --csv            comma separated values\n"
	       "      --plot FILE      bandwidth against size as an SVG picture\n"
	       "  -h, --help           this text\n"
	       "\n"
	       "Times are the median; a tenth of them is not above low, a tenth not below high.\n"
	       "GB/s are 10^9 bytes a second.\n"
	       "\n"
	       "Exit status: 0; 1 wrong data, or it cannot be done; 2 wrong usage.\n");
}

enum { OPT_MIN = 256, OPT_MAX, OPT_ROUNDS, OPT_ENGINES, OPT_CLOCK };

static void parse_option(int c)
{
	switch (c) {
	case OPT_MIN:
		sweep.min = bench_number("size", optarg, MAX_SIZE);
		break;
	case OPT_MAX:
		sweep.max = bench_number("size", optarg, MAX_SIZE);
		break;
	case OPT_ROUNDS:
		sweep.rounds = (unsigned int)bench_number("rounds", optarg, MAX_ROUNDS);
		break;
	case OPT_ENGINES:
		sweep.engines = (unsigned int)bench_number("engines", optarg, 16);
		break;
	case OPT_CLOCK:
		sweep.modelled = !strcmp(optarg, "model");
		if (!sweep.modelled && strcmp(optarg, "host"))
			tool_die(TOOL_USAGE, "clock '%s': host or model", optarg);
		break;
	case 'd':
		sweep.device_name = optarg;
		break;
	case 'h':
		print_help();
		exit(tool_finish(TOOL_OK));
	default:
		if (!report_option(&sweep.report, c))
			tool_usage_error();
	}
}

static const struct kind *find_kind(const char *name)
{
	unsigned int i;

	for (i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	tool_die(TOOL_USAGE, "there is no benchmark '%s' (see neuron-bench sweep --help)", name);
}

/* Of what is more than a copy by an engine, only the host's clock tells. */
static bool has_model_clock(const struct kind *kind)
{
	return !kind->by_program && !kind->burst;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "min", required_argument, NULL, OPT_MIN },
		{ "max", required_argument, NULL, OPT_MAX },
		{ "rounds", required_argument, NULL, OPT_ROUNDS },
		{ "engines", required_argument, NULL, OPT_ENGINES },
		{ "clock", required_argument, NULL, OPT_CLOCK },
		{ "device", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "csv", no_argument, NULL, REPORT_OPT_CSV },
		{ "plot", required_argument, NULL, REPORT_OPT_PLOT },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c, i;

	sweep.device_name = "0";
	sweep.min = 4 << 10;
	sweep.max = 64 << 20;
	sweep.rounds = 15;
	while ((c = getopt_long(argc, argv, "d:jh", options, NULL)) != -1)
		parse_option(c);
	for (i = optind; i < argc; i++)
		if (sweep.modelled && !has_model_clock(find_kind(argv[i])))
			tool_die(TOOL_USAGE, "%s: only the clock of the host tells", argv[i]);
	/* Timestamps of different engines do not compare. */
	if (sweep.modelled && sweep.engines > 1)
		tool_die(TOOL_USAGE, "%u engines: the clock of the model is that of one",
			 sweep.engines);
	if (sweep.min > sweep.max)
		tool_die(TOOL_USAGE, "sizes from %llu to %llu", (unsigned long long)sweep.min,
			 (unsigned long long)sweep.max);
}

static struct neuron_buffer *new_buffer(enum neuron_placement placement, uint64_t size,
					uint32_t stack)
{
	struct neuron_buffer_options options = { .size = sizeof(options), .stack = stack };
	struct neuron_buffer *buffer;

	if (neuron_buffer_create(sweep.device, placement, size, &options, &buffer))
		tool_die_neuron("create of a buffer");
	return buffer;
}

static void *new_memory(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		tool_die(TOOL_FAILED, "out of memory");
	return memory;
}

static void open_all(void)
{
	struct neuron_queue_options options = {
		.size = sizeof(options),
		.num_engines = sweep.modelled ? 1 : sweep.engines,
		.stack = NEURON_STACK_ANY,
	};
	struct neuron_device_info info = { .size = sizeof(info) };

	sweep.device = tool_open(sweep.device_name);
	if (neuron_device_get_info(sweep.device, &info) ||
	    neuron_queue_create(sweep.device, &options, &sweep.queue))
		tool_die_neuron("device");
	if (sweep.modelled && !(info.features & NEURON_FEATURE_TIMESTAMP))
		tool_die(TOOL_FAILED, "device %s has no clock of its own: only --clock host",
			 sweep.device_name);
	sweep.host = new_buffer(NEURON_HOST, sweep.max, NEURON_STACK_ANY);
	sweep.hbm = new_buffer(NEURON_HBM, sweep.max, 0);
	sweep.hbm_to = new_buffer(NEURON_HBM, sweep.max, info.num_stacks - 1);
	sweep.stamps = new_buffer(NEURON_HOST, 4096, NEURON_STACK_ANY);
	sweep.user = new_memory(sweep.max);
	sweep.data = new_memory(sweep.max);
	sweep.back = new_memory(sweep.max);
	sweep.ns = new_memory(sweep.rounds * sizeof(*sweep.ns));
}

static void close_all(void)
{
	neuron_buffer_destroy(sweep.host);
	neuron_buffer_destroy(sweep.hbm);
	neuron_buffer_destroy(sweep.hbm_to);
	neuron_buffer_destroy(sweep.stamps);
	neuron_queue_destroy(sweep.queue);
	neuron_device_close(sweep.device);
	free(sweep.user);
	free(sweep.data);
	free(sweep.back);
	free(sweep.ns);
}

/*
 * Random data where a copy comes from, others where it goes to; nothing is touched
 * for the first time while the clock runs.
 */
static void prepare(const struct kind *kind, uint64_t size, uint64_t seed)
{
	tool_random(sweep.data, size, seed);
	if (kind->by_program) {
		memset(sweep.user, 0x55, size);
		if (!kind->src)
			memcpy(sweep.user, sweep.data, size);
	}
	if ((kind->src && neuron_buffer_write(*kind->src, 0, sweep.data, size)) ||
	    (kind->dst && neuron_buffer_fill(*kind->dst, 0, size, 0x55, 1)))
		tool_die_neuron("test data");
}

static void verify(const struct kind *kind, uint64_t size)
{
	const unsigned char *got = sweep.user;

	if (kind->dst) {
		if (neuron_buffer_read(*kind->dst, 0, sweep.back, size))
			tool_die_neuron("read");
		got = sweep.back;
	}
	if (memcmp(got, sweep.data, size))
		tool_die(TOOL_FAILED, "%s, %llu bytes: wrong data", kind->name,
			 (unsigned long long)size);
}

static struct neuron_op copy_of(const struct kind *kind, uint64_t size)
{
	return (struct neuron_op){
		.type = NEURON_OP_COPY,
		.flags = NEURON_OP_BARRIER,
		.dst = *kind->dst,
		.src = *kind->src,
		.size = size,
	};
}

/* ns of a copy between two timestamps of the engine */
static int64_t modelled_time(const struct kind *kind, uint64_t size)
{
	struct neuron_op stamp = {
		.type = NEURON_OP_TIMESTAMP,
		.flags = NEURON_OP_BARRIER,
		.dst = sweep.stamps,
		.size = 8,
	};
	struct neuron_op ops[] = { stamp, copy_of(kind, size), stamp };
	uint64_t when[2];

	ops[2].dst_offset = 8;
	if (neuron_queue_run(sweep.queue, ops, 3, NEURON_WAIT_FOREVER) ||
	    neuron_buffer_read(sweep.stamps, 0, when, sizeof(when)))
		tool_die_neuron(kind->name);
	return (int64_t)(when[1] - when[0]);
}

static void copy_burst(const struct kind *kind, uint64_t size)
{
	struct neuron_op op = copy_of(kind, size);
	unsigned int i;

	for (i = 0; i < BURST; i++)
		if (neuron_queue_submit(sweep.queue, &op, 1, NULL, 0, NULL))
			tool_die_neuron(kind->name);
	if (neuron_queue_drain(sweep.queue, NEURON_WAIT_FOREVER))
		tool_die_neuron(kind->name);
}

/* ns of a copy, or of a burst of them */
static int64_t time_once(const struct kind *kind, uint64_t size)
{
	int64_t start = tool_now();
	int status = 0;

	if (kind->burst)
		copy_burst(kind, size);
	else if (sweep.modelled)
		return modelled_time(kind, size);
	else if (!kind->by_program)
		status = neuron_queue_copy(sweep.queue, *kind->dst, 0, *kind->src, 0, size);
	else if (kind->dst)
		status = neuron_buffer_write(*kind->dst, 0, sweep.user, size);
	else
		status = neuron_buffer_read(*kind->src, 0, sweep.user, size);
	if (status)
		tool_die_neuron(kind->name);
	return tool_now() - start;
}

static void measure(const struct kind *kind, uint64_t size)
{
	struct json_object *row = json_object_new_object();
	struct spread time;
	unsigned int i;

	prepare(kind, size, size);
	for (i = 0; i < WARM_UP; i++)
		time_once(kind, size);
	for (i = 0; i < sweep.rounds; i++) {
		tool_progress(kind->name, i, sweep.rounds);
		sweep.ns[i] = time_once(kind, size);
	}
	verify(kind, size);
	spread_of(&time, sweep.ns, sweep.rounds);
	if (sweep.modelled && !(time.low > 0))
		tool_die(TOOL_FAILED, "%s, %llu bytes: the clock of the model has not moved",
			 kind->name, (unsigned long long)size);
	if (kind->burst)
		spread_scale(&time, 1.0 / BURST);
	json_string(row, "name", kind->name);
	json_uint(row, "size", size);
	json_string(row, "clock", sweep.modelled ? "model" : "host");
	report_number(row, "time_us", time.median / 1e3);
	report_number(row, "time_us_low", time.low / 1e3);
	report_number(row, "time_us_high", time.high / 1e3);
	json_uint(row, "samples", time.samples);
	spread_invert(&time, 1e9);
	report_number(row, "gb_per_s", time.median * (double)size / 1e9);
	report_number(row, "per_s", time.median);
	report_row(&sweep.report, row);
}

static void run_kind(const struct kind *kind)
{
	uint64_t size;

	for (size = sweep.min; size <= sweep.max; size *= 4)
		measure(kind, size);
}

int bench_sweep(int argc, char **argv)
{
	unsigned int i;
	char title[96];

	parse(argc, argv);
	open_all();
	snprintf(title, sizeof(title), "Copies on device %.40s, clock of the %s",
		 sweep.device_name, sweep.modelled ? "model" : "host");
	sweep.report.columns = columns;
	sweep.report.title = title;
	sweep.report.series = "name";
	sweep.report.rate = "gb_per_s";
	for (i = 0; i < KINDS && optind == argc; i++)
		if (!sweep.modelled || has_model_clock(&kinds[i]))
			run_kind(&kinds[i]);
	for (; optind < argc; optind++)
		run_kind(find_kind(argv[optind]));
	report_end(&sweep.report);
	close_all();
	return tool_finish(TOOL_OK);
}
