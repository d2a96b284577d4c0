// SPDX-License-Identifier: MIT
/*
 * User queues and lists on the real driver.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "guest.h"

#define SIZE 65536
#define SECOND 1000000000ll

static struct neuron_device *device;
static struct neuron_queue *queue[2], *fenced;
static struct neuron_buffer *words, *host, *hbm;
static uint64_t *word;
static unsigned char *bytes;

static const struct neuron_queue_options options = {
	.size = sizeof(options), .queue_class = NEURON_QUEUE_USER, .stack = NEURON_STACK_ANY,
};

static int setup(void **state)
{
	void *map;

	(void)state;
	ok(neuron_device_open(0, &device));
	ok(neuron_queue_create(device, NULL, &fenced));
	ok(neuron_queue_create(device, &options, &queue[0]));
	ok(neuron_queue_create(device, &options, &queue[1]));
	words = make(device, NEURON_HOST, 4096);
	host = make(device, NEURON_HOST, SIZE);
	hbm = make(device, NEURON_HBM, SIZE);
	ok(neuron_buffer_map(words, &map));
	word = map;
	ok(neuron_buffer_map(host, &map));
	bytes = map;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	neuron_queue_destroy(queue[0]);
	neuron_queue_destroy(queue[1]);
	neuron_queue_destroy(fenced);
	neuron_buffer_unmap(words);
	neuron_buffer_unmap(host);
	neuron_buffer_destroy(words);
	neuron_buffer_destroy(host);
	neuron_buffer_destroy(hbm);
	neuron_device_close(device);
	return 0;
}

static struct neuron_op semaphore(uint32_t type, uint64_t offset, uint64_t value, uint32_t flags)
{
	return (struct neuron_op){ .type = type, .flags = flags, .dst = words,
				   .dst_offset = offset, .size = 8, .pattern_size = 8,
				   .pattern = value };
}

static struct neuron_op copy(struct neuron_buffer *dst, struct neuron_buffer *src)
{
	return (struct neuron_op){ .type = NEURON_OP_COPY, .dst = dst, .src = src,
				   .size = SIZE };
}

/* One queue brings data to HBM, the other one takes it from there, round by round. */
static void test_relay(void **state)
{
	struct neuron_op in[] = {
		semaphore(NEURON_OP_WAIT, 0, 1, NEURON_OP_TAKE), copy(hbm, host),
		semaphore(NEURON_OP_SIGNAL, 8, 1, 0),
	};
	struct neuron_op out[] = {
		semaphore(NEURON_OP_WAIT, 8, 1, NEURON_OP_TAKE), copy(host, hbm),
		semaphore(NEURON_OP_SIGNAL, 16, 1, 0),
	};
	struct neuron_op go = semaphore(NEURON_OP_SIGNAL, 0, 1, 0);
	struct pollfd fd = { .events = POLLIN };
	uint64_t seqno;
	int i;

	(void)state;
	for (i = 1; i <= 20; i++) {
		memset(bytes, i, SIZE);
		ok(neuron_queue_post(queue[1], out, 3, NULL));
		ok(neuron_queue_post(queue[0], in, 3, &seqno));
		assert_int_equal(seqno, i);
		assert_int_equal(neuron_queue_wait_for(queue[1], i, 1000000), -ETIME);
		ok(neuron_queue_run(fenced, &go, 1, 10 * SECOND));
		ok(neuron_queue_wait_for(queue[1], i, 10 * SECOND));
		ok(neuron_queue_wait_for(queue[0], i, 10 * SECOND));
		assert_int_equal(word[2], i);
		assert_int_equal(bytes[SIZE - 1], i);
	}
	ok(neuron_queue_post(queue[0], &go, 1, &seqno));
	fd.fd = neuron_queue_get_eventfd(queue[0]);
	assert_int_equal(poll(&fd, 1, 10000), 1);
	ok(neuron_queue_reached(queue[0], &seqno));
	assert_int_equal(seqno, 21);
}

static void test_list(void **state)
{
	struct neuron_op ops[] = {
		semaphore(NEURON_OP_WAIT, 64, 1, NEURON_OP_TAKE), copy(hbm, host),
		semaphore(NEURON_OP_SIGNAL, 72, 2, 0),
	};
	struct neuron_op go = semaphore(NEURON_OP_SIGNAL, 64, 50, 0);
	struct neuron_list *list;
	uint64_t seqno;
	int i;

	(void)state;
	ok(neuron_list_create_user(device, NEURON_STACK_ANY, ops, 3, &list));
	for (i = 0; i < 50; i++)
		ok(neuron_list_post(list, &seqno));
	ok(neuron_queue_run(fenced, &go, 1, 10 * SECOND));
	ok(neuron_queue_wait_for(neuron_list_get_queue(list), seqno, 10 * SECOND));
	assert_int_equal(word[9], 100);
	assert_int_equal(word[8], 0);
	neuron_list_destroy(list);
}

/* Whoever waits in another thread or process is told that the queue has ended. */
static void test_reset(void **state)
{
	struct neuron_op wait = semaphore(NEURON_OP_WAIT, 128, 1, 0);
	uint64_t seqno;

	(void)state;
	ok(neuron_queue_post(queue[0], &wait, 1, &seqno));
	ok(neuron_device_reset(device));
	assert_int_equal(neuron_queue_wait_for(queue[0], seqno, 10 * SECOND), -ECANCELED);
	assert_int_equal(neuron_queue_post(queue[0], &wait, 1, NULL), -ECANCELED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_relay),
		TEST(test_list),
		TEST(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
