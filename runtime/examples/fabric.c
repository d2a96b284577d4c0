// SPDX-License-Identifier: MIT
/*
 * Two chips that a fabric joins. The first one writes into the memory of the
 * second; then both form a group, the first one writes to both at once, and
 * reads the sum of what both hold.
 */
#include <stdio.h>
#include <unistd.h>

#include <neuron/neuron.h>

#define SIZE (64u << 10)

static struct neuron_device *chip[2];
static struct neuron_queue *queue;

static int fail(const char *what)
{
	fprintf(stderr, "fabric: %s: %s\n", what, neuron_last_error());
	return 1;
}

static int show_port(uint32_t number)
{
	struct neuron_port_info port = { .size = sizeof(port) };

	if (neuron_port_get_info(chip[0], number, &port))
		return fail("port");
	printf("port %u: %s, %u x %u MB/s, %llu bytes sent\n", number,
	       neuron_port_state_string(port.state), port.lanes, port.rate,
	       (unsigned long long)port.counters[NEURON_PORT_TX_BYTES]);
	return 0;
}

static int show_path(uint32_t to)
{
	struct neuron_path_info path = { .size = sizeof(path) };

	if (neuron_fabric_get_path(chip[0], to, NEURON_PATH_TEST, &path))
		return fail("path");
	printf("to chip %u: %s, %u links, %u MB/s\n", to,
	       neuron_path_status_string(path.status), path.links, path.rate);
	return path.status != NEURON_PATH_OK;
}

/* Memory of chip 1, written by chip 0 */
static int peer_memory(struct neuron_buffer *there)
{
	struct neuron_buffer *peer;
	uint32_t number = 0;
	int fd, ret;

	if (neuron_buffer_export(there, &fd))
		return fail("export");
	ret = neuron_buffer_import(chip[0], fd, &peer);
	close(fd);
	if (ret)
		return fail("import");
	if (neuron_queue_fill(queue, peer, 0, SIZE, 42, sizeof(number)) ||
	    neuron_buffer_read(there, SIZE - sizeof(number), &number, sizeof(number)))
		return fail("fill");
	printf("chip 1 holds %u, written by chip 0\n", number);
	neuron_buffer_destroy(peer);
	return number != 42;
}

/* A write to both, and the sum of both */
static int use_group(struct neuron_buffer *all, struct neuron_buffer *member[2])
{
	struct neuron_op reduce = {
		.type = NEURON_OP_REDUCE,
		.flags = NEURON_OP_COMBINE(NEURON_COMBINE_SUM, NEURON_DTYPE_UINT32),
		.src = all,
		.size = SIZE,
	};
	uint32_t number = 0;
	int ret;

	if (neuron_queue_fill(queue, all, 0, SIZE, 21, sizeof(number)) ||
	    neuron_buffer_read(member[1], 0, &number, sizeof(number)))
		return fail("multicast");
	printf("chip 1 holds %u, written to all\n", number);
	if (neuron_buffer_create(chip[0], NEURON_HBM, SIZE, NULL, &reduce.dst))
		return fail("buffer");
	ret = neuron_queue_run(queue, &reduce, 1, NEURON_WAIT_FOREVER) ||
	      neuron_buffer_read(reduce.dst, 0, &number, sizeof(number));
	neuron_buffer_destroy(reduce.dst);
	if (ret)
		return fail("reduce");
	printf("the sum of both is %u\n", number);
	return number != 42;
}

static int group(struct neuron_buffer *member[2])
{
	struct neuron_group *g[2];
	struct neuron_group_id id;
	struct neuron_buffer *all;
	int ret;

	if (neuron_group_create(chip[0], 2, &g[0]) || neuron_group_get_id(g[0], &id) ||
	    neuron_group_join(chip[1], &id, &g[1]) ||
	    neuron_group_bind(g[0], 0, member[0], 0, SIZE) ||
	    neuron_group_bind(g[1], 0, member[1], 0, SIZE) ||
	    neuron_group_map(g[0], 0, SIZE, &all))
		return fail("group");
	ret = use_group(all, member);
	neuron_buffer_destroy(all);
	neuron_group_destroy(g[1]);
	neuron_group_destroy(g[0]);
	return ret;
}

int main(void)
{
	struct neuron_buffer_options options = {
		.size = sizeof(options),
		.flags = NEURON_BUFFER_PEER,
		.stack = NEURON_STACK_ANY,
	};
	struct neuron_fabric_info info[2];
	struct neuron_buffer *member[2];
	int i, ret;

	for (i = 0; i < 2; i++) {
		info[i].size = sizeof(info[i]);
		if (neuron_device_open((uint32_t)i, &chip[i]) ||
		    neuron_fabric_get_info(chip[i], &info[i]))
			return fail("chip");
		/* What a group binds begins at a multiple of it. */
		options.alignment = info[i].group_granule;
		if (neuron_buffer_create(chip[i], NEURON_HBM, SIZE, &options, &member[i]))
			return fail("buffer");
	}
	printf("%s, chips %u and %u of %u\n", neuron_fabric_kind_string(info[0].kind),
	       info[0].chip, info[1].chip, info[0].num_chips);
	if (info[0].kind == NEURON_FABRIC_NONE)
		return 1;
	if (neuron_queue_create(chip[0], NULL, &queue))
		return fail("queue");

	ret = show_path(info[1].chip) || peer_memory(member[1]) || show_port(0);
	if (!ret && info[0].caps & NEURON_FABRIC_REDUCE)
		ret = group(member);

	neuron_queue_destroy(queue);
	for (i = 0; i < 2; i++) {
		neuron_buffer_destroy(member[i]);
		neuron_device_close(chip[i]);
	}
	return ret;
}
