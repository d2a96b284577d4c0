// SPDX-License-Identifier: MIT
/*
 * Communicators on simulated chips: all in one process, and one process each.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "comm_fake.h"
#include "comm_sim.h"

#define WINDOW (256u << 10)
#define MAX_COUNT 20000u

#define ok(call) \
	do { \
		int ok_ret = (call); \
		if (ok_ret) \
			fail_msg("%s: %d: %s", #call, ok_ret, neuron_last_error()); \
	} while (0)

static struct neuron_device *chip[FAKE_CHIPS];
static struct neuron_comm *comm[FAKE_CHIPS];
static struct neuron_buffer *buffer[FAKE_CHIPS];
static struct neuron_request *request[FAKE_CHIPS];

static struct neuron_buffer *make_window(struct neuron_device *device, uint64_t size)
{
	struct neuron_buffer_options options = {
		.size = sizeof(options),
		.flags = NEURON_BUFFER_PEER,
		.stack = NEURON_STACK_ANY,
		.alignment = FAKE_GRANULE,
	};
	struct neuron_buffer *b;

	ok(neuron_buffer_create(device, NEURON_HBM, size, &options, &b));
	return b;
}

static void begin(uint32_t n, const struct neuron_comm_options *options)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		chip[i] = fake_open(i);
		assert_non_null(chip[i]);
	}
	ok(neuron_comm_init_all(chip, n, options, comm));
	for (i = 0; i < n; i++) {
		buffer[i] = make_window(chip[i], WINDOW);
		ok(neuron_comm_register(comm[i], buffer[i]));
	}
}

static void end(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		neuron_comm_destroy(comm[i]);
		neuron_buffer_destroy(buffer[i]);
		neuron_device_close(chip[i]);
	}
	assert_int_equal(fake.lists, 0);
	assert_int_equal(fake.buffers, 0);
}

static int wait_all(uint32_t n)
{
	int ret = 0, one;
	uint32_t i;

	for (i = 0; i < n; i++) {
		one = neuron_request_wait(request[i], NEURON_WAIT_FOREVER);
		ret = ret ? ret : one;
		neuron_request_destroy(request[i]);
	}
	return ret;
}

static int32_t value_of(uint32_t rank, uint32_t i)
{
	return (int32_t)(rank * 1000 + i * 7 % 991);
}

static void put_values(uint32_t rank, uint64_t offset, uint32_t count)
{
	static int32_t values[MAX_COUNT];
	uint32_t i;

	for (i = 0; i < count; i++)
		values[i] = value_of(rank, i);
	ok(neuron_buffer_write(buffer[rank], offset, values, count * 4));
}

static void all_reduce(uint32_t n, uint32_t algorithm, uint32_t count, uint64_t dst_offset)
{
	struct neuron_comm_call call = { .size = sizeof(call), .algorithm = algorithm };
	static int32_t got[MAX_COUNT];
	int32_t want;
	uint32_t i, j;

	for (i = 0; i < n; i++) {
		struct neuron_comm_data data = {
			.src = buffer[i], .dst = buffer[i], .dst_offset = dst_offset,
			.dtype = NEURON_DTYPE_INT32,
		};

		put_values(i, 0, count);
		ok(neuron_comm_all_reduce(comm[i], &data, count, &call, &request[i]));
	}
	ok(wait_all(n));
	for (i = 0; i < n; i++) {
		ok(neuron_buffer_read(buffer[i], dst_offset, got, count * 4));
		for (j = 0; j < count; j++) {
			want = (int32_t)(n * (n - 1) / 2 * 1000 + n * (j * 7 % 991));
			if (got[j] != want)
				fail_msg("rank %u element %u: %d, not %d", i, j, got[j], want);
		}
	}
}

static void test_all_reduce(void **state)
{
	static const uint32_t ranks[] = { 1, 2, 3, 8, 16 };
	uint32_t i, algorithm;

	(void)state;
	for (i = 0; i < 5; i++) {
		begin(ranks[i], NULL);
		for (algorithm = 0; algorithm <= NEURON_COMM_IN_NETWORK; algorithm++) {
			if ((algorithm == NEURON_COMM_HALVING && ranks[i] == 3) ||
			    (algorithm == NEURON_COMM_HIERARCHICAL && ranks[i] < 8) ||
			    (algorithm >= NEURON_COMM_MULTICAST && ranks[i] == 1))
				continue;
			all_reduce(ranks[i], algorithm, 1003, 0);
			all_reduce(ranks[i], algorithm, 1003, 8192);
			all_reduce(ranks[i], algorithm, 5, 8192);
		}
		end(ranks[i]);
	}
}

/* Repeated, it is one start a channel and nothing else; and many may be under way. */
static void test_repeated(void **state)
{
	struct neuron_comm_info info = { .size = sizeof(info) };
	struct neuron_comm_data data = { .dst_offset = 4096, .dtype = NEURON_DTYPE_INT32 };
	struct neuron_request *many[4][20];
	uint32_t i, k, lists;

	(void)state;
	begin(4, NULL);
	all_reduce(4, NEURON_COMM_MESH, 100, 4096);
	lists = fake.lists;
	for (k = 0; k < 20; k++) {
		for (i = 0; i < 4; i++) {
			struct neuron_comm_call call = { .size = sizeof(call),
							 .algorithm = NEURON_COMM_MESH };

			data.src = buffer[i];
			data.dst = buffer[i];
			ok(neuron_comm_all_reduce(comm[i], &data, 100, &call, &many[i][k]));
		}
	}
	for (k = 0; k < 20; k++) {
		for (i = 0; i < 4; i++) {
			ok(neuron_request_wait(many[i][k], NEURON_WAIT_FOREVER));
			assert_int_equal(neuron_request_test(many[i][k]), 1);
			neuron_request_destroy(many[i][k]);
		}
	}
	assert_int_equal(fake.lists, lists);
	ok(neuron_comm_get_info(comm[0], &info));
	assert_int_equal(info.doorbells, 21);
	assert_int_equal(info.prepared, 1);
	end(4);
}

/* More different ones than are kept; and lists of several pieces */
static void test_cache_and_pieces(void **state)
{
	struct neuron_comm_options options = { .size = sizeof(options), .scratch = 65536 };
	uint32_t i;

	(void)state;
	begin(4, NULL);
	for (i = 1; i < 40; i++)
		all_reduce(4, NEURON_COMM_RING, i, 4096);
	end(4);
	fake.max_descs = 40;
	begin(3, &options);
	all_reduce(3, NEURON_COMM_RING, 20000, 131072);
	all_reduce(3, NEURON_COMM_MESH, 20000, 131072);
	all_reduce(3, NEURON_COMM_RING, 20000, 0);
	end(3);
}

static void test_others(void **state)
{
	uint64_t counts[4] = { 3, 0, 10, 5 }, matrix[16];
	int32_t got[64];
	uint32_t i, j, k;

	(void)state;
	begin(4, NULL);
	for (i = 0; i < 16; i++)
		matrix[i] = i % 5;
	for (i = 0; i < 4; i++) {
		struct neuron_comm_data data = { .src = buffer[i], .dst = buffer[i],
						 .dst_offset = 4096, .dtype = NEURON_DTYPE_INT32 };

		put_values(i, 0, 64);
		ok(neuron_comm_all_gather(comm[i], &data, counts, NULL, &request[i]));
	}
	ok(wait_all(4));
	for (i = 0; i < 4; i++) {
		ok(neuron_buffer_read(buffer[i], 4096, got, 18 * 4));
		for (j = 0, k = 0; j < 4; k += (uint32_t)counts[j++])
			if (counts[j])
				assert_int_equal(got[k + counts[j] - 1],
						 value_of(j, (uint32_t)counts[j] - 1));
	}
	for (i = 0; i < 4; i++) {
		struct neuron_comm_data data = { .src = buffer[i], .dst = buffer[i],
						 .dst_offset = 4096, .dtype = NEURON_DTYPE_INT32,
						 .reduction = NEURON_COMM_MAX };

		ok(neuron_comm_reduce_scatter(comm[i], &data, counts, NULL, &request[i]));
	}
	ok(wait_all(4));
	ok(neuron_buffer_read(buffer[3], 4096, got, 20));
	assert_int_equal(got[4], value_of(3, 17));
	for (i = 0; i < 4; i++) {
		struct neuron_comm_data data = { .src = buffer[i], .dst = buffer[i],
						 .dst_offset = 4096, .dtype = NEURON_DTYPE_INT32 };

		ok(neuron_comm_all_to_all(comm[i], &data, matrix, NULL, &request[i]));
	}
	ok(wait_all(4));
	/* To rank 2: 2 of rank 0, 1 of rank 1, 0 of rank 2, 4 of rank 3 */
	ok(neuron_buffer_read(buffer[2], 4096, got, 28));
	assert_int_equal(got[1], value_of(0, 2));
	assert_int_equal(got[2], value_of(1, 4));
	assert_int_equal(got[3], value_of(3, 5));
	for (i = 0; i < 4; i++) {
		struct neuron_comm_data data = { .src = buffer[i], .dst = buffer[i],
						 .dst_offset = 4096, .dtype = NEURON_DTYPE_INT32,
						 .reduction = NEURON_COMM_AVG };

		ok(neuron_comm_reduce(comm[i], &data, 64, 1, NULL, &request[i]));
	}
	ok(wait_all(4));
	ok(neuron_buffer_read(buffer[1], 4096, got, 256));
	assert_int_equal(got[9], 1500 + 63);
	for (i = 0; i < 4; i++)
		ok(neuron_comm_barrier(comm[i], NULL, &request[i]));
	ok(wait_all(4));
	end(4);
}

/* All send to the next and receive from the one before, at once */
static void test_send_recv(void **state)
{
	struct neuron_request *recv[4];
	int32_t got[1000];
	uint32_t i;

	(void)state;
	begin(4, NULL);
	neuron_comm_group_start();
	for (i = 0; i < 4; i++) {
		put_values(i, 0, 1000);
		ok(neuron_comm_send(comm[i], buffer[i], 0, 4000, (i + 1) % 4, &request[i]));
		ok(neuron_comm_recv(comm[i], buffer[i], 8192, 4000, (i + 3) % 4, &recv[i]));
	}
	assert_int_equal(neuron_request_test(recv[0]), 0);
	ok(neuron_comm_group_end());
	for (i = 0; i < 4; i++) {
		ok(neuron_request_wait(recv[i], NEURON_WAIT_FOREVER));
		neuron_request_destroy(recv[i]);
		ok(neuron_buffer_read(buffer[i], 8192, got, 4000));
		assert_int_equal(got[999], value_of((i + 3) % 4, 999));
	}
	ok(wait_all(4));
	end(4);
}

static void refused(int error, const char *part, int ret)
{
	if (ret != error || !strstr(neuron_last_error(), part))
		fail_msg("%d '%s', and not %d '%s'", ret, neuron_last_error(), error, part);
}

static void test_misuse(void **state)
{
	struct neuron_comm_call call = { .size = sizeof(call) };
	struct neuron_comm_data data = { .dtype = NEURON_DTYPE_INT32 };
	struct neuron_comm *again[3];
	struct neuron_device *third;
	struct neuron_buffer *foreign;
	struct neuron_request *r;

	(void)state;
	begin(3, NULL);
	third = chip[2];
	foreign = make_window(chip[1], 4096);
	data.src = buffer[0];
	data.dst = buffer[0];
	data.dst_offset = 8;
	refused(-EINVAL, "overlap", neuron_comm_all_reduce(comm[0], &data, 100, NULL, &r));
	refused(-EINVAL, "past the end", neuron_comm_all_reduce(comm[0], &data, 1 << 20, NULL, &r));
	refused(-EINVAL, "too large",
		neuron_comm_all_reduce(comm[0], &data, 1ull << 62, NULL, &r));
	data.dst_offset = 2;
	refused(-EINVAL, "no multiple of 4", neuron_comm_all_reduce(comm[0], &data, 1, NULL, &r));
	data.dst_offset = 4096;
	data.dtype = 8;
	refused(-EINVAL, "no type 8", neuron_comm_all_reduce(comm[0], &data, 1, NULL, &r));
	data.dtype = 0;
	data.reduction = 4;
	refused(-EINVAL, "does not exist", neuron_comm_all_reduce(comm[0], &data, 1, NULL, &r));
	data.reduction = 1;
	refused(-EINVAL, "combines nothing",
		neuron_comm_broadcast(comm[0], &data, 1, 0, NULL, &r));
	data.reduction = 0;
	refused(-EINVAL, "no rank 3", neuron_comm_broadcast(comm[0], &data, 1, 3, NULL, &r));
	call.algorithm = NEURON_COMM_HALVING;
	refused(-EOPNOTSUPP, "power of two",
		neuron_comm_all_reduce(comm[0], &data, 1, &call, &r));
	call.algorithm = 77;
	refused(-EOPNOTSUPP, "not by ?", neuron_comm_all_reduce(comm[0], &data, 1, &call, &r));
	data.src = foreign;
	refused(-EINVAL, "not registered", neuron_comm_all_reduce(comm[0], &data, 1, NULL, &r));
	refused(-EXDEV, "is not of accel0", neuron_comm_register(comm[0], foreign));
	refused(-EALREADY, "registered already", neuron_comm_register(comm[0], buffer[0]));
	refused(-EINVAL, "no other rank", neuron_comm_send(comm[0], buffer[0], 0, 4, 0, &r));
	ok(neuron_comm_register(comm[1], foreign));
	data.dst = foreign;
	refused(-EAGAIN, "1 of 3 ranks", neuron_comm_all_reduce(comm[1], &data, 1, NULL, &r));
	chip[2] = chip[0];
	refused(-EINVAL, "same chip", neuron_comm_init_all(chip, 3, NULL, again));
	chip[2] = third;
	neuron_comm_destroy(comm[1]);
	comm[1] = NULL;
	neuron_buffer_destroy(foreign);
	end(3);
}

/* One does not go on: all fail in time, with a sentence, and can begin anew. */
static void test_timeout(void **state)
{
	struct neuron_comm_options options = { .size = sizeof(options),
					       .timeout_ns = 200000000 };
	struct neuron_comm_data data = { .dtype = NEURON_DTYPE_INT32, .dst_offset = 4096 };
	struct neuron_request *r;
	uint32_t i;

	(void)state;
	begin(4, &options);
	fake.hang = 2;
	for (i = 0; i < 4; i++) {
		data.src = buffer[i];
		data.dst = buffer[i];
		ok(neuron_comm_all_reduce(comm[i], &data, 100, NULL, &request[i]));
	}
	for (i = 0; i < 4; i++) {
		assert_int_equal(neuron_request_wait(request[i], NEURON_WAIT_FOREVER), -ETIME);
		assert_non_null(strstr(neuron_last_error(), "has not ended after 200 ms"));
		neuron_request_destroy(request[i]);
	}
	assert_int_equal(fake.lists, 0);
	refused(-ENOTCONN, "has not ended", neuron_comm_barrier(comm[0], NULL, &r));
	end(4);
	fake.hang = ~0u;
	begin(3, NULL);
	all_reduce(3, NEURON_COMM_AUTO, 100, 0);
	end(3);
}

static void test_link_down(void **state)
{
	struct neuron_comm_data data = { .dtype = NEURON_DTYPE_INT32, .dst_offset = 4096 };
	uint32_t i;

	(void)state;
	begin(4, NULL);
	neuron_comm_group_start();
	for (i = 0; i < 4; i++) {
		data.src = buffer[i];
		data.dst = buffer[i];
		ok(neuron_comm_all_reduce(comm[i], &data, 100, NULL, &request[i]));
	}
	fake.unplugged = 1;
	neuron_comm_group_end();
	for (i = 0; i < 4; i++) {
		assert_int_equal(neuron_request_wait(request[i], NEURON_WAIT_FOREVER), -EIO);
		assert_non_null(strstr(neuron_last_error(), "links on the way are down"));
		neuron_request_destroy(request[i]);
	}
	end(4);
	chip[0] = fake_open(0);
	chip[1] = fake_open(1);
	assert_int_equal(neuron_comm_init_all(chip, 2, NULL, comm), -EXDEV);
	neuron_device_close(chip[0]);
	neuron_device_close(chip[1]);
}

static void test_destroyed(void **state)
{
	struct neuron_comm_data data = { .dtype = NEURON_DTYPE_INT32, .dst_offset = 4096 };

	(void)state;
	begin(2, NULL);
	data.src = buffer[0];
	data.dst = buffer[0];
	ok(neuron_comm_all_reduce(comm[0], &data, 100, NULL, &request[0]));
	neuron_comm_destroy(comm[0]);
	comm[0] = NULL;
	refused(-ENOTCONN, "destroyed", neuron_request_wait(request[0], NEURON_WAIT_FOREVER));
	neuron_request_destroy(request[0]);
	refused(-ENOTCONN, "destroyed", neuron_comm_barrier(comm[1], NULL, &request[1]));
	end(2);
}

/* Communicators of random chips, random collectives: all as the reference has it */
static void test_random(void **state)
{
	uint32_t rounds = getenv("COMM_ROUNDS") ? (uint32_t)atoi(getenv("COMM_ROUNDS")) : 1;
	struct sim s = { .random = 7 };
	uint32_t round, i, n, k;

	(void)state;
	if (getenv("COMM_SEED"))
		s.random += strtoull(getenv("COMM_SEED"), NULL, 0);
	for (round = 0; round < 12 * rounds; round++) {
		struct neuron_comm_options options = { .size = sizeof(options) };

		n = 1 + sim_random(&s, 12);
		options.channels = 1 + sim_random(&s, 8);
		options.scratch = 65536u << sim_random(&s, 4);
		fake.groups = sim_random(&s, 2);
		fake.kind = fake.groups ? NEURON_FABRIC_NVLINK : NEURON_FABRIC_NEURONLINK;
		fake.server = 1u << sim_random(&s, 3);
		fake.max_descs = 100 + sim_random(&s, 1000);
		begin(n, &options);
		for (k = 0; k < 20; k++) {
			struct neuron_comm_call call = {
				.size = sizeof(call),
				.algorithm = sim_random(&s, NEURON_COMM_IN_NETWORK + 1),
			};
			uint32_t count = sim_random(&s, 2) ? sim_random(&s, 300) :
							     sim_random(&s, MAX_COUNT);
			struct neuron_comm_data data = {
				.dst_offset = sim_random(&s, 2) ? 0 : 131072 +
					      4 * sim_random(&s, 100),
				.dtype = NEURON_DTYPE_INT32,
			};
			uint32_t bytes = count * 4, refusals = 0;
			int32_t got;

			for (i = 0; i < n; i++) {
				data.src = buffer[i];
				data.dst = buffer[i];
				put_values(i, 0, count ? count : 1);
			}
			for (i = 0; i < n; i++) {
				data.src = buffer[i];
				data.dst = buffer[i];
				refusals += neuron_comm_all_reduce(comm[i], &data, count, &call,
								   &request[i]) == -EOPNOTSUPP;
			}
			/* All ranks refuse the same. */
			assert_true(!refusals || refusals == n);
			if (refusals)
				continue;
			ok(wait_all(n));
			for (i = 0; count && i < n; i++) {
				ok(neuron_buffer_read(buffer[i], data.dst_offset + bytes - 4, &got,
						      4));
				assert_int_equal(got, n * (n - 1) / 2 * 1000 +
						 n * ((count - 1) * 7 % 991));
			}
		}
		end(n);
	}
}

static void test_explain(void **state)
{
	char text[2000];
	int small, large;

	(void)state;
	begin(3, NULL);
	small = neuron_comm_explain(comm[0], NEURON_COMM_ALL_REDUCE, NEURON_DTYPE_FP32, 0, 64, text,
				    sizeof(text));
	assert_int_equal(small, NEURON_COMM_ONE_STEP);
	large = neuron_comm_explain(comm[0], NEURON_COMM_ALL_REDUCE, NEURON_DTYPE_FP32, 0, 1 << 30,
				    text, sizeof(text));
	assert_int_equal(large, NEURON_COMM_IN_NETWORK);
	assert_non_null(strstr(text, "* in-network"));
	assert_int_equal(neuron_comm_algorithm_by_name("ring"), NEURON_COMM_RING);
	assert_int_equal(neuron_comm_algorithm_by_name("x"), -EINVAL);
	end(3);
}

/* In a process of its own: 0 when all is as it should be */
static int one_rank(const char *root, uint32_t n, uint32_t rank, bool split)
{
	struct neuron_comm_options options = { .size = sizeof(options),
					       .timeout_ns = 10000000000 };
	struct neuron_comm_data data = { .dtype = NEURON_DTYPE_INT32, .dst_offset = 4096 };
	struct neuron_comm *c, *part;
	struct neuron_request *r;
	int32_t got[100];
	uint32_t i;

	chip[0] = fake_open(rank);
	if (neuron_comm_init(chip[0], root, n, rank, &options, &c))
		return 1;
	buffer[0] = make_window(chip[0], WINDOW);
	if (neuron_comm_register(c, buffer[0]))
		return 2;
	for (i = 0; i < 100; i++)
		got[i] = value_of(rank, i);
	if (neuron_buffer_write(buffer[0], 0, got, 400))
		return 3;
	data.src = buffer[0];
	data.dst = buffer[0];
	for (i = 0; i < 20; i++)
		if (neuron_comm_all_reduce(c, &data, 100, NULL, &r) ||
		    neuron_request_wait(r, NEURON_WAIT_FOREVER))
			return 4;
	if (neuron_buffer_read(buffer[0], 4096, got, 400))
		return 5;
	for (i = 0; i < 100; i++)
		if (got[i] != (int32_t)(n * (n - 1) / 2 * 1000 + n * (i * 7 % 991)))
			return 6;
	if (split && (neuron_comm_split(c, rank % 2, n - rank, &part) ||
		      neuron_comm_barrier(part, NULL, &r) ||
		      neuron_request_wait(r, NEURON_WAIT_FOREVER)))
		return 7;
	/* Nobody goes before all are through. */
	if (neuron_comm_barrier(c, NULL, &r) || neuron_request_wait(r, NEURON_WAIT_FOREVER))
		return 8;
	neuron_comm_destroy(c);
	return 0;
}

static void run_ranks(const char *root, uint32_t n, bool split)
{
	pid_t child[16];
	uint32_t i;
	int status;

	for (i = 0; i < n; i++) {
		child[i] = fork();
		if (!child[i]) {
			int ret = one_rank(root, n, i, split);

			if (ret)
				fprintf(stderr, "# rank %u: %d: %s\n", i, ret,
					neuron_last_error());
			_exit(ret);
		}
	}
	for (i = 0; i < n; i++) {
		waitpid(child[i], &status, 0);
		assert_int_equal(status, 0);
	}
}

static void test_processes(void **state)
{
	char root[100];

	(void)state;
	fake.groups = false;
	snprintf(root, sizeof(root), "unix:@comm-test-%d", (int)getpid());
	run_ranks(root, 4, true);
	snprintf(root, sizeof(root), "unix:/tmp/comm-test-%d", (int)getpid());
	run_ranks(root, 2, false);
	snprintf(root, sizeof(root), "file:/tmp/comm-test-file-%d", (int)getpid());
	run_ranks(root, 4, false);
	snprintf(root, sizeof(root), "tcp:127.0.0.1:%d", 20000 + (int)getpid() % 20000);
	run_ranks(root, 5, true);
}

/* Killed in the middle; the others say so, and go on without it. */
static int survivor(const char *root, uint32_t rank)
{
	struct neuron_comm_data data = { .dtype = NEURON_DTYPE_INT32, .dst_offset = 4096 };
	struct neuron_comm_options options = { .size = sizeof(options),
					       .timeout_ns = 10000000000 };
	struct neuron_comm *c, *left;
	struct neuron_request *r;
	uint64_t lost = 1 << 1;
	int ret;

	chip[0] = fake_open(rank);
	if (neuron_comm_init(chip[0], root, 3, rank, &options, &c))
		return 1;
	buffer[0] = make_window(chip[0], WINDOW);
	if (neuron_comm_register(c, buffer[0]))
		return 2;
	data.src = buffer[0];
	data.dst = buffer[0];
	if (rank == 1)
		raise(SIGKILL);
	if (neuron_comm_all_reduce(c, &data, 100, NULL, &r))
		return 3;
	ret = neuron_request_wait(r, NEURON_WAIT_FOREVER);
	if (ret != -ENOTCONN || !strstr(neuron_last_error(), "rank 1 is gone"))
		return 4;
	if (neuron_comm_shrink(c, &lost, 1, &left))
		return 5;
	neuron_comm_destroy(c);
	if (neuron_comm_register(left, buffer[0]) ||
	    neuron_comm_all_reduce(left, &data, 100, NULL, &r) ||
	    neuron_request_wait(r, NEURON_WAIT_FOREVER) ||
	    neuron_comm_barrier(left, NULL, &r) ||
	    neuron_request_wait(r, NEURON_WAIT_FOREVER))
		return 6;
	neuron_comm_destroy(left);
	return 0;
}

static void test_killed(void **state)
{
	pid_t child[3];
	char root[100];
	uint32_t i;
	int status;

	(void)state;
	fake.groups = false;
	snprintf(root, sizeof(root), "unix:@comm-kill-%d", (int)getpid());
	for (i = 0; i < 3; i++) {
		child[i] = fork();
		if (!child[i]) {
			int ret = survivor(root, i);

			if (ret)
				fprintf(stderr, "# rank %u: %d: %s\n", i, ret,
					neuron_last_error());
			_exit(ret);
		}
	}
	for (i = 0; i < 3; i++) {
		waitpid(child[i], &status, 0);
		assert_int_equal(status, i == 1 ? SIGKILL : 0);
	}
}

/* What comes to rank 0 from others than ranks does no harm. */
static void test_hostile(void **state)
{
	struct neuron_comm_options options = { .size = sizeof(options),
					       .timeout_ns = 300000000 };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	uint32_t right[6] = { 0x4d4f434e, 1, 0x10000, 0, 2, 0 };
	unsigned char noise[600];
	struct neuron_comm *c;
	char root[100];
	uint32_t i, k;
	pid_t child;
	int status;

	(void)state;
	snprintf(un.sun_path + 1, 90, "comm-hostile-%d", (int)getpid());
	snprintf(root, sizeof(root), "unix:@%s", un.sun_path + 1);
	chip[0] = fake_open(0);
	child = fork();
	if (!child) {
		for (k = 0; k < 200; k++) {
			int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

			for (i = 0; i < sizeof(noise); i++)
				noise[i] = (unsigned char)rand();
			/* Some look right at first. */
			right[3] = k;
			right[5] = k % 3;
			if (k % 2)
				memcpy(noise, right, sizeof(right));
			if (!connect(fd, (struct sockaddr *)&un,
				     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
						 strlen(un.sun_path + 1))))
				send(fd, noise, 1 + (size_t)rand() % sizeof(noise), MSG_NOSIGNAL);
			usleep(1000);
			close(fd);
		}
		_exit(0);
	}
	i = 0;
	while (!neuron_comm_init(chip[0], root, 2, 0, &options, &c))
		i++;
	assert_int_equal(i, 0);
	assert_non_null(strstr(neuron_last_error(), "rank"));
	waitpid(child, &status, 0);
	refused(-EINVAL, "it is unix:", neuron_comm_init(chip[0], "tcp:10.0.0.1:80", 2, 0, &options,
							 &c));
	refused(-EINVAL, "it is unix:", neuron_comm_init(chip[0], "tcp:127.0.0.1:99999", 2, 0,
							 &options, &c));
	refused(-ETIME, "rank 0 is not at", neuron_comm_init(chip[0], "unix:@nobody-is-there", 2, 1,
							     &options, &c));
	neuron_device_close(chip[0]);
}

static int each(void **state)
{
	(void)state;
	fake_init();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_all_reduce, each),
		cmocka_unit_test_setup(test_repeated, each),
		cmocka_unit_test_setup(test_cache_and_pieces, each),
		cmocka_unit_test_setup(test_others, each),
		cmocka_unit_test_setup(test_send_recv, each),
		cmocka_unit_test_setup(test_misuse, each),
		cmocka_unit_test_setup(test_timeout, each),
		cmocka_unit_test_setup(test_link_down, each),
		cmocka_unit_test_setup(test_destroyed, each),
		cmocka_unit_test_setup(test_random, each),
		cmocka_unit_test_setup(test_explain, each),
		cmocka_unit_test_setup(test_processes, each),
		cmocka_unit_test_setup(test_killed, each),
		cmocka_unit_test_setup(test_hostile, each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
