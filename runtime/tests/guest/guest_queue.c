// SPDX-License-Identifier: MIT
/*
 * Queues and fences on the real driver.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)
#define MIB (1u << 20)
#define SECOND 1000000000ll

static struct neuron_device *device;
static struct neuron_queue *queue;
static uint64_t free_before;

static int open_device(void **state)
{
	(void)state;
	ok(neuron_device_open(0, &device));
	ok(neuron_queue_create(device, NULL, &queue));
	free_before = free_bytes(device);
	return 0;
}

static int close_device(void **state)
{
	(void)state;
	neuron_queue_destroy(queue);
	assert_all_free(device, free_before);
	neuron_device_close(device);
	return 0;
}

static struct neuron_op copy_op(struct neuron_buffer *dst, struct neuron_buffer *src,
				uint64_t offset, uint64_t size)
{
	return (struct neuron_op){ .type = NEURON_OP_COPY, .dst = dst, .dst_offset = offset,
				   .src = src, .src_offset = offset, .size = size };
}

static void test_counters(void **state)
{
	struct neuron_queue_info info = { .size = sizeof(info) };
	struct neuron_buffer *buffer = make(device, NEURON_HBM, MIB);

	(void)state;
	ok(neuron_queue_get_info(queue, &info));
	assert_int_equal(info.submitted, 0);
	assert_true(info.num_rings > 0);
	ok(neuron_queue_fill(queue, buffer, 0, MIB, 1, 1));
	ok(neuron_queue_get_info(queue, &info));
	assert_int_equal(info.submitted, 1);
	assert_int_equal(info.completed, 1);
	assert_int_equal(info.failed, 0);
	assert_int_equal(info.reason, NEURON_REASON_NONE);
	neuron_buffer_destroy(buffer);
}

static void test_chain_over_two_queues(void **state)
{
	struct neuron_buffer *a = make(device, NEURON_HBM, MIB), *b = make(device, NEURON_HBM, MIB);
	struct neuron_queue *other;
	struct neuron_fence *last = NULL, *next;
	unsigned char back[64];
	struct neuron_op op;
	int i;

	(void)state;
	ok(neuron_queue_create(device, NULL, &other));
	/* Each step moves the pattern on to the other buffer; a missed wait breaks the chain. */
	for (i = 0; i < 100; i++) {
		if (i == 0)
			op = (struct neuron_op){ .type = NEURON_OP_FILL, .dst = a, .size = MIB,
						 .pattern = 0x77, .pattern_size = 1 };
		else
			op = i % 2 ? copy_op(b, a, 0, MIB) : copy_op(a, b, 0, MIB);
		ok(neuron_queue_submit(i % 2 ? other : queue, &op, 1, &last, last ? 1 : 0, &next));
		neuron_fence_destroy(last);
		last = next;
	}
	ok(neuron_fence_wait(last, 30 * SECOND));
	ok(neuron_buffer_read(b, MIB - 64, back, 64));
	assert_int_equal(back[63], 0x77);
	neuron_fence_destroy(last);
	neuron_queue_destroy(other);
	neuron_buffer_destroy(a);
	neuron_buffer_destroy(b);
}

static void test_memory_is_free_after_the_fence(void **state)
{
	struct neuron_memory_info memory = { .size = sizeof(memory) };
	struct neuron_op op = { .type = NEURON_OP_FILL, .size = MIB, .pattern_size = 1 };
	struct neuron_fence *fence;
	int i;

	(void)state;
	ok(neuron_device_get_memory(device, 0, &memory));
	/* Each round needs what the one before has had. */
	for (i = 0; i < 50; i++) {
		op.dst = make_in(device, 0, memory.largest_free / 4 * 3);
		ok(neuron_queue_submit(queue, &op, 1, NULL, 0, &fence));
		ok(neuron_fence_wait(fence, 10 * SECOND));
		neuron_fence_destroy(fence);
		neuron_buffer_destroy(op.dst);
	}
}

static void test_order_within_a_queue(void **state)
{
	struct neuron_buffer *a = make(device, NEURON_HBM, MIB);
	unsigned char back[16];
	int i;

	(void)state;
	for (i = 1; i <= 200; i++) {
		const struct neuron_op op = { .type = NEURON_OP_FILL, .dst = a, .size = MIB,
					      .pattern = (unsigned int)i, .pattern_size = 1 };

		ok(neuron_queue_submit(queue, &op, 1, NULL, 0, NULL));
	}
	ok(neuron_queue_drain(queue, 30 * SECOND));
	ok(neuron_buffer_read(a, MIB - 16, back, 16));
	assert_int_equal(back[15], 200);
	neuron_buffer_destroy(a);
}

static void test_barrier_within_a_job(void **state)
{
	struct neuron_buffer *a = make(device, NEURON_HBM, MIB), *b = make(device, NEURON_HBM, MIB);
	unsigned char *back = malloc(MIB);
	struct neuron_op op[2];
	int i;

	(void)state;
	for (i = 1; i < 20; i++) {
		op[0] = (struct neuron_op){ .type = NEURON_OP_FILL, .dst = a, .size = MIB,
					    .pattern = (unsigned int)i, .pattern_size = 1 };
		op[1] = copy_op(b, a, 0, MIB);
		op[1].flags = NEURON_OP_BARRIER;
		ok(neuron_queue_run(queue, op, 2, 10 * SECOND));
		ok(neuron_buffer_read(b, 0, back, MIB));
		assert_int_equal(back[0], i);
		assert_int_equal(back[MIB / 2], i);
		assert_int_equal(back[MIB - 1], i);
	}
	free(back);
	neuron_buffer_destroy(a);
	neuron_buffer_destroy(b);
}

static void test_long_list(void **state)
{
	/* More than the driver takes at once. */
	enum { COUNT = 70000, SIZE = 64 };
	struct neuron_buffer *a = make(device, NEURON_HOST, COUNT * SIZE);
	struct neuron_buffer *b = make(device, NEURON_HBM, COUNT * SIZE);
	struct neuron_op *ops = calloc(COUNT, sizeof(*ops));
	unsigned char *data = malloc(COUNT * SIZE), *back = malloc(COUNT * SIZE);
	struct neuron_fence *fence;
	uint32_t i, from;

	(void)state;
	scramble(data, COUNT * SIZE, 9);
	ok(neuron_buffer_write(a, 0, data, COUNT * SIZE));
	/* Blocks in another order: 7919 is prime and no divisor of COUNT. */
	for (i = 0; i < COUNT; i++) {
		from = i * 7919u % COUNT;
		ops[i] = copy_op(b, a, 0, SIZE);
		ops[i].dst_offset = i * SIZE;
		ops[i].src_offset = from * SIZE;
	}
	ok(neuron_queue_submit(queue, ops, COUNT, NULL, 0, &fence));
	ok(neuron_fence_wait(fence, 30 * SECOND));
	ok(neuron_buffer_read(b, 0, back, COUNT * SIZE));
	for (i = 0; i < COUNT; i++)
		assert_memory_equal(back + i * SIZE, data + i * 7919u % COUNT * SIZE, SIZE);
	neuron_fence_destroy(fence);
	neuron_buffer_destroy(a);
	neuron_buffer_destroy(b);
	free(ops);
	free(data);
	free(back);
}

static void test_fence_states(void **state)
{
	struct neuron_buffer *a = make(device, NEURON_HBM, 64 * MIB);
	struct neuron_buffer *b = make(device, NEURON_HBM, 64 * MIB);
	struct neuron_op op = copy_op(b, a, 0, 64 * MIB);
	struct neuron_fence *fence[8];
	struct pollfd p = { .events = POLLIN };
	int i, ret;

	(void)state;
	ok(neuron_buffer_fill(a, 0, 64 * MIB, 0x42, 1));
	for (i = 0; i < 8; i++)
		ok(neuron_queue_submit(queue, &op, 1, NULL, 0, &fence[i]));
	ret = neuron_fence_wait(fence[7], 0);
	assert_true(ret == -ETIME || ret == 0);
	ret = neuron_fence_test(fence[7]);
	assert_true(ret == 0 || ret == 1);
	ok(neuron_fence_export_sync_file(fence[7], &p.fd));
	assert_int_equal(poll(&p, 1, 30000), 1);
	close(p.fd);
	/* In order: when the last has ended, so have all. */
	for (i = 0; i < 8; i++) {
		assert_int_equal(neuron_fence_test(fence[i]), 1);
		ok(neuron_fence_wait(fence[i], 0));
		neuron_fence_destroy(fence[i]);
	}
	neuron_buffer_destroy(a);
	neuron_buffer_destroy(b);
}

static void test_fence_from_another_chip(void **state)
{
	struct neuron_buffer *a = make(device, NEURON_HBM, 16 * MIB), *b;
	struct neuron_fence *first, *second;
	struct neuron_queue *q;
	struct neuron_device *other;
	struct neuron_op op = { .type = NEURON_OP_FILL, .dst = a, .size = 16 * MIB, .pattern = 1,
				.pattern_size = 8 };

	(void)state;
	ok(neuron_device_open(1, &other));
	b = make(other, NEURON_HBM, MIB);
	ok(neuron_queue_create(other, NULL, &q));
	ok(neuron_queue_submit(queue, &op, 1, NULL, 0, &first));
	op.dst = b;
	op.size = MIB;
	ok(neuron_queue_submit(q, &op, 1, &first, 1, &second));
	ok(neuron_fence_wait(second, 10 * SECOND));
	assert_int_equal(neuron_fence_test(first), 1);
	neuron_fence_destroy(first);
	neuron_fence_destroy(second);
	neuron_queue_destroy(q);
	neuron_buffer_destroy(b);
	neuron_buffer_destroy(a);
	neuron_device_close(other);
}

static atomic_int alarms;

static void count_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void test_signals_end_no_call(void **state)
{
	struct sigaction action = { .sa_handler = count_alarm };
	struct itimerval often = { { 0, 700 }, { 0, 700 } }, never = { { 0, 0 }, { 0, 0 } };
	struct neuron_buffer *a = make(device, NEURON_HBM, 16 * MIB);
	struct neuron_buffer *b = make(device, NEURON_HOST, 16 * MIB);
	struct neuron_op op = copy_op(b, a, 0, 16 * MIB);
	struct neuron_fence *fence;
	void *data;
	int i;

	(void)state;
	sigaction(SIGALRM, &action, NULL);
	ok(neuron_buffer_map(b, &data));
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 1; i < 60; i++) {
		ok(neuron_queue_fill(queue, a, 0, 16 * MIB, (unsigned int)i, 1));
		if (i % 2) {
			ok(neuron_queue_copy(queue, b, 0, a, 0, 16 * MIB));
		} else {
			ok(neuron_queue_submit(queue, &op, 1, NULL, 0, &fence));
			ok(neuron_fence_wait(fence, 10 * SECOND));
			neuron_fence_destroy(fence);
		}
		assert_int_equal(((unsigned char *)data)[16 * MIB - 1], i);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	assert_true(alarms > 20);
	ok(neuron_queue_drain(queue, 0));
	neuron_buffer_destroy(a);
	neuron_buffer_destroy(b);
}

static void test_run_out_of_time(void **state)
{
	struct neuron_buffer *a = make(device, NEURON_HBM, 256 * MIB);
	struct neuron_op op[8];
	int i, ret;

	(void)state;
	for (i = 0; i < 8; i++)
		op[i] = (struct neuron_op){ .type = NEURON_OP_FILL, .dst = a, .size = 256 * MIB,
					    .flags = NEURON_OP_BARRIER, .pattern = i + 1u,
					    .pattern_size = 1 };
	ret = neuron_queue_run(queue, op, 8, 100000);
	assert_int_equal(ret, -ETIME);
	ok(neuron_queue_drain(queue, 60 * SECOND));
	neuron_buffer_destroy(a);
}

static void test_queue_limit(void **state)
{
	struct neuron_limits limits = { .size = sizeof(limits) };
	struct neuron_queue **q;
	uint32_t count = 0;
	int ret = 0;

	(void)state;
	ok(neuron_device_get_limits(device, &limits));
	q = calloc(limits.max_queues + 1, sizeof(*q));
	while (count <= limits.max_queues) {
		ret = neuron_queue_create(device, NULL, &q[count]);
		if (ret)
			break;
		count++;
	}
	assert_true(ret == -EDQUOT || ret == -ENOSPC);
	assert_true(count > 0);
	while (count)
		neuron_queue_destroy(q[--count]);
	ok(neuron_queue_create(device, NULL, &q[0]));
	neuron_queue_destroy(q[0]);
	free(q);
}

struct worker {
	pthread_t thread;
	uint32_t id;
	bool failed;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned char *data = malloc(300000), *back = malloc(300000);
	struct neuron_buffer *a, *b;
	struct neuron_fence *fence;
	struct neuron_op op;
	uint32_t i, size;

	w->failed = true;
	for (i = 0; i < 40; i++) {
		size = 1 + (i * 7919 + w->id * 104729) % 300000;
		scramble(data, size, i + w->id * 1000);
		if (neuron_buffer_create(device, NEURON_HBM, 300000, NULL, &a) ||
		    neuron_buffer_create(device, NEURON_HOST, 300000, NULL, &b) ||
		    neuron_buffer_write(a, 0, data, size))
			return NULL;
		op = copy_op(b, a, 0, size);
		/* Some on the shared queue, some waiting and some not. */
		if (i % 3) {
			if (neuron_queue_submit(queue, &op, 1, NULL, 0, &fence) ||
			    neuron_fence_wait(fence, 30 * SECOND))
				return NULL;
			neuron_fence_destroy(fence);
		} else if (neuron_queue_run(queue, &op, 1, 30 * SECOND)) {
			return NULL;
		}
		if (neuron_buffer_read(b, 0, back, size) || memcmp(data, back, size))
			return NULL;
		neuron_buffer_destroy(a);
		neuron_buffer_destroy(b);
	}
	free(data);
	free(back);
	w->failed = false;
	return NULL;
}

static void test_threads(void **state)
{
	struct worker worker[4];
	uint32_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		worker[i].id = i;
		assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(worker[i].thread, NULL);
		assert_false(worker[i].failed);
	}
}

static void test_reset_under_load(void **state)
{
	struct neuron_device_info info = { .size = sizeof(info) };
	struct neuron_buffer_info b_info = { .size = sizeof(b_info) };
	struct neuron_buffer *a = make(device, NEURON_HBM, 64 * MIB);
	struct neuron_buffer *b = make(device, NEURON_HBM, 64 * MIB);
	struct neuron_op op = copy_op(b, a, 0, 64 * MIB);
	struct neuron_fence *fence[16];
	unsigned char back[16];
	uint64_t resets;
	int i, ret, lost = 0;

	(void)state;
	ok(neuron_device_get_info(device, &info));
	resets = info.reset_count;
	ok(neuron_buffer_fill(a, 0, 64 * MIB, 0x42, 1));
	for (i = 0; i < 16; i++)
		ok(neuron_queue_submit(queue, &op, 1, NULL, 0, &fence[i]));
	ok(neuron_device_reset(device));
	for (i = 0; i < 16; i++) {
		ret = neuron_fence_wait(fence[i], 10 * SECOND);
		assert_true(ret == 0 || ret == -ECANCELED);
		lost += ret == -ECANCELED;
		neuron_fence_destroy(fence[i]);
	}
	assert_true(lost > 0);
	ok(neuron_device_get_info(device, &info));
	assert_int_equal(info.reset_count, resets + 1);
	ok(neuron_buffer_get_info(a, &b_info));
	assert_true(b_info.content_generation < info.reset_count);
	assert_int_equal(neuron_queue_drain(queue, SECOND), -ECANCELED);
	/* Queue and buffers work on. */
	ok(neuron_queue_fill(queue, b, 0, 64 * MIB, 0x43, 1));
	ok(neuron_buffer_read(b, 64 * MIB - 16, back, 16));
	assert_int_equal(back[15], 0x43);
	neuron_buffer_destroy(a);
	neuron_buffer_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_counters),
		TEST(test_chain_over_two_queues),
		TEST(test_memory_is_free_after_the_fence),
		TEST(test_order_within_a_queue),
		TEST(test_barrier_within_a_job),
		TEST(test_long_list),
		TEST(test_fence_states),
		TEST(test_fence_from_another_chip),
		TEST(test_signals_end_no_call),
		TEST(test_run_out_of_time),
		TEST(test_queue_limit),
		TEST(test_threads),
		TEST(test_reset_under_load),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("queues", tests, NULL, NULL);
}
