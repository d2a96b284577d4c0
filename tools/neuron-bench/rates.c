// SPDX-License-Identifier: MIT
/*
 * Rates of large copies. Each row warms up, measures several copies one by
 * one, takes the median, and verifies what arrived.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tool.h"

#define SIZE (64u << 20)
#define COPIES 11

/**
 * struct rate - memory for one row
 */
struct rate {
	struct bench *bench;
	struct neuron_buffer *host, *hbm, *hbm_to;
	unsigned char *user;
};

static struct neuron_buffer *new_buffer(struct bench *bench, enum neuron_placement placement,
					uint32_t stack)
{
	struct neuron_buffer_options options = { .size = sizeof(options), .stack = stack };
	struct neuron_buffer *buffer;

	if (neuron_buffer_create(bench->device, placement, SIZE, &options, &buffer))
		tool_die_neuron("create of a buffer");
	return buffer;
}

static void *map(struct neuron_buffer *buffer)
{
	void *data;

	if (neuron_buffer_map(buffer, &data))
		tool_die_neuron("map");
	return data;
}

static void setup(struct rate *rate, struct bench *bench)
{
	struct neuron_device_info info = { .size = sizeof(info) };

	if (neuron_device_get_info(bench->device, &info))
		tool_die_neuron("device");
	rate->bench = bench;
	rate->host = new_buffer(bench, NEURON_HOST, NEURON_STACK_ANY);
	rate->hbm = new_buffer(bench, NEURON_HBM, 0);
	rate->hbm_to = new_buffer(bench, NEURON_HBM, info.num_stacks - 1);
	rate->user = malloc(SIZE);
	if (!rate->user)
		tool_die(TOOL_FAILED, "out of memory");
	tool_random(rate->user, SIZE, 1);
	memset(map(rate->host), 0, SIZE);
	/* HBM is touched for the first time here, not while the clock runs. */
	if (neuron_buffer_fill(rate->hbm, 0, SIZE, 0x11, 1) ||
	    neuron_buffer_fill(rate->hbm_to, 0, SIZE, 0x22, 1))
		tool_die_neuron("fill");
}

static void cleanup(struct rate *rate)
{
	neuron_buffer_destroy(rate->host);
	neuron_buffer_destroy(rate->hbm);
	neuron_buffer_destroy(rate->hbm_to);
	free(rate->user);
}

/* GB/s of several calls. */
static void measure(struct rate *rate, int (*copy)(struct rate *rate), struct result *result)
{
	int64_t ns[COPIES], start;
	unsigned int i;

	if (copy(rate))
		tool_die_neuron("copy");
	for (i = 0; i < COPIES; i++) {
		start = tool_now();
		if (copy(rate))
			tool_die_neuron("copy");
		ns[i] = tool_now() - start;
	}
	spread_of(&result->spread, ns, COPIES);
	spread_invert(&result->spread, SIZE);
	result->value = result->spread.median;
}

static void verify(const void *got, const void *want, const char *name)
{
	if (memcmp(got, want, SIZE))
		tool_die(TOOL_FAILED, "%s: wrong data", name);
}

static void verify_buffer(struct neuron_buffer *buffer, const void *want, const char *name)
{
	unsigned char *back = malloc(SIZE);

	if (!back)
		tool_die(TOOL_FAILED, "out of memory");
	if (neuron_buffer_read(buffer, 0, back, SIZE))
		tool_die_neuron("read");
	verify(back, want, name);
	free(back);
}

static int host_to_hbm(struct rate *rate)
{
	return neuron_queue_copy(rate->bench->queue, rate->hbm, 0, rate->host, 0, SIZE);
}

static int hbm_to_host(struct rate *rate)
{
	return neuron_queue_copy(rate->bench->queue, rate->host, 0, rate->hbm, 0, SIZE);
}

static int hbm_to_hbm(struct rate *rate)
{
	return neuron_queue_copy(rate->bench->queue, rate->hbm_to, 0, rate->hbm, 0, SIZE);
}

static int write_user(struct rate *rate)
{
	return neuron_buffer_write(rate->hbm, 0, rate->user, SIZE);
}

static int read_user(struct rate *rate)
{
	return neuron_buffer_read(rate->hbm, 0, rate->user, SIZE);
}

void bench_host_to_hbm(struct bench *bench, const struct row *row, struct result *result)
{
	struct rate rate;

	setup(&rate, bench);
	memcpy(map(rate.host), rate.user, SIZE);
	measure(&rate, host_to_hbm, result);
	verify_buffer(rate.hbm, rate.user, row->name);
	cleanup(&rate);
}

void bench_hbm_to_host(struct bench *bench, const struct row *row, struct result *result)
{
	struct rate rate;

	setup(&rate, bench);
	if (neuron_buffer_write(rate.hbm, 0, rate.user, SIZE))
		tool_die_neuron("write");
	measure(&rate, hbm_to_host, result);
	verify(map(rate.host), rate.user, row->name);
	cleanup(&rate);
}

void bench_write(struct bench *bench, const struct row *row, struct result *result)
{
	struct rate rate;

	setup(&rate, bench);
	measure(&rate, write_user, result);
	verify_buffer(rate.hbm, rate.user, row->name);
	cleanup(&rate);
}

void bench_read(struct bench *bench, const struct row *row, struct result *result)
{
	struct rate rate;
	void *want;

	setup(&rate, bench);
	want = map(rate.host);
	tool_random(want, SIZE, 2);
	if (neuron_buffer_write(rate.hbm, 0, want, SIZE))
		tool_die_neuron("write");
	measure(&rate, read_user, result);
	verify(rate.user, want, row->name);
	cleanup(&rate);
}

void bench_hbm_to_hbm(struct bench *bench, const struct row *row, struct result *result)
{
	struct rate rate;

	setup(&rate, bench);
	if (neuron_buffer_write(rate.hbm, 0, rate.user, SIZE))
		tool_die_neuron("write");
	measure(&rate, hbm_to_hbm, result);
	verify_buffer(rate.hbm_to, rate.user, row->name);
	cleanup(&rate);
}
