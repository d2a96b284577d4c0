// SPDX-License-Identifier: MIT
/* User queues and lists: numbers, eventfds, semaphores, how a wait ends */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "mock.h"

static struct neuron_device *device;
static struct neuron_buffer *words;
static uint64_t *word;
static struct neuron_queue *a, *b, *fenced;

static const struct neuron_queue_options options = {
	.size = sizeof(options), .queue_class = NEURON_QUEUE_USER, .stack = NEURON_STACK_ANY,
};

static int setup(void **state)
{
	void *data;

	mock_setup(state);
	mock.features |= NEURON_FEATURE_QUEUE_USER | NEURON_FEATURE_SEMAPHORE;
	assert_int_equal(neuron_device_open(0, &device), 0);
	assert_int_equal(neuron_buffer_create(device, NEURON_HOST, 4096, NULL, &words), 0);
	assert_int_equal(neuron_buffer_map(words, &data), 0);
	word = data;
	assert_int_equal(neuron_queue_create(device, &options, &a), 0);
	assert_int_equal(neuron_queue_create(device, &options, &b), 0);
	assert_int_equal(neuron_queue_create(device, NULL, &fenced), 0);
	return 0;
}

static int teardown(void **state)
{
	neuron_queue_destroy(a);
	neuron_queue_destroy(b);
	neuron_queue_destroy(fenced);
	neuron_buffer_unmap(words);
	neuron_buffer_destroy(words);
	neuron_device_close(device);
	return mock_teardown(state);
}

static struct neuron_op op_signal(uint64_t offset, int64_t value, uint32_t flags)
{
	return (struct neuron_op){ .type = NEURON_OP_SIGNAL, .flags = flags, .dst = words,
				   .dst_offset = offset, .size = 8, .pattern_size = 8,
				   .pattern = (uint64_t)value };
}

static struct neuron_op op_wait(uint64_t offset, int64_t value, uint32_t flags)
{
	struct neuron_op op = op_signal(offset, value, flags);

	op.type = NEURON_OP_WAIT;
	return op;
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void test_numbers(void **state)
{
	struct neuron_op op = op_signal(8, 5, 0);
	uint64_t seqno = 0;

	(void)state;
	assert_int_equal(neuron_queue_reached(a, &seqno), 0);
	assert_int_equal(seqno, 0);
	assert_false(readable(neuron_queue_get_eventfd(a)));
	assert_int_equal(neuron_queue_post(a, &op, 1, &seqno), 0);
	assert_int_equal(seqno, 1);
	assert_true(readable(neuron_queue_get_eventfd(a)));
	assert_int_equal(neuron_queue_wait_for(a, 1, 0), 0);
	assert_int_equal(word[1], 5);
	op.flags = NEURON_OP_SET;
	assert_int_equal(neuron_queue_post(a, &op, 1, NULL), 0);
	assert_int_equal(word[1], 5);
	assert_int_equal(neuron_queue_wait_for(a, 2, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(neuron_queue_wait_for(a, 3, 1000000), -ETIME);
	assert_sentence("job 3 has not ended in the time given: 2 has");
	/* A run waits in the driver. */
	assert_int_equal(neuron_queue_run(a, &op, 1, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(neuron_queue_reached(a, &seqno), 0);
	assert_int_equal(seqno, 3);
}

static void test_two_queues(void **state)
{
	struct neuron_op first[] = { op_wait(0, 1, NEURON_OP_TAKE), op_signal(8, 1, 0) };
	struct neuron_op second[] = { op_wait(8, 2, NEURON_OP_TAKE), op_signal(16, -1, 0) };
	struct neuron_op go = op_signal(0, 2, 0);
	uint64_t seqno;
	int i;

	(void)state;
	assert_int_equal(neuron_queue_post(b, second, 2, NULL), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(neuron_queue_post(a, first, 2, NULL), 0);
	assert_int_equal(neuron_queue_reached(b, &seqno), 0);
	assert_int_equal(seqno, 0);
	assert_int_equal(neuron_queue_wait_for(b, 1, 1000000), -ETIME);
	/* Behind what waits, so from another queue */
	assert_int_equal(neuron_queue_run(fenced, &go, 1, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(neuron_queue_wait_for(a, 2, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(neuron_queue_wait_for(b, 1, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(word[0], 0);
	assert_int_equal(word[1], 0);
	assert_int_equal((int64_t)word[2], -1);
}

static void test_lists(void **state)
{
	struct neuron_op ops[] = { op_wait(0, 1, NEURON_OP_TAKE), op_signal(8, 3, 0) };
	struct neuron_op go = op_signal(0, 1, 0);
	struct neuron_fence *fence = NULL;
	struct neuron_list *list;
	struct neuron_queue *q;
	uint64_t seqno, i;

	(void)state;
	assert_null(neuron_list_get_queue(NULL));
	assert_int_equal(neuron_list_create_user(device, NEURON_STACK_ANY, ops, 2, &list), 0);
	q = neuron_list_get_queue(list);
	assert_int_equal(neuron_list_submit(list, &fence), -EINVAL);
	assert_sentence("is of the user class: it has no fences");
	for (i = 1; i <= 3; i++) {
		assert_int_equal(neuron_list_post(list, &seqno), 0);
		assert_int_equal(seqno, i);
		assert_int_equal(neuron_queue_wait_for(q, i, 0), -ETIME);
		assert_int_equal(neuron_queue_run(fenced, &go, 1, NEURON_WAIT_FOREVER), 0);
		assert_int_equal(neuron_queue_wait_for(q, i, NEURON_WAIT_FOREVER), 0);
		assert_int_equal(word[1], 3 * i);
	}
	neuron_list_destroy(list);
	/* A list of the other class has no numbers. */
	assert_int_equal(neuron_list_create(device, NEURON_STACK_ANY, &go, 1, &list), 0);
	assert_int_equal(neuron_list_post(list, NULL), -EINVAL);
	assert_int_equal(neuron_queue_wait_for(neuron_list_get_queue(list), 1, 0), -EINVAL);
	neuron_list_destroy(list);
}

/* A queue that lost its jobs says so, to all who wait, and takes no more. */
static void test_lost(void **state)
{
	struct neuron_op op = op_signal(0, 1, 0);
	uint64_t seqno;

	(void)state;
	mock.job_error = -EIO;
	mock.job_reason = NEURON_REASON_ABORT;
	assert_int_equal(neuron_queue_post(a, &op, 1, NULL), 0);
	assert_int_equal(neuron_queue_reached(a, &seqno), 0);
	assert_true(seqno == NEURON_SEQNO_ENDED);
	assert_int_equal(neuron_queue_wait_for(a, 1, NEURON_WAIT_FOREVER), -EIO);
	assert_sentence("the DMA engine stopped with an error");
	mock.fail_request = DRM_IOCTL_TRAINIUM_SUBMIT;
	mock.fail_error = -EIO;
	mock.fail_count = 1;
	assert_int_equal(neuron_queue_post(a, &op, 1, NULL), -EIO);
	assert_sentence("work failed");
}

/* Destroying it is what ends a wait. */
static void test_destroyed(void **state)
{
	struct neuron_op op = op_wait(0, 1, 0);
	struct neuron_queue *q;
	int i;

	(void)state;
	assert_int_equal(neuron_queue_create(device, &options, &q), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(neuron_queue_post(q, &op, 1, NULL), 0);
	neuron_queue_destroy(q);
}

static void *signal_later(void *arg)
{
	struct neuron_op go = op_signal(0, 1, 0);

	usleep(20000);
	assert_int_equal(neuron_queue_run(arg, &go, 1, NEURON_WAIT_FOREVER), 0);
	return NULL;
}

static void test_sleeps(void **state)
{
	struct neuron_op op = op_wait(0, 1, 0);
	pthread_t thread;

	(void)state;
	assert_int_equal(neuron_queue_post(a, &op, 1, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, signal_later, fenced), 0);
	assert_int_equal(neuron_queue_wait_for(a, 1, NEURON_WAIT_FOREVER), 0);
	pthread_join(thread, NULL);
}

static void test_bad_arguments(void **state)
{
	struct neuron_queue_options two = options;
	struct neuron_op op = op_signal(0, 1, 0);
	struct neuron_fence *fence;
	struct neuron_list *list;
	struct neuron_queue *q;
	uint64_t seqno;

	(void)state;
	assert_int_equal(neuron_queue_post(NULL, &op, 1, NULL), -EINVAL);
	assert_int_equal(neuron_queue_post(fenced, &op, 1, NULL), -EINVAL);
	assert_sentence("is not of the user class: its work has fences");
	assert_int_equal(neuron_queue_reached(fenced, &seqno), -EINVAL);
	assert_int_equal(neuron_queue_reached(a, NULL), -EINVAL);
	assert_int_equal(neuron_queue_get_eventfd(NULL), -EINVAL);
	assert_int_equal(neuron_queue_wait_for(NULL, 1, 0), -EINVAL);
	assert_int_equal(neuron_queue_submit(a, &op, 1, NULL, 0, &fence), -EINVAL);
	assert_sentence("is of the user class: its work has no fences");
	assert_int_equal(neuron_queue_post(a, &op, 0, NULL), -EINVAL);
	op.size = 4;
	assert_int_equal(neuron_queue_post(a, &op, 1, NULL), -EINVAL);
	assert_sentence("a semaphore is 8 bytes at a multiple of 8, not 4 at 0");
	op = op_signal(4, 1, 0);
	assert_int_equal(neuron_queue_post(a, &op, 1, NULL), -EINVAL);
	op = op_signal(0, 1, NEURON_OP_TAKE);
	assert_int_equal(neuron_queue_post(a, &op, 1, NULL), -EINVAL);
	op = op_wait(0, 1, NEURON_OP_SET);
	assert_int_equal(neuron_queue_post(a, &op, 1, NULL), -EINVAL);
	op = op_wait(0, 1, 0);
	assert_int_equal(neuron_queue_run(fenced, &op, 1, 0), -EINVAL);
	two.num_engines = 2;
	assert_int_equal(neuron_queue_create(device, &two, &q), -EINVAL);
	assert_int_equal(neuron_list_create_user(NULL, 0, &op, 1, &list), -EINVAL);
	assert_int_equal(neuron_list_create_user(device, 0, &op, 1, NULL), -EINVAL);
	assert_int_equal(neuron_list_post(NULL, NULL), -EINVAL);
}

static void test_without_semaphores(void **state)
{
	struct neuron_device *old;
	struct neuron_list *list;
	struct neuron_queue *q;
	struct neuron_op op = op_signal(0, 1, 0);

	(void)state;
	mock.features &= ~(NEURON_FEATURE_QUEUE_USER | NEURON_FEATURE_SEMAPHORE);
	assert_int_equal(neuron_device_open(0, &old), 0);
	assert_int_equal(neuron_queue_create(old, &options, &q), -EOPNOTSUPP);
	assert_int_equal(neuron_list_create_user(old, 0, &op, 1, &list), -EOPNOTSUPP);
	assert_sentence("the driver offers no lists of the user class");
	neuron_device_close(old);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_numbers),
		TEST(test_two_queues),
		TEST(test_lists),
		TEST(test_lost),
		TEST(test_destroyed),
		TEST(test_sleeps),
		TEST(test_bad_arguments),
		TEST(test_without_semaphores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
