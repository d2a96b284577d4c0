// SPDX-License-Identifier: MIT
/*
 * neuron-bench p2p: patterns of copies between chips that begin at the same
 * modelled time, and what they leave in the counters of the links.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "json.h"
#include "tool.h"

#define MAX_RANKS 256
#define GRANULE (64ull << 10)
#define MAX_COPY (1ull << 30)

static bool is_pair(uint32_t from, uint32_t to, uint32_t ranks)
{
	return ranks > 1 && !from && to == 1;
}

static bool is_ring(uint32_t from, uint32_t to, uint32_t ranks)
{
	return ranks > 1 && to == (from + 1) % ranks;
}

static bool is_incast(uint32_t from, uint32_t to, uint32_t ranks)
{
	(void)ranks;
	return from && !to;
}

static bool is_all(uint32_t from, uint32_t to, uint32_t ranks)
{
	(void)ranks;
	return from != to;
}

static const struct pattern {
	const char *name;
	/** @has: is there a copy? Ranks are by chip id. */
	bool (*has)(uint32_t from, uint32_t to, uint32_t ranks);
} patterns[] = {
	{ "pair", is_pair }, { "ring", is_ring }, { "incast", is_incast },
	{ "all-to-all", is_all },
};

#define PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

/* What was asked for, and what it is done with */
static struct {
	const struct pattern *pattern;
	uint64_t min, max;
	uint32_t ranks, channels;
	struct report report;

	struct neuron_device *device[MAX_RANKS];
	struct neuron_comm *comm[MAX_RANKS];
	struct neuron_buffer *src[MAX_RANKS], *dst[MAX_RANKS];
	/** @chip: id in the fabric; @ports: their number */
	uint32_t chip[MAX_RANKS], ports[MAX_RANKS];
	bool torus;
	uint64_t *counts;
	/** @copies: of the pattern; @sends, @receives: of one rank at most */
	uint32_t copies, sends, receives;
	/** @links: of the ways of all copies */
	uint64_t links;
} p2p;

static void print_help(void)
{
	printf("usage: neuron-bench p2p [OPTION]\n"
	       "\n"
	       "Copies between the chips of this machine, which begin at the same modelled time.\n"
	       "\n"
	       "      --pattern PATTERN  pair (chip 0 to 1), ring (each to the next), incast (all\n"
	       "                         to chip 0), all-to-all (default)\n"
	       "      --min SIZE         bytes of each copy to begin with (default: 64K)\n"
	       "      --max SIZE         to end with, times 4 (default: 1M)\n"
	       "      --ranks N          chips, from the first (default: all)\n"
	       "      --channels N       DMA engines of a chip, 1 to 32 (default: by size)\n"
	       "  -j, --json             one JSON object a line\n"
	       "      --csv              comma separated values\n"
	       "      --plot FILE        aggregate rate against size as an SVG picture\n"
	       "  -h, --help             this text\n"
	       "\n"
	       "algbw: bytes of the chip that has most, in one direction, over the modelled time;\n"
	       "aggregate: sent and received by all. GB/s are 10^9 bytes a second. links(B) is\n"
	       "what the counters of all ports have more of sent bytes afterwards, and expected(B)\n"
	       "the bytes of the copies times the links between chips, or from chips to switches,\n"
	       "that they pass; semaphores are the difference.\n"
	       "\n"
	       "Exit status: 0; 1 it cannot be done; 2 wrong usage.\n");
}

enum { OPT_PATTERN = 256, OPT_MIN, OPT_MAX, OPT_RANKS, OPT_CHANNELS };

static void parse_option(int c)
{
	unsigned int i;

	switch (c) {
	case OPT_PATTERN:
		for (i = 0; i < PATTERNS && strcmp(patterns[i].name, optarg); i++)
			;
		if (i == PATTERNS)
			tool_die(TOOL_USAGE, "pattern '%s' is not known", optarg);
		p2p.pattern = &patterns[i];
		break;
	case OPT_MIN:
		p2p.min = bench_number("size", optarg, MAX_COPY);
		break;
	case OPT_MAX:
		p2p.max = bench_number("size", optarg, MAX_COPY);
		break;
	case OPT_RANKS:
		p2p.ranks = (uint32_t)bench_number("ranks", optarg, MAX_RANKS);
		break;
	case OPT_CHANNELS:
		p2p.channels = (uint32_t)bench_number("channels", optarg, 32);
		break;
	case 'h':
		print_help();
		exit(tool_finish(TOOL_OK));
	default:
		if (!report_option(&p2p.report, c))
			tool_usage_error();
	}
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "pattern", required_argument, NULL, OPT_PATTERN },
		{ "min", required_argument, NULL, OPT_MIN },
		{ "max", required_argument, NULL, OPT_MAX },
		{ "ranks", required_argument, NULL, OPT_RANKS },
		{ "channels", required_argument, NULL, OPT_CHANNELS },
		{ "json", no_argument, NULL, 'j' },
		{ "csv", no_argument, NULL, REPORT_OPT_CSV },
		{ "plot", required_argument, NULL, REPORT_OPT_PLOT },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	p2p.pattern = &patterns[PATTERNS - 1];
	p2p.min = 64 << 10;
	p2p.max = 1 << 20;
	while ((c = getopt_long(argc, argv, "jh", options, NULL)) != -1)
		parse_option(c);
	if (optind < argc)
		tool_die(TOOL_USAGE, "unexpected argument '%s'", argv[optind]);
	if (p2p.min > p2p.max)
		tool_die(TOOL_USAGE, "sizes from %llu to %llu", (unsigned long long)p2p.min,
			 (unsigned long long)p2p.max);
}

static struct neuron_buffer *make_buffer(uint32_t rank, uint64_t size)
{
	struct neuron_buffer_options options = {
		.size = sizeof(options),
		.flags = NEURON_BUFFER_PEER,
		.stack = NEURON_STACK_ANY,
	};
	struct neuron_buffer *buffer;

	size = (size + GRANULE - 1) & ~(GRANULE - 1);
	if (neuron_buffer_create(p2p.device[rank], NEURON_HBM, size, &options, &buffer) ||
	    neuron_comm_register(p2p.comm[rank], buffer))
		tool_die_neuron("buffer");
	return buffer;
}

/* Ranks are in the order of the chips' ids. */
static void open_all(void)
{
	struct neuron_comm_options options = {
		.size = sizeof(options),
		.timeout_ns = COLL_TIMEOUT_NS,
	};
	struct neuron_device_entry *entries;
	unsigned int count;
	uint32_t i, k;

	entries = tool_devices(&count);
	if (!p2p.ranks)
		p2p.ranks = count < MAX_RANKS ? count : MAX_RANKS;
	if (p2p.ranks > count)
		tool_die(TOOL_FAILED, "%u ranks, but there are %u chips", p2p.ranks, count);
	for (i = 0; i < p2p.ranks; i++) {
		struct neuron_fabric_info fabric = { .size = sizeof(fabric) };
		struct neuron_device *device;

		if (neuron_device_open(entries[i].accel, &device))
			tool_die_neuron("device");
		if (neuron_fabric_get_info(device, &fabric))
			tool_die_neuron("fabric");
		for (k = i; k && p2p.chip[k - 1] > fabric.chip; k--) {
			p2p.chip[k] = p2p.chip[k - 1];
			p2p.ports[k] = p2p.ports[k - 1];
			p2p.device[k] = p2p.device[k - 1];
		}
		p2p.torus = fabric.kind == NEURON_FABRIC_NEURONLINK;
		p2p.chip[k] = fabric.chip;
		p2p.ports[k] = fabric.num_ports;
		p2p.device[k] = device;
	}
	free(entries);
	if (neuron_comm_init_all(p2p.device, p2p.ranks, &options, p2p.comm))
		tool_die_neuron("communicator");
}

static void find_ways(void)
{
	uint32_t from, to, sends, receives;

	for (from = 0; from < p2p.ranks; from++) {
		for (to = 0, sends = 0, receives = 0; to < p2p.ranks; to++) {
			struct neuron_path_info path = { .size = sizeof(path) };

			receives += p2p.pattern->has(to, from, p2p.ranks);
			if (!p2p.pattern->has(from, to, p2p.ranks))
				continue;
			sends++;
			if (neuron_fabric_get_path(p2p.device[from], p2p.chip[to], 0, &path))
				tool_die_neuron("path");
			/* What a switch sends is not counted by a chip. */
			p2p.links += p2p.torus ? path.links : 1;
		}
		p2p.copies += sends;
		if (sends > p2p.sends)
			p2p.sends = sends;
		if (receives > p2p.receives)
			p2p.receives = receives;
	}
	if (!p2p.copies)
		tool_die(TOOL_FAILED, "%u ranks: nothing to copy", p2p.ranks);
	for (from = 0; from < p2p.ranks; from++) {
		p2p.src[from] = make_buffer(from, p2p.max * (p2p.sends ? p2p.sends : 1));
		p2p.dst[from] = make_buffer(from, p2p.max * (p2p.receives ? p2p.receives : 1));
	}
	p2p.counts = calloc((size_t)p2p.ranks * p2p.ranks, sizeof(*p2p.counts));
	if (!p2p.counts)
		tool_die(TOOL_FAILED, "out of memory");
}

static void close_all(void)
{
	uint32_t i;

	for (i = 0; i < p2p.ranks; i++) {
		neuron_comm_destroy(p2p.comm[i]);
		neuron_buffer_destroy(p2p.src[i]);
		neuron_buffer_destroy(p2p.dst[i]);
		neuron_device_close(p2p.device[i]);
	}
	free(p2p.counts);
}

static uint64_t sent_by_links(void)
{
	uint64_t bytes = 0;
	uint32_t i, port;

	for (i = 0; i < p2p.ranks; i++) {
		for (port = 0; port < p2p.ports[i]; port++) {
			struct neuron_port_info info = { .size = sizeof(info) };

			if (neuron_port_get_info(p2p.device[i], port, &info))
				tool_die_neuron("port");
			bytes += info.counters[NEURON_PORT_TX_BYTES];
		}
	}
	return bytes;
}

/* All copies of the pattern. Returns the modelled time in ns. */
static uint64_t run(uint64_t size)
{
	struct neuron_comm_call call = {
		.size = sizeof(call),
		.algorithm = NEURON_COMM_MESH,
		.channels = p2p.channels,
		.flags = NEURON_COMM_TIMED,
	};
	struct neuron_request *request[MAX_RANKS];
	uint64_t time, most = 0;
	uint32_t i, k;

	for (i = 0; i < p2p.ranks; i++)
		for (k = 0; k < p2p.ranks; k++)
			p2p.counts[i * p2p.ranks + k] =
				p2p.pattern->has(i, k, p2p.ranks) ? size : 0;
	neuron_comm_group_start();
	for (i = 0; i < p2p.ranks; i++) {
		struct neuron_comm_data data = {
			.src = p2p.src[i],
			.dst = p2p.dst[i],
			.dtype = NEURON_DTYPE_FP8_E4M3,
		};

		if (neuron_comm_all_to_all(p2p.comm[i], &data, p2p.counts, &call, &request[i]))
			tool_die_neuron("copies");
	}
	if (neuron_comm_group_end())
		tool_die_neuron("copies");
	for (i = 0; i < p2p.ranks; i++) {
		if (neuron_request_wait(request[i], NEURON_WAIT_FOREVER))
			tool_die_neuron("copies");
		if (neuron_request_get_time(request[i], &time))
			tool_die_neuron("modelled time");
		most = time > most ? time : most;
		neuron_request_destroy(request[i]);
	}
	return most;
}

static const struct report_column columns[] = {
	{ "pattern", "pattern", -12, 0 },
	{ "ranks", "ranks", 6, 0 },
	{ "size", "size(B)", 12, 0 },
	{ "copies", "copies", 7, 0 },
	{ "time_us", "time(us)", 12, 3 },
	{ "algbw", "algbw(GB/s)", 11, 2 },
	{ "aggregate", "aggregate(GB/s)", 15, 2 },
	{ "host_us", "host(us)", 12, 2 },
	{ "links", "links(B)", 14, 0 },
	{ "expected", "expected(B)", 14, 0 },
	{ NULL, NULL, 0, 0 },
};

static void measure(uint64_t size)
{
	uint32_t most = p2p.sends > p2p.receives ? p2p.sends : p2p.receives;
	struct json_object *o = json_object_new_object();
	uint64_t links, time;
	int64_t host;

	/* The first one makes the lists. */
	run(size);
	links = sent_by_links();
	host = tool_now();
	time = run(size);
	host = tool_now() - host;
	links = sent_by_links() - links;
	json_string(o, "pattern", p2p.pattern->name);
	json_uint(o, "ranks", p2p.ranks);
	json_uint(o, "size", size);
	json_uint(o, "copies", p2p.copies);
	report_number(o, "time_us", (double)time / 1000);
	report_number(o, "algbw", (double)(most * size) / (double)time);
	report_number(o, "aggregate", (double)(2 * p2p.copies * size) / (double)time);
	report_number(o, "host_us", (double)host / 1000);
	json_uint(o, "links", links);
	json_uint(o, "expected", p2p.links * size);
	report_row(&p2p.report, o);
}

int bench_p2p(int argc, char **argv)
{
	char title[64];
	uint64_t size;

	parse(argc, argv);
	open_all();
	find_ways();
	snprintf(title, sizeof(title), "%s, %u ranks", p2p.pattern->name, p2p.ranks);
	p2p.report.columns = columns;
	p2p.report.title = title;
	p2p.report.series = "pattern";
	p2p.report.rate = "aggregate";
	for (size = p2p.min; size <= p2p.max; size *= 4)
		measure(size);
	report_end(&p2p.report);
	close_all();
	return tool_finish(TOOL_OK);
}
