// SPDX-License-Identifier: MIT
/*
 * neuron-bench coll: collectives over the chips of this machine, with the columns
 * that users of nccl-tests and nccom-test know. GB are 10^9 bytes.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "json.h"
#include "tool.h"

#define MAX_RANKS 256
#define GRANULE (64ull << 10)

static const struct op {
	const char *name;
	uint32_t op;
	bool combines;
} ops[] = {
	{ "all_reduce", NEURON_COMM_ALL_REDUCE, true },
	{ "all_gather", NEURON_COMM_ALL_GATHER, false },
	{ "reduce_scatter", NEURON_COMM_REDUCE_SCATTER, true },
	{ "all_to_all", NEURON_COMM_ALL_TO_ALL, false },
	{ "broadcast", NEURON_COMM_BROADCAST, false },
	{ "reduce", NEURON_COMM_REDUCE, true },
	{ "sendrecv", NEURON_COMM_SEND_RECV, false },
};

static const struct dtype {
	const char *name;
	uint32_t dtype, size;
} dtypes[] = {
	{ "int32", NEURON_DTYPE_INT32, 4 }, { "uint32", NEURON_DTYPE_UINT32, 4 },
	{ "int64", NEURON_DTYPE_INT64, 8 }, { "fp16", NEURON_DTYPE_FP16, 2 },
	{ "bf16", NEURON_DTYPE_BF16, 2 }, { "fp32", NEURON_DTYPE_FP32, 4 },
	{ "fp8_e4m3", NEURON_DTYPE_FP8_E4M3, 1 }, { "fp8_e5m2", NEURON_DTYPE_FP8_E5M2, 1 },
};

static const char *const reductions[] = { "sum", "min", "max", "avg" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What was asked for, and what it is done with */
static struct {
	const struct op *op;
	const struct dtype *dtype;
	uint32_t reduction;
	struct neuron_comm_call call;
	uint64_t min, max;
	uint32_t ranks, rounds;
	bool check, explain;
	struct report report;
	uint32_t channels;

	struct neuron_device *device[MAX_RANKS];
	struct neuron_comm *comm[MAX_RANKS];
	struct neuron_buffer *src[MAX_RANKS], *dst[MAX_RANKS];
	uint64_t *counts;
} coll;

/* One size */
struct line {
	uint64_t size, count;
	/** @host, @model: us until all ranks have ended; 0 where the model has no clock */
	struct spread host, model;
	int64_t errors;
	uint64_t doorbells;
	int algorithm;
};

static void print_help(void)
{
	printf("usage: neuron-bench coll [OPTION]\n"
	       "\n"
	       "Collectives over the chips of this machine, from this process.\n"
	       "\n"
	       "      --op OP          all_reduce (default), all_gather, reduce_scatter, all_to_all,\n"
	       "                       broadcast, reduce, sendrecv\n"
	       "      --algorithm ALG  auto (default), ring, halving, mesh, one-step, hierarchical,\n"
	       "                       multicast, in-network\n"
	       "      --dtype TYPE     int32, uint32, int64, fp16, bf16, fp32 (default), fp8_e4m3,\n"
	       "                       fp8_e5m2\n"
	       "      --reduction RED  sum (default), min, max, avg\n"
	       "      --min SIZE       bytes of the whole data to begin with (default: 4K)\n"
	       "      --max SIZE       to end with, doubling (default: 1M)\n"
	       "      --ranks N        chips, from the first (default: all)\n"
	       "      --channels N     DMA engines side by side at most (default: 32)\n"
	       "      --rounds N       measured ones of each size (default: 5)\n"
	       "      --check          compare the results with what they should be\n"
	       "      --explain        say what each algorithm is expected to take\n"
	       "  -j, --json           one JSON object a line\n"
	       "      --csv            comma separated values\n"
	       "      --plot FILE      bandwidth (busbw) against size as an SVG picture\n"
	       "  -h, --help           this text\n"
	       "\n"
	       "Bandwidths are in 10^9 bytes a second, of modelled time: that of the model's DMA\n"
	       "engines. host(us) is what the program has waited. Times are medians; a tenth of\n"
	       "the rounds took not more than low, a tenth not less than high.\n"
	       "\n"
	       "Exit status: 0; 1 wrong results, or it cannot be done; 2 wrong usage.\n");
}

static uint32_t find_name(const char *what, const char *name, const void *table, uint32_t count,
			  size_t stride)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		const char *const *at = (const void *)((const char *)table + i * stride);

		if (!strcmp(*at, name))
			return i;
	}
	tool_die(TOOL_USAGE, "%s '%s' is not known", what, name);
}

static uint64_t parse_number(const char *what, const char *text, uint64_t most)
{
	uint64_t number;

	if (!tool_parse_size(text, &number) || number > most)
		tool_die(TOOL_USAGE, "%s '%s': at most %llu", what, text,
			 (unsigned long long)most);
	return number;
}

enum {
	OPT_OP = 256, OPT_ALGORITHM, OPT_DTYPE, OPT_REDUCTION, OPT_MIN, OPT_MAX, OPT_RANKS,
	OPT_CHANNELS, OPT_ROUNDS, OPT_CHECK, OPT_EXPLAIN,
};

static void parse_option(int c)
{
	int algorithm;

	switch (c) {
	case OPT_OP:
		coll.op = &ops[find_name("operation", optarg, ops, COUNT(ops), sizeof(ops[0]))];
		break;
	case OPT_ALGORITHM:
		algorithm = neuron_comm_algorithm_by_name(optarg);
		if (algorithm < 0)
			tool_die(TOOL_USAGE, "%s", neuron_last_error());
		coll.call.algorithm = (uint32_t)algorithm;
		break;
	case OPT_DTYPE:
		coll.dtype = &dtypes[find_name("type", optarg, dtypes, COUNT(dtypes),
					       sizeof(dtypes[0]))];
		break;
	case OPT_REDUCTION:
		coll.reduction = find_name("reduction", optarg, reductions, COUNT(reductions),
					   sizeof(reductions[0]));
		break;
	case OPT_MIN:
		coll.min = parse_number("size", optarg, 1ull << 40);
		break;
	case OPT_MAX:
		coll.max = parse_number("size", optarg, 1ull << 40);
		break;
	case OPT_RANKS:
		coll.ranks = (uint32_t)parse_number("ranks", optarg, MAX_RANKS);
		break;
	case OPT_CHANNELS:
		coll.channels = (uint32_t)parse_number("channels", optarg, 32);
		break;
	case OPT_ROUNDS:
		coll.rounds = (uint32_t)parse_number("rounds", optarg, 100000);
		break;
	case OPT_CHECK:
		coll.check = true;
		break;
	case OPT_EXPLAIN:
		coll.explain = true;
		break;
	case 'h':
		print_help();
		exit(tool_finish(TOOL_OK));
	default:
		if (!report_option(&coll.report, c))
			tool_usage_error();
	}
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "op", required_argument, NULL, OPT_OP },
		{ "algorithm", required_argument, NULL, OPT_ALGORITHM },
		{ "dtype", required_argument, NULL, OPT_DTYPE },
		{ "reduction", required_argument, NULL, OPT_REDUCTION },
		{ "min", required_argument, NULL, OPT_MIN },
		{ "max", required_argument, NULL, OPT_MAX },
		{ "ranks", required_argument, NULL, OPT_RANKS },
		{ "channels", required_argument, NULL, OPT_CHANNELS },
		{ "rounds", required_argument, NULL, OPT_ROUNDS },
		{ "check", no_argument, NULL, OPT_CHECK },
		{ "explain", no_argument, NULL, OPT_EXPLAIN },
		{ "json", no_argument, NULL, 'j' },
		{ "csv", no_argument, NULL, REPORT_OPT_CSV },
		{ "plot", required_argument, NULL, REPORT_OPT_PLOT },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	coll.op = &ops[0];
	coll.dtype = &dtypes[5];
	coll.min = 4 << 10;
	coll.max = 1 << 20;
	coll.rounds = 5;
	coll.call.size = sizeof(coll.call);
	coll.call.flags = NEURON_COMM_TIMED;
	while ((c = getopt_long(argc, argv, "jh", options, NULL)) != -1)
		parse_option(c);
	if (optind < argc)
		tool_die(TOOL_USAGE, "unexpected argument '%s'", argv[optind]);
	if (!coll.min || coll.min > coll.max || !coll.rounds)
		tool_die(TOOL_USAGE, "sizes from %llu to %llu, %u rounds",
			 (unsigned long long)coll.min, (unsigned long long)coll.max, coll.rounds);
	if (!coll.op->combines)
		coll.reduction = NEURON_COMM_SUM;
}

/* Bytes that each buffer may need: of all_to_all each rank has the whole */
static uint64_t buffer_size(void)
{
	uint64_t size = coll.max + (uint64_t)coll.ranks * 16;

	return (size + GRANULE - 1) & ~(GRANULE - 1);
}

static struct neuron_buffer *make_buffer(uint32_t rank, uint64_t alignment)
{
	struct neuron_buffer_options options = {
		.size = sizeof(options),
		.flags = NEURON_BUFFER_PEER,
		.stack = NEURON_STACK_ANY,
		.alignment = alignment,
	};
	struct neuron_buffer *buffer;

	if (neuron_buffer_create(coll.device[rank], NEURON_HBM, buffer_size(), &options, &buffer) ||
	    neuron_comm_register(coll.comm[rank], buffer))
		tool_die_neuron("buffer");
	return buffer;
}

static void open_all(void)
{
	struct neuron_comm_options options = {
		.size = sizeof(options),
		.channels = coll.channels,
		.timeout_ns = COLL_TIMEOUT_NS,
	};
	struct neuron_device_entry *entries;
	struct neuron_fabric_info fabric = { .size = sizeof(fabric) };
	unsigned int count;
	uint64_t alignment;
	uint32_t i;

	entries = tool_devices(&count);
	if (!coll.ranks)
		coll.ranks = count < MAX_RANKS ? count : MAX_RANKS;
	if (coll.ranks > count)
		tool_die(TOOL_FAILED, "%u ranks, but there are %u chips", coll.ranks, count);
	for (i = 0; i < coll.ranks; i++)
		if (neuron_device_open(entries[i].accel, &coll.device[i]))
			tool_die_neuron("device");
	free(entries);
	if (neuron_fabric_get_info(coll.device[0], &fabric))
		tool_die_neuron("fabric");
	alignment = fabric.group_granule ? fabric.group_granule : GRANULE;
	if (neuron_comm_init_all(coll.device, coll.ranks, &options, coll.comm))
		tool_die_neuron("communicator");
	for (i = 0; i < coll.ranks; i++) {
		coll.src[i] = make_buffer(i, alignment);
		coll.dst[i] = make_buffer(i, alignment);
	}
	coll.counts = calloc((size_t)coll.ranks * coll.ranks, sizeof(*coll.counts));
	if (!coll.counts)
		tool_die(TOOL_FAILED, "out of memory");
}

static void close_all(void)
{
	uint32_t i;

	for (i = 0; i < coll.ranks; i++) {
		neuron_comm_destroy(coll.comm[i]);
		neuron_buffer_destroy(coll.src[i]);
		neuron_buffer_destroy(coll.dst[i]);
		neuron_device_close(coll.device[i]);
	}
	free(coll.counts);
}

static uint64_t ranks_squared(void)
{
	return (uint64_t)coll.ranks * coll.ranks;
}

/* Elements of a part, where the data have parts */
static uint64_t part_of(const struct line *line)
{
	return line->count / coll.ranks;
}

static int start(uint32_t rank, const struct line *line, struct neuron_request **request)
{
	struct neuron_comm_data data = {
		.src = coll.src[rank],
		.dst = coll.dst[rank],
		.dtype = coll.dtype->dtype,
		.reduction = coll.reduction,
	};
	uint64_t i;

	for (i = 0; i < ranks_squared(); i++)
		coll.counts[i] = part_of(line);
	switch (coll.op->op) {
	case NEURON_COMM_ALL_REDUCE:
		return neuron_comm_all_reduce(coll.comm[rank], &data, line->count, &coll.call,
					      request);
	case NEURON_COMM_ALL_GATHER:
		return neuron_comm_all_gather(coll.comm[rank], &data, coll.counts, &coll.call,
					      request);
	case NEURON_COMM_REDUCE_SCATTER:
		return neuron_comm_reduce_scatter(coll.comm[rank], &data, coll.counts, &coll.call,
						  request);
	case NEURON_COMM_ALL_TO_ALL:
		return neuron_comm_all_to_all(coll.comm[rank], &data, coll.counts, &coll.call,
					      request);
	case NEURON_COMM_BROADCAST:
		return neuron_comm_broadcast(coll.comm[rank], &data, line->count, 0, &coll.call,
					     request);
	case NEURON_COMM_REDUCE:
		return neuron_comm_reduce(coll.comm[rank], &data, line->count, 0, &coll.call,
					  request);
	default:
		/* In pairs: even ranks send to the next. */
		if (rank % 2)
			return neuron_comm_recv(coll.comm[rank], coll.dst[rank], 0, line->size,
						rank - 1, request);
		return neuron_comm_send(coll.comm[rank], coll.src[rank], 0, line->size, rank + 1,
					request);
	}
}

static bool takes_part(uint32_t rank)
{
	return coll.op->op != NEURON_COMM_SEND_RECV || (rank | 1) < coll.ranks;
}

/* All ranks once. Returns modelled ns until the last one has ended, or 0. */
static int64_t run_once(struct line *line)
{
	struct neuron_request *request[MAX_RANKS];
	uint64_t time, most = 0;
	uint32_t i;

	neuron_comm_group_start();
	for (i = 0; i < coll.ranks; i++)
		if (takes_part(i) && start(i, line, &request[i]))
			tool_die_neuron(coll.op->name);
	if (neuron_comm_group_end())
		tool_die_neuron(coll.op->name);
	for (i = 0; i < coll.ranks; i++) {
		if (!takes_part(i))
			continue;
		if (neuron_request_wait(request[i], NEURON_WAIT_FOREVER))
			tool_die_neuron(coll.op->name);
		if (!neuron_request_get_time(request[i], &time) && time > most)
			most = time;
		line->algorithm = neuron_request_get_algorithm(request[i]);
		neuron_request_destroy(request[i]);
	}
	return (int64_t)most;
}

/* Small numbers, so that sums of many are exact in every type but the smallest */
static int value_of(uint32_t rank, uint64_t i)
{
	return (int)((rank * 3 + i * 7 + i / 5) % 4);
}

static void put_value(unsigned char *at, int value)
{
	static const uint8_t e4m3[] = { 0x00, 0x38, 0x40, 0x44 };
	static const uint8_t e5m2[] = { 0x00, 0x3c, 0x40, 0x42 };
	static const uint16_t fp16[] = { 0x0000, 0x3c00, 0x4000, 0x4200 };
	static const uint16_t bf16[] = { 0x0000, 0x3f80, 0x4000, 0x4040 };
	float fp32 = (float)value;
	int64_t i64 = value;
	int32_t i32 = value;

	switch (coll.dtype->dtype) {
	case NEURON_DTYPE_INT64:
		memcpy(at, &i64, 8);
		break;
	case NEURON_DTYPE_FP16:
		memcpy(at, &fp16[value], 2);
		break;
	case NEURON_DTYPE_BF16:
		memcpy(at, &bf16[value], 2);
		break;
	case NEURON_DTYPE_FP32:
		memcpy(at, &fp32, 4);
		break;
	case NEURON_DTYPE_FP8_E4M3:
		*at = e4m3[value];
		break;
	case NEURON_DTYPE_FP8_E5M2:
		*at = e5m2[value];
		break;
	default:
		memcpy(at, &i32, 4);
	}
}

/* A value of a type with a sign, @exponent and @mantissa bits; 0 to 1000 are enough */
static double small_float(uint32_t bits, int exponent, int mantissa)
{
	int e = (int)(bits >> mantissa) & ((1 << exponent) - 1), bias = (1 << (exponent - 1)) - 1;
	double m = (double)(bits & ((1u << mantissa) - 1));

	return e ? ldexp(m + (1 << mantissa), e - bias - mantissa) : ldexp(m, 1 - bias - mantissa);
}

static double get_value(const unsigned char *at)
{
	uint16_t u16;
	uint32_t u32;
	int64_t i64;
	float fp32;

	memcpy(&u16, at, coll.dtype->size < 2 ? 1 : 2);
	switch (coll.dtype->dtype) {
	case NEURON_DTYPE_INT64:
		memcpy(&i64, at, 8);
		return (double)i64;
	case NEURON_DTYPE_FP16:
		return small_float(u16, 5, 10);
	case NEURON_DTYPE_BF16:
		return small_float(u16, 8, 7);
	case NEURON_DTYPE_FP32:
		memcpy(&fp32, at, 4);
		return (double)fp32;
	case NEURON_DTYPE_FP8_E4M3:
		return small_float(*at, 4, 3);
	case NEURON_DTYPE_FP8_E5M2:
		return small_float(*at, 5, 2);
	default:
		memcpy(&u32, at, 4);
		return (double)u32;
	}
}

static double expected(uint64_t i)
{
	double value = value_of(0, i);
	uint32_t rank;

	for (rank = 1; rank < coll.ranks; rank++) {
		int other = value_of(rank, i);

		if (coll.reduction == NEURON_COMM_MIN)
			value = fmin(value, other);
		else if (coll.reduction == NEURON_COMM_MAX)
			value = fmax(value, other);
		else
			value += other;
	}
	if (coll.reduction != NEURON_COMM_AVG)
		return value;
	value /= coll.ranks;
	return coll.dtype->dtype <= NEURON_DTYPE_INT64 ? floor(value) : value;
}

/* Relative: n - 1 roundings of half a unit in the last place */
static double bound(void)
{
	static const int bits[] = { 0, 0, 0, 11, 8, 24, 4, 3 };

	if (coll.dtype->dtype <= NEURON_DTYPE_INT64)
		return 0;
	return ldexp(coll.ranks, -bits[coll.dtype->dtype]);
}

/* Element @i of what @rank gets: rank and element that it comes from, -1: all of them */
static int origin(uint32_t rank, const struct line *line, uint64_t *i)
{
	uint64_t part = part_of(line), at = *i;

	switch (coll.op->op) {
	case NEURON_COMM_ALL_GATHER:
		*i = at % part;
		return (int)(at / part);
	case NEURON_COMM_ALL_TO_ALL:
		*i = rank * part + at % part;
		return (int)(at / part);
	case NEURON_COMM_REDUCE_SCATTER:
		*i = rank * part + at;
		return -1;
	case NEURON_COMM_BROADCAST:
		return 0;
	case NEURON_COMM_SEND_RECV:
		return (int)rank - 1;
	default:
		return -1;
	}
}

static uint64_t results_of(uint32_t rank, const struct line *line)
{
	switch (coll.op->op) {
	case NEURON_COMM_REDUCE_SCATTER:
		return part_of(line);
	case NEURON_COMM_ALL_GATHER:
	case NEURON_COMM_ALL_TO_ALL:
		return part_of(line) * coll.ranks;
	case NEURON_COMM_REDUCE:
		return rank ? 0 : line->count;
	case NEURON_COMM_SEND_RECV:
		return rank % 2 ? line->count : 0;
	default:
		return line->count;
	}
}

static void fill_sources(const struct line *line, unsigned char *data)
{
	uint32_t rank;
	uint64_t i;

	for (rank = 0; rank < coll.ranks; rank++) {
		for (i = 0; i < line->count; i++)
			put_value(data + i * coll.dtype->size, value_of(rank, i));
		if (neuron_buffer_write(coll.src[rank], 0, data, line->size) ||
		    neuron_buffer_fill(coll.dst[rank], 0, line->size, 0xee, 1))
			tool_die_neuron("test data");
	}
}

static int64_t count_errors(const struct line *line, unsigned char *data)
{
	int64_t errors = 0;
	double want, got;
	uint32_t rank;
	uint64_t i;

	for (rank = 0; rank < coll.ranks; rank++) {
		uint64_t count = takes_part(rank) ? results_of(rank, line) : 0;

		if (neuron_buffer_read(coll.dst[rank], 0, data, count * coll.dtype->size))
			tool_die_neuron("results");
		for (i = 0; i < count; i++) {
			uint64_t at = i;
			int from = origin(rank, line, &at);

			want = from < 0 ? expected(at) : value_of((uint32_t)from, at);
			got = get_value(data + i * coll.dtype->size);
			/* Not: greater. A NaN is wrong, too. */
			if (!(fabs(got - want) <= bound() * want))
				errors++;
		}
	}
	return errors;
}

static void measure(struct line *line)
{
	struct neuron_comm_info info = { .size = sizeof(info) };
	int64_t *host = calloc(coll.rounds, sizeof(*host));
	int64_t *model = calloc(coll.rounds, sizeof(*model));
	unsigned char *data = malloc(line->size + 8);
	uint32_t round;

	if (!host || !model || !data)
		tool_die(TOOL_FAILED, "out of memory");
	line->errors = -1;
	if (coll.check)
		fill_sources(line, data);
	/* The first one makes the lists. */
	run_once(line);
	neuron_comm_get_info(coll.comm[0], &info);
	line->doorbells = info.doorbells;
	for (round = 0; round < coll.rounds; round++) {
		tool_progress(coll.op->name, round, coll.rounds);
		host[round] = tool_now();
		model[round] = run_once(line);
		host[round] = tool_now() - host[round];
	}
	neuron_comm_get_info(coll.comm[0], &info);
	line->doorbells = (info.doorbells - line->doorbells) / coll.rounds;
	spread_of(&line->host, host, coll.rounds);
	spread_scale(&line->host, 0.001);
	spread_of(&line->model, model, coll.rounds);
	spread_scale(&line->model, 0.001);
	if (coll.check)
		line->errors = count_errors(line, data);
	free(data);
	free(host);
	free(model);
}

/* What the links of a rank have to carry, against the whole: as nccl-tests count */
static double bus_factor(void)
{
	double n = coll.ranks;

	switch (coll.op->op) {
	case NEURON_COMM_ALL_REDUCE:
		return 2 * (n - 1) / n;
	case NEURON_COMM_ALL_GATHER:
	case NEURON_COMM_REDUCE_SCATTER:
	case NEURON_COMM_ALL_TO_ALL:
		return (n - 1) / n;
	default:
		return 1;
	}
}

static const struct report_column columns[] = {
	{ "size", "size(B)", 12, 0 },
	{ "count", "count(elems)", 12, 0 },
	{ "type", "type", 9, 0 },
	{ "redop", "redop", 6, 0 },
	{ "time_us", "time(us)", 12, 2 },
	{ "time_us_low", "low", 10, 2 },
	{ "time_us_high", "high", 10, 2 },
	{ "algbw", "algbw(GB/s)", 11, 2 },
	{ "busbw", "busbw(GB/s)", 11, 2 },
	{ "host_us", "host(us)", 12, 2 },
	{ "doorbells", "doorbells", 9, 0 },
	{ "algorithm", "algorithm", -12, 0 },
	{ "errors", "errors", 6, 0 },
	{ NULL, NULL, 0, 0 },
};

static void print_line(const struct line *line)
{
	const struct spread *time = line->model.median > 0 ? &line->model : &line->host;
	double algbw = time->median > 0 ? (double)line->size / time->median / 1000 : 0;
	struct json_object *o = json_object_new_object();

	json_string(o, "op", coll.op->name);
	json_uint(o, "ranks", coll.ranks);
	json_uint(o, "size", line->size);
	json_uint(o, "count", line->count);
	json_string(o, "type", coll.dtype->name);
	json_string(o, "redop", coll.op->combines ? reductions[coll.reduction] : "none");
	report_number(o, "time_us", line->model.median);
	report_number(o, "time_us_low", line->model.low);
	report_number(o, "time_us_high", line->model.high);
	report_number(o, "host_us", line->host.median);
	report_number(o, "host_us_low", line->host.low);
	report_number(o, "host_us_high", line->host.high);
	json_uint(o, "samples", line->host.samples);
	report_number(o, "algbw", algbw);
	report_number(o, "busbw", algbw * bus_factor());
	json_uint(o, "doorbells", line->doorbells);
	json_string(o, "algorithm", neuron_comm_algorithm_name((uint32_t)line->algorithm));
	if (line->errors >= 0)
		json_int(o, "errors", line->errors);
	report_row(&coll.report, o);
}

static void explain(uint64_t size)
{
	char text[2048];

	if (neuron_comm_explain(coll.comm[0], coll.op->op, coll.dtype->dtype, coll.reduction, size,
				text, sizeof(text)) < 0)
		tool_die_neuron("explain");
	printf("# %llu bytes, expected; * is chosen:\n%s", (unsigned long long)size, text);
}

int bench_coll(int argc, char **argv)
{
	uint64_t size, step;
	int64_t errors = 0;
	char title[64];

	parse(argc, argv);
	open_all();
	snprintf(title, sizeof(title), "%s, %u ranks", coll.op->name, coll.ranks);
	coll.report.columns = columns;
	coll.report.title = title;
	coll.report.series = "algorithm";
	coll.report.rate = "busbw";
	if (coll.report.format == REPORT_TABLE)
		printf("# %s; GB/s are 10^9 bytes a second of modelled time\n", title);
	for (size = coll.min; size <= coll.max; size *= 2) {
		struct line line = { 0 };

		/* Whole elements, the same number for all ranks */
		step = (uint64_t)coll.dtype->size * coll.ranks;
		line.size = size / step * step;
		line.count = line.size / coll.dtype->size;
		if (!line.count)
			continue;
		if (coll.explain && coll.report.format == REPORT_TABLE)
			explain(line.size);
		measure(&line);
		print_line(&line);
		errors += line.errors > 0 ? line.errors : 0;
	}
	report_end(&coll.report);
	close_all();
	if (errors)
		tool_warn("%lld wrong elements", (long long)errors);
	return tool_finish(errors ? TOOL_FAILED : TOOL_OK);
}
