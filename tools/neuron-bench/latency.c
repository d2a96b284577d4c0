// SPDX-License-Identifier: MIT
/*
 * Copies of 4 KiB from host memory to HBM: one by one, and many in one submit.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tool.h"

#define SIZE 4096u
#define BATCHES 15
#define SINGLE 1000
#define BATCH 1024u

static struct neuron_buffer *new_buffer(struct bench *bench, enum neuron_placement placement,
					uint64_t size)
{
	struct neuron_buffer *buffer;

	if (neuron_buffer_create(bench->device, placement, size, NULL, &buffer))
		tool_die_neuron("create of a buffer");
	return buffer;
}

/* Zeros would be measured as such: the model leaves out pages of them. */
static void fill_random(struct neuron_buffer *buffer, uint64_t size)
{
	void *data = malloc(size);

	if (!data)
		tool_die(TOOL_FAILED, "out of memory");
	tool_random(data, size, 3);
	if (neuron_buffer_write(buffer, 0, data, size))
		tool_die_neuron("write");
	free(data);
}

/* ns of one copy, mean of a batch, for each of BATCHES batches. */
static void run_single(struct bench *bench, int64_t *ns, unsigned int copies)
{
	struct neuron_buffer *host = new_buffer(bench, NEURON_HOST, SIZE);
	struct neuron_buffer *hbm = new_buffer(bench, NEURON_HBM, SIZE);
	unsigned int i, j;
	int64_t start;

	fill_random(host, SIZE);
	for (i = 0; i < 100; i++)
		if (neuron_queue_copy(bench->queue, hbm, 0, host, 0, SIZE))
			tool_die_neuron("copy");
	for (i = 0; i < BATCHES; i++) {
		start = tool_now();
		for (j = 0; j < copies; j++)
			if (neuron_queue_copy(bench->queue, hbm, 0, host, 0, SIZE))
				tool_die_neuron("copy");
		ns[i] = (tool_now() - start) / copies;
	}
	neuron_buffer_destroy(host);
	neuron_buffer_destroy(hbm);
}

void bench_latency(struct bench *bench, const struct row *row, struct result *result)
{
	int64_t ns[BATCHES];

	(void)row;
	run_single(bench, ns, SINGLE);
	spread_of(&result->spread, ns, BATCHES);
	spread_scale(&result->spread, 0.001);
	result->value = result->spread.median;
}

void bench_instructions(struct bench *bench, const struct row *row, struct result *result)
{
	int64_t ns[BATCHES];

	(void)row;
	run_single(bench, ns, SINGLE / 10);
	/* The smallest: what a timer tick adds is not part of a copy. */
	spread_of(&result->spread, ns, BATCHES);
	result->spread.low = (double)ns[0];
	result->value = result->spread.low;
}

void bench_batch(struct bench *bench, const struct row *row, struct result *result)
{
	struct neuron_buffer *host = new_buffer(bench, NEURON_HOST, (uint64_t)BATCH * SIZE);
	struct neuron_buffer *hbm = new_buffer(bench, NEURON_HBM, (uint64_t)BATCH * SIZE);
	unsigned char *data = malloc((size_t)BATCH * SIZE), *back = malloc((size_t)BATCH * SIZE);
	struct neuron_op *ops = calloc(BATCH, sizeof(*ops));
	int64_t ns[BATCHES], start;
	unsigned int i;

	if (!data || !back || !ops)
		tool_die(TOOL_FAILED, "out of memory");
	tool_random(data, (size_t)BATCH * SIZE, 3);
	if (neuron_buffer_write(host, 0, data, (uint64_t)BATCH * SIZE))
		tool_die_neuron("write");
	for (i = 0; i < BATCH; i++)
		ops[i] = (struct neuron_op){
			.type = NEURON_OP_COPY,
			.dst = hbm,
			.dst_offset = (uint64_t)i * SIZE,
			.src = host,
			.src_offset = (uint64_t)i * SIZE,
			.size = SIZE,
		};
	for (i = 0; i < BATCHES + 2; i++) {
		start = tool_now();
		if (neuron_queue_run(bench->queue, ops, BATCH, NEURON_WAIT_FOREVER))
			tool_die_neuron("copy");
		if (i >= 2)
			ns[i - 2] = tool_now() - start;
	}
	if (neuron_buffer_read(hbm, 0, back, (uint64_t)BATCH * SIZE))
		tool_die_neuron("read");
	if (memcmp(data, back, (size_t)BATCH * SIZE))
		tool_die(TOOL_FAILED, "%s: wrong data", row->name);
	spread_of(&result->spread, ns, BATCHES);
	spread_invert(&result->spread, BATCH * 1e9);
	result->value = result->spread.median;

	run_single(bench, ns, SINGLE);
	result->against = 1e9 / (double)tool_median(ns, BATCHES);
	neuron_buffer_destroy(host);
	neuron_buffer_destroy(hbm);
	free(data);
	free(back);
	free(ops);
}

#define LIST 64u

/*
 * Instructions of @copies copies of SIZE, by a list that is started again, and
 * by a submit of them.
 */
static void list_instructions(struct bench *bench, uint32_t copies, struct result *result)
{
	struct neuron_buffer *host = new_buffer(bench, NEURON_HOST, (uint64_t)copies * SIZE);
	struct neuron_buffer *hbm = new_buffer(bench, NEURON_HBM, (uint64_t)copies * SIZE);
	int64_t ns[BATCHES], fresh = INT64_MAX, start;
	struct neuron_op ops[LIST];
	struct neuron_list *list;
	unsigned int i, j;

	fill_random(host, (uint64_t)copies * SIZE);
	for (i = 0; i < copies; i++)
		ops[i] = (struct neuron_op){
			.type = NEURON_OP_COPY,
			.dst = hbm,
			.dst_offset = (uint64_t)i * SIZE,
			.src = host,
			.src_offset = (uint64_t)i * SIZE,
			.size = SIZE,
		};
	if (neuron_list_create(bench->device, NEURON_STACK_ANY, ops, copies, &list))
		tool_die_neuron("create of a list");
	if (neuron_list_run(list, NEURON_WAIT_FOREVER))
		tool_die_neuron("list");
	/* The smallest: what a timer tick adds is not part of a copy. */
	for (i = 0; i < BATCHES; i++) {
		start = tool_now();
		for (j = 0; j < 100; j++)
			if (neuron_list_run(list, NEURON_WAIT_FOREVER))
				tool_die_neuron("list");
		ns[i] = (tool_now() - start) / 100;
		start = tool_now();
		for (j = 0; j < 100; j++)
			if (neuron_queue_run(bench->queue, ops, copies, NEURON_WAIT_FOREVER))
				tool_die_neuron("copy");
		start = tool_now() - start;
		fresh = start < fresh ? start : fresh;
	}
	spread_of(&result->spread, ns, BATCHES);
	result->spread.low = (double)ns[0];
	result->value = result->spread.low;
	result->against = (double)fresh / 100;
	neuron_list_destroy(list);
	neuron_buffer_destroy(host);
	neuron_buffer_destroy(hbm);
}

void bench_list_one(struct bench *bench, const struct row *row, struct result *result)
{
	(void)row;
	list_instructions(bench, 1, result);
}

void bench_list_many(struct bench *bench, const struct row *row, struct result *result)
{
	(void)row;
	list_instructions(bench, LIST, result);
}
