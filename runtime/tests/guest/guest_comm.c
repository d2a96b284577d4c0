// SPDX-License-Identifier: MIT
/*
 * Collectives of all chips of the machine: every operation by every algorithm
 * that does it, verified; a rank that is killed; repeated ones.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "guest.h"

#define MAX_CHIPS 72u
#define WINDOW (1u << 20)
#define DST (WINDOW / 2)
#define COUNT 5003u

static struct neuron_device *chip[MAX_CHIPS];
static struct neuron_comm *comm[MAX_CHIPS];
static struct neuron_buffer *buffer[MAX_CHIPS];
static struct neuron_request *request[MAX_CHIPS];
static uint32_t chips;
static int32_t values[WINDOW / 4], got[WINDOW / 4];

static struct neuron_buffer *make_window(struct neuron_device *device)
{
	struct neuron_fabric_info fabric = { .size = sizeof(fabric) };
	struct neuron_buffer_options options = {
		.size = sizeof(options),
		.flags = NEURON_BUFFER_PEER,
		.stack = NEURON_STACK_ANY,
	};
	struct neuron_buffer *window;

	ok(neuron_fabric_get_info(device, &fabric));
	options.alignment = fabric.group_granule;
	ok(neuron_buffer_create(device, NEURON_HBM, WINDOW, &options, &window));
	return window;
}

static int open_all(void **state)
{
	uint32_t i;

	(void)state;
	while (chips < MAX_CHIPS && !neuron_device_open(chips, &chip[chips]))
		chips++;
	if (chips < 2)
		return -1;
	ok(neuron_comm_init_all(chip, chips, NULL, comm));
	for (i = 0; i < chips; i++) {
		buffer[i] = make_window(chip[i]);
		ok(neuron_comm_register(comm[i], buffer[i]));
	}
	return 0;
}

static int close_all(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < chips; i++) {
		neuron_comm_destroy(comm[i]);
		neuron_buffer_destroy(buffer[i]);
		neuron_device_close(chip[i]);
	}
	return 0;
}

static int32_t value_of(uint32_t rank, uint32_t i)
{
	return (int32_t)(rank * 1000 + i * 7 % 991);
}

static int32_t sum_of(uint32_t ranks, uint32_t i)
{
	return (int32_t)(ranks * (ranks - 1) / 2 * 1000 + ranks * (i * 7 % 991));
}

static void fill(uint32_t count)
{
	uint32_t rank, i;

	for (rank = 0; rank < chips; rank++) {
		for (i = 0; i < count; i++)
			values[i] = value_of(rank, i);
		ok(neuron_buffer_write(buffer[rank], 0, values, count * 4ull));
		ok(neuron_buffer_fill(buffer[rank], DST, DST, 0xee, 1));
	}
}

static void wait_all(void)
{
	uint32_t i;

	for (i = 0; i < chips; i++) {
		ok(neuron_request_wait(request[i], NEURON_WAIT_FOREVER));
		neuron_request_destroy(request[i]);
	}
}

static int start(uint32_t op, uint32_t rank, const uint64_t *counts,
		 const struct neuron_comm_call *call)
{
	struct neuron_comm_data data = {
		.src = buffer[rank],
		.dst = buffer[rank],
		.dst_offset = DST,
		.dtype = NEURON_DTYPE_INT32,
	};

	switch (op) {
	case NEURON_COMM_ALL_REDUCE:
		return neuron_comm_all_reduce(comm[rank], &data, COUNT, call, &request[rank]);
	case NEURON_COMM_ALL_GATHER:
		return neuron_comm_all_gather(comm[rank], &data, counts, call, &request[rank]);
	case NEURON_COMM_REDUCE_SCATTER:
		return neuron_comm_reduce_scatter(comm[rank], &data, counts, call, &request[rank]);
	case NEURON_COMM_ALL_TO_ALL:
		return neuron_comm_all_to_all(comm[rank], &data, counts, call, &request[rank]);
	case NEURON_COMM_BROADCAST:
		return neuron_comm_broadcast(comm[rank], &data, COUNT, 1, call, &request[rank]);
	case NEURON_COMM_REDUCE:
		return neuron_comm_reduce(comm[rank], &data, COUNT, 1, call, &request[rank]);
	default:
		return neuron_comm_barrier(comm[rank], call, &request[rank]);
	}
}

/* What element @i of the result is; the number of elements where @i is ~0 */
static int32_t want(uint32_t op, uint32_t rank, uint32_t part, uint32_t i)
{
	switch (op) {
	case NEURON_COMM_ALL_GATHER:
		return i == ~0u ? (int32_t)(part * chips) : value_of(i / part, i % part);
	case NEURON_COMM_REDUCE_SCATTER:
		return i == ~0u ? (int32_t)part : sum_of(chips, rank * part + i);
	case NEURON_COMM_ALL_TO_ALL:
		return i == ~0u ? (int32_t)(part * chips) :
				  value_of(i / part, rank * part + i % part);
	case NEURON_COMM_BROADCAST:
		return i == ~0u ? (int32_t)COUNT : value_of(1, i);
	case NEURON_COMM_REDUCE:
		return i == ~0u ? (int32_t)(rank == 1 ? COUNT : 0) : sum_of(chips, i);
	case NEURON_COMM_ALL_REDUCE:
		return i == ~0u ? (int32_t)COUNT : sum_of(chips, i);
	default:
		return 0;
	}
}

static void check(uint32_t op, uint32_t algorithm, uint32_t part)
{
	uint32_t rank, i, count;

	for (rank = 0; rank < chips; rank++) {
		count = (uint32_t)want(op, rank, part, ~0u);
		ok(neuron_buffer_read(buffer[rank], DST, got, count * 4ull + 4));
		for (i = 0; i < count; i++)
			if (got[i] != want(op, rank, part, i))
				fail_msg("op %u by %s: rank %u, element %u: %d, not %d", op,
					 neuron_comm_algorithm_name(algorithm), rank, i, got[i],
					 want(op, rank, part, i));
		/* Not one more */
		assert_int_equal(got[count], (int32_t)0xeeeeeeee);
	}
}

/* Twice, so that lists are started again */
static bool try(uint32_t op, uint32_t algorithm)
{
	static uint64_t counts[MAX_CHIPS * MAX_CHIPS];
	struct neuron_comm_call call = { .size = sizeof(call), .algorithm = algorithm };
	uint32_t part = COUNT / chips, i, again;
	int ret;

	for (i = 0; i < chips * chips; i++)
		counts[i] = part;
	for (again = 0; again < 2; again++) {
		fill(COUNT);
		for (i = 0; i < chips; i++) {
			ret = start(op, i, counts, &call);
			if (ret == -EOPNOTSUPP && !i)
				return false;
			if (ret)
				fail_msg("op %u by %s: %s", op,
					 neuron_comm_algorithm_name(algorithm),
					 neuron_last_error());
		}
		wait_all();
		check(op, algorithm, part);
	}
	return true;
}

static void test_all(void **state)
{
	static const uint32_t ops[] = {
		NEURON_COMM_ALL_REDUCE, NEURON_COMM_ALL_GATHER, NEURON_COMM_REDUCE_SCATTER,
		NEURON_COMM_ALL_TO_ALL, NEURON_COMM_BROADCAST, NEURON_COMM_REDUCE,
		NEURON_COMM_BARRIER,
	};
	uint32_t i, algorithm, done;

	(void)state;
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		printf("# op %u:", ops[i]);
		for (done = 0, algorithm = NEURON_COMM_AUTO; algorithm <= NEURON_COMM_IN_NETWORK;
		     algorithm++) {
			if (!try(ops[i], algorithm))
				continue;
			printf(" %s", neuron_comm_algorithm_name(algorithm));
			fflush(stdout);
			done++;
		}
		printf("\n");
		/* The automatic choice and one more at least */
		assert_true(done >= 2);
	}
}

static void test_send_recv(void **state)
{
	struct neuron_request *recv[MAX_CHIPS];
	uint32_t i, k;

	(void)state;
	fill(COUNT);
	neuron_comm_group_start();
	for (i = 0; i < chips; i++) {
		ok(neuron_comm_send(comm[i], buffer[i], 0, COUNT * 4, (i + 1) % chips,
				    &request[i]));
		ok(neuron_comm_recv(comm[i], buffer[i], DST, COUNT * 4, (i + chips - 1) % chips,
				    &recv[i]));
	}
	ok(neuron_comm_group_end());
	wait_all();
	for (i = 0; i < chips; i++) {
		ok(neuron_request_wait(recv[i], NEURON_WAIT_FOREVER));
		neuron_request_destroy(recv[i]);
		ok(neuron_buffer_read(buffer[i], DST, got, COUNT * 4));
		for (k = 0; k < COUNT; k++)
			assert_int_equal(got[k], value_of((i + chips - 1) % chips, k));
	}
}

/* A process for one chip: ranks meet by a UNIX socket. 0, or what went wrong */
static int one_rank(const char *root, uint32_t rank, uint32_t ranks, bool die)
{
	struct neuron_comm_options options = { .size = sizeof(options),
					       .timeout_ns = 60000000000 };
	struct neuron_comm_data data = { .dst_offset = DST, .dtype = NEURON_DTYPE_INT32 };
	struct neuron_comm *mine, *left;
	struct neuron_device *device;
	struct neuron_request *r;
	uint64_t lost = 2;
	int ret;

	/* What was opened before the fork is the parent's. */
	if (neuron_device_open(rank, &device) ||
	    neuron_comm_init(device, root, ranks, rank, &options, &mine))
		return 1;
	data.src = make_window(device);
	data.dst = data.src;
	if (neuron_buffer_fill(data.src, 0, COUNT * 4, rank + 1, 4) ||
	    neuron_comm_register(mine, data.src) ||
	    neuron_comm_all_reduce(mine, &data, COUNT, NULL, &r) ||
	    neuron_request_wait(r, NEURON_WAIT_FOREVER) ||
	    neuron_buffer_read(data.src, DST, got, COUNT * 4))
		return 2;
	if (got[0] != (int32_t)(ranks * (ranks + 1) / 2) || got[COUNT - 1] != got[0])
		return 3;
	if (!die) {
		neuron_comm_destroy(mine);
		return 0;
	}
	if (rank == 1)
		raise(SIGKILL);
	if (!neuron_comm_all_reduce(mine, &data, COUNT, NULL, &r)) {
		ret = neuron_request_wait(r, NEURON_WAIT_FOREVER);
		if (!ret)
			return 4;
	}
	if (neuron_comm_shrink(mine, &lost, 1, &left))
		return 5;
	neuron_comm_destroy(mine);
	if (neuron_comm_register(left, data.src) ||
	    neuron_comm_all_reduce(left, &data, COUNT, NULL, &r) ||
	    neuron_request_wait(r, NEURON_WAIT_FOREVER) ||
	    neuron_buffer_read(data.src, DST, got, COUNT * 4))
		return 6;
	if (got[0] != (int32_t)(ranks * (ranks + 1) / 2 - 2) || got[COUNT - 1] != got[0])
		return 7;
	neuron_comm_destroy(left);
	return 0;
}

static void run_ranks(const char *root, bool die)
{
	uint32_t ranks = chips < 8 ? chips : 8, i;
	pid_t child[8];
	int status;

	for (i = 0; i < ranks; i++) {
		child[i] = fork();
		if (!child[i]) {
			int ret = one_rank(root, i, ranks, die);

			if (ret)
				printf("# rank %u: %d: %s\n", i, ret, neuron_last_error());
			fflush(stdout);
			_exit(ret);
		}
	}
	for (i = 0; i < ranks; i++) {
		waitpid(child[i], &status, 0);
		assert_int_equal(status, die && i == 1 ? SIGKILL : 0);
	}
}

static void test_processes(void **state)
{
	(void)state;
	run_ranks("unix:@guest-comm", false);
	run_ranks("tcp:127.0.0.1:4711", false);
	run_ranks("file:/tmp/guest-comm", false);
}

static void test_killed(void **state)
{
	(void)state;
	run_ranks("unix:@guest-comm-killed", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_send_recv),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_killed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_all, close_all);
}
