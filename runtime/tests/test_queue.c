// SPDX-License-Identifier: MIT
/*
 * Queues and fences: arguments, splitting, waiting, failures.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mock.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_queue, close_queue)
#define MS 1000000ll

static struct neuron_device *device;
static struct neuron_queue *queue;
static struct neuron_buffer *a, *b;

static int open_queue(void **state)
{
	mock_setup(state);
	if (neuron_device_open(0, &device) || neuron_queue_create(device, NULL, &queue))
		return -1;
	if (neuron_buffer_create(device, NEURON_HBM, 1 << 20, NULL, &a) ||
	    neuron_buffer_create(device, NEURON_HBM, 1 << 20, NULL, &b))
		return -1;
	return 0;
}

static int close_queue(void **state)
{
	neuron_buffer_destroy(a);
	neuron_buffer_destroy(b);
	neuron_queue_destroy(queue);
	neuron_device_close(device);
	return mock_teardown(state);
}

static struct neuron_op copy_op(uint64_t dst, uint64_t src, uint64_t size)
{
	return (struct neuron_op){ .type = NEURON_OP_COPY, .dst = b, .dst_offset = dst,
				   .src = a, .src_offset = src, .size = size };
}

static struct neuron_op fill_op(uint64_t offset, uint64_t size, unsigned char value)
{
	return (struct neuron_op){ .type = NEURON_OP_FILL, .dst = a, .dst_offset = offset,
				   .size = size, .pattern = value, .pattern_size = 1 };
}

static unsigned char byte_at(struct neuron_buffer *buffer, uint64_t offset)
{
	unsigned char value = 0;
	bool hold = mock.hold;
	void *data;

	mock.hold = false;
	assert_int_equal(neuron_buffer_map(buffer, &data), 0);
	value = ((unsigned char *)data)[offset];
	neuron_buffer_unmap(buffer);
	mock.hold = hold;
	return value;
}

static void test_create_options(void **state)
{
	struct neuron_queue_options o = { .size = sizeof(o), .stack = NEURON_STACK_ANY };
	struct neuron_queue_info info = { .size = sizeof(info) };
	struct neuron_queue *other = NULL;

	(void)state;
	o.priority = 2;
	assert_int_equal(neuron_queue_create(device, &o, &other), -EINVAL);
	assert_sentence("priority 2 does not exist: -1 to 1 do");
	o.priority = NEURON_PRIORITY_LOW;
	o.num_engines = 17;
	assert_int_equal(neuron_queue_create(device, &o, &other), -EINVAL);
	assert_sentence("a queue over 17 engines: the limit is 16");
	o.num_engines = 3;
	o.stack = 4;
	assert_int_equal(neuron_queue_create(device, &o, &other), -EINVAL);
	o.stack = 3;
	o.flags = 1;
	assert_int_equal(neuron_queue_create(device, &o, &other), -EINVAL);
	o.flags = 0;
	o.queue_class = 2;
	assert_int_equal(neuron_queue_create(device, &o, &other), -EINVAL);
	o.queue_class = NEURON_QUEUE_USER;
	assert_int_equal(neuron_queue_create(device, &o, &other), -EOPNOTSUPP);
	assert_sentence("no queues of the user class");
	o.queue_class = NEURON_QUEUE_FENCED;
	assert_null(other);
	assert_int_equal(neuron_queue_create(NULL, NULL, &other), -EINVAL);
	assert_int_equal(neuron_queue_create(device, &o, &other), 0);
	assert_int_equal(neuron_queue_get_info(other, &info), 0);
	assert_int_equal(info.num_rings, 3);
	assert_int_equal(info.id, 2);
	neuron_queue_destroy(other);
	neuron_queue_destroy(NULL);
	o = (struct neuron_queue_options){ .size = sizeof(o), .stack = NEURON_STACK_ANY,
					   .priority = NEURON_PRIORITY_HIGH };
	assert_int_equal(neuron_queue_create(device, &o, &other), 0);
	neuron_queue_destroy(other);
}

static void test_create_limits(void **state)
{
	struct neuron_queue *other = NULL;

	(void)state;
	mock.limits.max_queues = 1;
	assert_int_equal(neuron_queue_create(device, NULL, &other), -EDQUOT);
	assert_sentence("may have 8 queues and 64 rings");
	mock.fail_request = DRM_IOCTL_TRAINIUM_QUEUE_CREATE;
	mock.fail_error = -ENOSPC;
	mock.fail_count = 1;
	assert_int_equal(neuron_queue_create(device, NULL, &other), -ENOSPC);
	assert_sentence("no hardware rings are left");
}

static void test_copy_is_one_ioctl(void **state)
{
	(void)state;
	assert_int_equal(neuron_queue_fill(queue, a, 0, 4096, 0x77, 1), 0);
	assert_int_equal(neuron_queue_copy(queue, b, 100, a, 0, 4096), 0);
	assert_int_equal(mock.jobs, 2);
	assert_int_equal(mock.syncobj_creates, 0);
	assert_int_equal(mock.job_log[1].flags, TRAINIUM_SUBMIT_WAIT);
	assert_int_equal(mock.job_log[1].in_syncs, 0);
	assert_int_equal(mock.job_log[1].out_syncs, 0);
	assert_int_equal(byte_at(b, 99), 0);
	assert_int_equal(byte_at(b, 100), 0x77);
	assert_int_equal(byte_at(b, 4195), 0x77);
	assert_int_equal(byte_at(b, 4196), 0);
}

static void test_bad_ops(void **state)
{
	struct neuron_op op[3] = { fill_op(0, 1, 1), copy_op(0, 0, 1), copy_op(0, 0, 1) };

	(void)state;
	op[2].size = 0;
	assert_int_equal(neuron_queue_run(queue, op, 3, 0), -EINVAL);
	assert_sentence("an op of 0 bytes (ops[2] of 3)");
	op[2] = copy_op((1 << 20) - 1, 0, 2);
	assert_int_equal(neuron_queue_run(queue, op, 3, 0), -EINVAL);
	assert_sentence("accel0: buffer 2 (1048576 bytes): offset 1048575 + size 2 is past its end (ops[2] of 3)");
	op[2] = copy_op(0, UINT64_MAX, 2);
	assert_int_equal(neuron_queue_run(queue, op, 3, 0), -EINVAL);
	/* Offset, then size, no multiple of the pattern's */
	op[2] = fill_op(2, 8, 1);
	op[2].pattern_size = 4;
	assert_int_equal(neuron_queue_run(queue, op, 3, 0), -EINVAL);
	op[2] = fill_op(8, 2, 1);
	op[2].pattern_size = 4;
	assert_int_equal(neuron_queue_run(queue, op, 3, 0), -EINVAL);
	assert_sentence("no multiples of the pattern's 4 bytes");
	op[2] = copy_op(0, 0, 2);
	op[2].src = NULL;
	assert_int_equal(neuron_queue_run(queue, op, 3, 0), -EINVAL);
	assert_sentence("an op without source");
	op[2].dst = NULL;
	assert_int_equal(neuron_queue_run(queue, op, 3, 0), -EINVAL);
	op[2] = copy_op(0, 0, 2);
	op[2].flags = 2;
	assert_int_equal(neuron_queue_run(queue, op, 3, 0), -EINVAL);
	op[2] = copy_op(0, 0, 2);
	op[2].reserved = 1;
	assert_int_equal(neuron_queue_run(queue, op, 3, 0), -EINVAL);
	op[2].type = 99;
	assert_int_equal(neuron_queue_run(queue, op, 3, 0), -EINVAL);
	assert_sentence("an op of type 99 does not exist");
	assert_int_equal(neuron_queue_run(queue, op, 0, 0), -EINVAL);
	assert_int_equal(neuron_queue_run(queue, NULL, 1, 0), -EINVAL);
	assert_int_equal(neuron_queue_run(NULL, op, 1, 0), -EINVAL);
	/* Nothing of a bad list runs. */
	assert_int_equal(mock.jobs, 0);
}

static void test_long_list_is_split(void **state)
{
	struct neuron_op *ops = calloc(10000, sizeof(*ops));
	uint32_t i;

	(void)state;
	for (i = 0; i < 10000; i++)
		ops[i] = fill_op(i, 1, (unsigned char)(i % 251));
	ops[4096].flags = NEURON_OP_BARRIER;
	assert_int_equal(neuron_queue_run(queue, ops, 10000, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(mock.jobs, 3);
	assert_int_equal(mock.job_log[0].ops, 4096);
	assert_int_equal(mock.job_log[1].ops, 4096);
	assert_int_equal(mock.job_log[1].first_op_flags, TRAINIUM_OP_F_BARRIER);
	assert_int_equal(mock.job_log[2].ops, 10000 - 2 * 4096);
	for (i = 0; i < 10000; i++)
		assert_int_equal(byte_at(a, i), i % 251);
	free(ops);
}

static struct neuron_op strided_op(const struct neuron_strides *s, uint64_t row)
{
	return (struct neuron_op){ .type = NEURON_OP_COPY_STRIDED, .dst = b, .src = a,
				   .size = row, .strides = s };
}

static void test_strided(void **state)
{
	const struct neuron_strides s = { .rows = 3, .planes = 2, .dst_row_pitch = 10,
					  .dst_plane_pitch = 100, .src_row_pitch = 4,
					  .src_plane_pitch = 12 };
	struct neuron_op ops[20];
	unsigned int i;

	(void)state;
	for (i = 0; i < 24; i++)
		assert_int_equal(neuron_queue_fill(queue, a, i, 1, i + 1, 1), 0);
	mock.jobs = 0;
	assert_int_equal(neuron_queue_copy_strided(queue, b, 5, a, 0, 4, &s), 0);
	assert_int_equal(mock.jobs, 1);
	assert_int_equal(mock.job_log[0].bytes, 24);
	assert_int_equal(byte_at(b, 4), 0);
	assert_int_equal(byte_at(b, 5), 1);
	assert_int_equal(byte_at(b, 8), 4);
	assert_int_equal(byte_at(b, 9), 0);
	assert_int_equal(byte_at(b, 15), 5);
	assert_int_equal(byte_at(b, 25), 9);
	assert_int_equal(byte_at(b, 105), 13);
	assert_int_equal(byte_at(b, 128), 24);

	/* Among others, in a list that is longer than what fits on the stack */
	for (i = 0; i < 20; i++)
		ops[i] = fill_op(1000 + i, 1, (unsigned char)i);
	ops[7] = strided_op(&s, 4);
	ops[7].dst_offset = 200;
	assert_int_equal(neuron_queue_run(queue, ops, 20, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(mock.jobs, 2);
	assert_int_equal(byte_at(b, 200), 1);
	assert_int_equal(byte_at(b, 323), 24);
	for (i = 0; i < 20; i++)
		assert_int_equal(byte_at(a, 1000 + i), i == 7 ? 0 : i);
}

static void test_bad_strided(void **state)
{
	const struct neuron_strides good = { .rows = 3, .planes = 2, .dst_row_pitch = 4,
					     .dst_plane_pitch = 12, .src_row_pitch = 4,
					     .src_plane_pitch = 12 };
	struct neuron_strides s = good;
	struct neuron_op op = strided_op(&s, 4);

	(void)state;
#define RUN() neuron_queue_run(queue, &op, 1, NEURON_WAIT_FOREVER)
	op.strides = NULL;
	assert_int_equal(RUN(), -EINVAL);
	assert_sentence("a strided copy without strides (NULL)");
	op.strides = &s;
	s.rows = 0;
	assert_int_equal(RUN(), -EINVAL);
	assert_sentence("a strided copy without rows");
	s = good;
	s.planes = 0;
	assert_int_equal(RUN(), -EINVAL);
	s = good;
	s.dst_row_pitch = 1 << 19;
	assert_int_equal(RUN(), -EINVAL);
	assert_sentence("is past its end");
	s = good;
	s.src_plane_pitch = UINT64_MAX;
	assert_int_equal(RUN(), -EINVAL);
	s = good;
	s.rows = 501;
	s.planes = 2;
	assert_int_equal(RUN(), -EINVAL);
	assert_sentence("a strided copy of 2 x 501 rows of 4 bytes: the limits are 1000 rows");
	s = good;
	op.src = b;
	op.src_offset = 23;
	assert_int_equal(RUN(), -EINVAL);
	assert_sentence("a strided copy overlaps itself");
	op.src_offset = 24;
	assert_int_equal(RUN(), 0);
	op.src = NULL;
	assert_int_equal(RUN(), -EINVAL);
#undef RUN
	assert_int_equal(mock.jobs, 1);
}

/* Rows of all the strided copies of a job count, and none of them is cut. */
static void test_strided_list_is_split(void **state)
{
	const struct neuron_strides s = { .rows = 400, .planes = 1, .dst_row_pitch = 8,
					  .src_row_pitch = 8 };
	struct neuron_op ops[5];
	unsigned int i;

	(void)state;
	for (i = 0; i < 5; i++) {
		ops[i] = strided_op(&s, 4);
		ops[i].dst_offset = i * 4096;
	}
	assert_int_equal(neuron_queue_run(queue, ops, 5, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(mock.jobs, 3);
	assert_int_equal(mock.job_log[0].ops, 2);
	assert_int_equal(mock.job_log[2].ops, 1);
	assert_int_equal(mock.job_log[2].bytes, 1600);
}

static void test_timestamp(void **state)
{
	struct neuron_op op = { .type = NEURON_OP_TIMESTAMP, .dst = b, .dst_offset = 16,
				.size = 8 };

	(void)state;
	assert_int_equal(neuron_queue_run(queue, &op, 1, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(byte_at(b, 16), 1);
	assert_int_equal(byte_at(b, 17), 0);
	op.dst_offset = 4;
	assert_int_equal(neuron_queue_run(queue, &op, 1, NEURON_WAIT_FOREVER), -EINVAL);
	assert_sentence("a timestamp of 8 bytes at offset 4");
	op.dst_offset = 16;
	op.size = 4;
	assert_int_equal(neuron_queue_run(queue, &op, 1, NEURON_WAIT_FOREVER), -EINVAL);
	assert_int_equal(mock.jobs, 1);
}

static void test_list(void **state)
{
	struct neuron_op ops[3] = { fill_op(0, 100, 7), copy_op(50, 0, 100), fill_op(0, 1, 9) };
	struct neuron_fence *fence;
	struct neuron_list *list;
	unsigned int i;

	(void)state;
	ops[1].flags = NEURON_OP_BARRIER;
	assert_int_equal(neuron_list_create(device, 1, ops, 3, &list), 0);
	assert_int_equal(neuron_list_get_descs(list), 3);
	memset(ops, 0, sizeof(ops));
	assert_int_equal(mock.jobs, 0);
	for (i = 0; i < 5; i++)
		assert_int_equal(neuron_list_run(list, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(mock.jobs, 5);
	assert_int_equal(mock.job_log[4].ops, 3);
	assert_int_equal(byte_at(b, 50), 7);
	assert_int_equal(byte_at(a, 0), 9);

	mock.hold = true;
	assert_int_equal(neuron_list_submit(list, NULL), 0);
	assert_int_equal(neuron_list_submit(list, &fence), 0);
	assert_int_equal(neuron_fence_test(fence), 0);
	assert_int_equal(neuron_list_run(list, 1000), -ETIME);
	assert_int_equal(neuron_list_drain(list, 0), -ETIME);
	mock_run(~0u);
	assert_int_equal(neuron_fence_wait(fence, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(neuron_list_drain(list, NEURON_WAIT_FOREVER), 0);
	neuron_fence_destroy(fence);
	mock.hold = false;

	mock.job_error = -EIO;
	mock.job_reason = TRAINIUM_REASON_ABORT;
	assert_int_equal(neuron_list_run(list, NEURON_WAIT_FOREVER), -EIO);
	assert_sentence("the DMA engine stopped with an error");
	mock.fail_request = DRM_IOCTL_TRAINIUM_LIST_SUBMIT;
	mock.fail_error = -ENOENT;
	mock.fail_count = 2;
	assert_int_equal(neuron_list_run(list, NEURON_WAIT_FOREVER), -ENOENT);
	assert_sentence("does not start: one of its buffers is gone");
	assert_int_equal(neuron_list_submit(list, &fence), -ENOENT);
	neuron_list_destroy(list);
	neuron_list_destroy(NULL);
}

static void test_bad_lists(void **state)
{
	struct neuron_op ops[30];
	struct neuron_list *list = NULL;
	unsigned int i;

	(void)state;
	for (i = 0; i < 30; i++)
		ops[i] = fill_op(i, 1, 1);
	assert_int_equal(neuron_list_create(device, 9, ops, 1, &list), -EINVAL);
	assert_int_equal(neuron_list_create(device, NEURON_STACK_ANY, ops, 0, &list), -EINVAL);
	assert_int_equal(neuron_list_create(NULL, NEURON_STACK_ANY, ops, 1, &list), -EINVAL);
	assert_int_equal(neuron_list_create(device, NEURON_STACK_ANY, ops, 1, NULL), -EINVAL);
	assert_int_equal(neuron_list_create(device, NEURON_STACK_ANY, NULL, 1, &list), -EINVAL);
	assert_int_equal(neuron_list_create(device, NEURON_STACK_ANY, ops, 30, &list), -EINVAL);
	assert_sentence("no list: its ops take more than 20 descriptors or 4 patterns");
	ops[3].size = 0;
	assert_int_equal(neuron_list_create(device, NEURON_STACK_ANY, ops, 4, &list), -EINVAL);
	assert_sentence("an op of 0 bytes (ops[3] of 4)");
	mock.fail_request = DRM_IOCTL_TRAINIUM_LIST_CREATE;
	mock.fail_error = -ENOSPC;
	mock.fail_count = 1;
	assert_int_equal(neuron_list_create(device, NEURON_STACK_ANY, ops, 1, &list), -ENOSPC);
	assert_int_equal(neuron_list_run(NULL, 0), -EINVAL);
	assert_int_equal(neuron_list_submit(NULL, NULL), -EINVAL);
	assert_int_equal(neuron_list_drain(NULL, 0), -EINVAL);
	assert_null(list);
}

static struct neuron_device *reopen_with(uint32_t max_ops, uint64_t max_job_bytes)
{
	struct neuron_device *other;

	mock.limits.max_ops = max_ops;
	mock.limits.max_job_bytes = max_job_bytes;
	assert_int_equal(neuron_device_open(0, &other), 0);
	return other;
}

static void test_large_op_is_split(void **state)
{
	struct neuron_device *other = reopen_with(4, 100000);
	struct neuron_buffer *src, *dst;
	struct neuron_queue *q;
	struct neuron_op ops[3];
	unsigned char *data = malloc(1 << 20), *back = malloc(1 << 20);
	uint64_t sum = 0;
	uint32_t i;

	(void)state;
	for (i = 0; i < 1 << 20; i++)
		data[i] = (unsigned char)(i * 13 + i / 4099);
	assert_int_equal(neuron_queue_create(other, NULL, &q), 0);
	assert_int_equal(neuron_buffer_create(other, NEURON_HOST, 1 << 20, NULL, &src), 0);
	assert_int_equal(neuron_buffer_create(other, NEURON_HOST, 1 << 20, NULL, &dst), 0);
	assert_int_equal(neuron_buffer_write(src, 0, data, 1 << 20), 0);
	ops[0] = (struct neuron_op){ .type = NEURON_OP_FILL, .dst = dst, .size = 50000,
				     .pattern = 0xee, .pattern_size = 1 };
	ops[1] = (struct neuron_op){ .type = NEURON_OP_COPY, .flags = NEURON_OP_BARRIER,
				     .dst = dst, .dst_offset = 1, .src = src, .src_offset = 1,
				     .size = (1 << 20) - 1 };
	ops[2] = (struct neuron_op){ .type = NEURON_OP_FILL, .flags = NEURON_OP_BARRIER,
				     .dst = dst, .dst_offset = 4, .size = 4, .pattern = 0xdd,
				     .pattern_size = 1 };
	assert_int_equal(neuron_queue_run(q, ops, 3, NEURON_WAIT_FOREVER), 0);
	assert_true(mock.jobs > 10);
	for (i = 0; i < mock.jobs; i++) {
		assert_true(mock.job_log[i].bytes <= 100000);
		assert_true(mock.job_log[i].ops <= 4);
		sum += mock.job_log[i].bytes;
	}
	assert_int_equal(sum, 50000 + (1 << 20) - 1 + 4);
	memset(data + 4, 0xdd, 4);
	assert_int_equal(neuron_buffer_read(dst, 0, back, 1 << 20), 0);
	assert_int_equal(back[0], 0xee);
	assert_memory_equal(data + 1, back + 1, (1 << 20) - 1);
	neuron_buffer_destroy(src);
	neuron_buffer_destroy(dst);
	neuron_queue_destroy(q);
	neuron_device_close(other);
	free(data);
	free(back);
}

static void test_split_submit_is_chained(void **state)
{
	struct neuron_fence *fence;
	struct neuron_op ops[10];
	struct neuron_device *other = reopen_with(4, 1 << 30);
	struct neuron_buffer *buffer;
	struct neuron_queue *q;
	uint32_t i;

	(void)state;
	assert_int_equal(neuron_queue_create(other, NULL, &q), 0);
	assert_int_equal(neuron_buffer_create(other, NEURON_HBM, 4096, NULL, &buffer), 0);
	for (i = 0; i < 10; i++)
		ops[i] = (struct neuron_op){ .type = NEURON_OP_FILL, .dst = buffer,
					     .dst_offset = i, .size = 1, .pattern_size = 1 };
	mock.hold = true;
	assert_int_equal(neuron_queue_submit(q, ops, 10, NULL, 0, &fence), 0);
	assert_int_equal(mock.jobs, 3);
	assert_int_equal(mock.job_log[0].in_syncs, 0);
	assert_int_equal(mock.job_log[1].in_syncs, 1);
	assert_int_equal(mock.job_log[2].in_syncs, 1);
	/* The first of the three fails: so does the fence, which is that of the last. */
	mock.job_error = -EIO;
	mock.job_reason = TRAINIUM_REASON_ABORT;
	mock_run(~0u);
	assert_int_equal(neuron_fence_wait(fence, NEURON_WAIT_FOREVER), -ECANCELED);
	neuron_fence_destroy(fence);
	neuron_buffer_destroy(buffer);
	neuron_queue_destroy(q);
	neuron_device_close(other);
}

static void test_split_submit_fails_half_way(void **state)
{
	struct neuron_op *ops = calloc(5000, sizeof(*ops));
	struct neuron_fence *fence = NULL;
	uint32_t i;

	(void)state;
	for (i = 0; i < 5000; i++)
		ops[i] = fill_op(i, 1, 1);
	mock.fail_request = DRM_IOCTL_TRAINIUM_SUBMIT;
	mock.fail_error = -ENOMEM;
	mock.fail_skip = 1;
	mock.fail_count = 1;
	assert_int_equal(neuron_queue_submit(queue, ops, 5000, NULL, 0, &fence), -ENOMEM);
	assert_null(fence);
	assert_sentence("queue 1 takes no work");
	/* What was queued has ended when the error is returned. */
	assert_int_equal(mock.waits, 1);
	free(ops);
}

static void test_submit_and_fences(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9), copy = copy_op(0, 0, 10);
	struct neuron_fence *first, *second;
	struct neuron_queue *other;

	(void)state;
	assert_int_equal(neuron_queue_create(device, NULL, &other), 0);
	mock.hold = true;
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, &first), 0);
	assert_int_equal(neuron_queue_submit(other, &copy, 1, &first, 1, &second), 0);
	assert_int_equal(mock.job_log[1].in_syncs, 1);
	assert_int_equal(neuron_fence_test(first), 0);
	assert_int_equal(neuron_fence_wait(second, 0), -ETIME);
	assert_sentence("goes on after the time given");
	assert_int_equal(neuron_fence_wait(second, 3 * MS), -ETIME);
	assert_int_equal(neuron_fence_wait(second, -5), -ETIME);
	assert_int_equal(neuron_fence_wait_until(second, 1), -ETIME);
	mock_run(1);
	assert_int_equal(neuron_fence_test(first), 1);
	assert_int_equal(neuron_fence_test(second), 0);
	mock_run(1);
	assert_int_equal(neuron_fence_wait(second, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(neuron_fence_wait(second, 0), 0);
	assert_int_equal(neuron_fence_test(second), 1);
	assert_int_equal(byte_at(b, 9), 9);
	neuron_fence_destroy(first);
	neuron_fence_destroy(second);
	neuron_fence_destroy(NULL);
	neuron_queue_destroy(other);
	assert_int_equal(neuron_fence_wait(NULL, 0), -EINVAL);
	assert_int_equal(neuron_fence_test(NULL), -EINVAL);
}

static void test_syncobjs_are_used_again(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9);
	struct neuron_fence *fence;
	int i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, &fence), 0);
		assert_int_equal(neuron_fence_wait(fence, NEURON_WAIT_FOREVER), 0);
		neuron_fence_destroy(fence);
	}
	assert_int_equal(mock.syncobj_creates, 1);
}

static void test_result_that_cannot_be_had_yet(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9);
	struct neuron_fence *fence;

	(void)state;
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, &fence), 0);
	mock.export_error = -EMFILE;
	assert_int_equal(neuron_fence_wait(fence, 0), -EMFILE);
	mock.export_error = 0;
	assert_int_equal(neuron_fence_wait(fence, 0), 0);
	neuron_fence_destroy(fence);
}

static void test_exported_syncobj_is_not_used_again(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9);
	struct neuron_fence *fence;
	int fd;

	(void)state;
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, &fence), 0);
	assert_int_equal(neuron_fence_export_syncobj(fence, NULL), -EINVAL);
	assert_int_equal(neuron_fence_export_syncobj(fence, &fd), 0);
	close(fd);
	neuron_fence_destroy(fence);
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, &fence), 0);
	assert_int_equal(mock.syncobj_creates, 2);
	neuron_fence_destroy(fence);
}

static void test_fire_and_forget(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9);

	(void)state;
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, NULL), 0);
	assert_int_equal(mock.job_log[0].out_syncs, 0);
	assert_int_equal(neuron_queue_drain(queue, NEURON_WAIT_FOREVER), 0);
}

static void test_fence_across_devices(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9), there;
	struct neuron_fence *first, *second;
	struct neuron_device *other;
	struct neuron_buffer *buffer;
	struct neuron_queue *q;

	(void)state;
	assert_int_equal(neuron_device_open(1, &other), 0);
	assert_int_equal(neuron_queue_create(other, NULL, &q), 0);
	assert_int_equal(neuron_buffer_create(other, NEURON_HBM, 4096, NULL, &buffer), 0);
	there = (struct neuron_op){ .type = NEURON_OP_FILL, .dst = buffer, .size = 8,
				    .pattern_size = 8 };
	mock.hold = true;
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, &first), 0);
	assert_int_equal(neuron_queue_submit(q, &there, 1, &first, 1, &second), 0);
	assert_int_equal(mock.job_log[1].in_syncs, 1);
	mock.job_error = -EIO;
	mock_run(~0u);
	assert_int_equal(neuron_fence_wait(first, 0), -EIO);
	assert_int_equal(neuron_fence_wait(second, 0), -ECANCELED);
	neuron_fence_destroy(first);
	neuron_fence_destroy(second);
	neuron_buffer_destroy(buffer);
	neuron_queue_destroy(q);
	neuron_device_close(other);
}

static void test_many_waits(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9);
	struct neuron_fence *fence[65], *last = NULL;
	int i;

	(void)state;
	for (i = 0; i < 65; i++)
		assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, &fence[i]), 0);
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, fence, 65, &last), -EINVAL);
	assert_sentence("65 fences to wait for: the limit is 64");
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 1, &last), -EINVAL);
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, fence, 64, &last), 0);
	assert_int_equal(mock.job_log[65].in_syncs, 64);
	neuron_fence_destroy(fence[3]);
	fence[3] = NULL;
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, fence, 20, NULL), -EINVAL);
	assert_sentence("fence 3 to wait for is NULL");
	for (i = 0; i < 65; i++)
		neuron_fence_destroy(fence[i]);
	neuron_fence_destroy(last);
}

static void test_sync_file(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9), copy = copy_op(0, 0, 10);
	struct neuron_fence *fence, *imported, *last;
	int fd, pipes[2];

	(void)state;
	mock.hold = true;
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, &fence), 0);
	assert_int_equal(neuron_fence_export_sync_file(fence, NULL), -EINVAL);
	assert_int_equal(neuron_fence_export_sync_file(fence, &fd), 0);
	assert_int_equal(neuron_fence_import_sync_file(device, fd, &imported), 0);
	close(fd);
	neuron_fence_destroy(fence);
	assert_int_equal(neuron_queue_submit(queue, &copy, 1, &imported, 1, &last), 0);
	assert_int_equal(neuron_fence_test(imported), 0);
	mock_run(~0u);
	assert_int_equal(neuron_fence_test(imported), 1);
	assert_int_equal(neuron_fence_wait(last, 0), 0);
	neuron_fence_destroy(imported);
	neuron_fence_destroy(last);

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(neuron_fence_import_sync_file(device, pipes[0], &imported), -EINVAL);
	assert_sentence("is no sync_file");
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(neuron_fence_import_sync_file(NULL, 0, &imported), -EINVAL);
}

static void test_fence_outlives_queue_and_device(void **state)
{
	struct neuron_device *other;
	struct neuron_buffer *buffer;
	struct neuron_fence *fence;
	struct neuron_queue *q;
	struct neuron_op fill;

	(void)state;
	assert_int_equal(neuron_device_open(1, &other), 0);
	assert_int_equal(neuron_queue_create(other, NULL, &q), 0);
	assert_int_equal(neuron_buffer_create(other, NEURON_HBM, 4096, NULL, &buffer), 0);
	fill = (struct neuron_op){ .type = NEURON_OP_FILL, .dst = buffer, .size = 8,
				   .pattern_size = 8 };
	mock.hold = true;
	assert_int_equal(neuron_queue_submit(q, &fill, 1, NULL, 0, &fence), 0);
	neuron_buffer_destroy(buffer);
	neuron_device_close(other);
	neuron_queue_destroy(q);
	mock_run(~0u);
	assert_int_equal(neuron_fence_wait(fence, NEURON_WAIT_FOREVER), 0);
	neuron_fence_destroy(fence);
}

static void test_pending_goes_on_waiting(void **state)
{
	(void)state;
	mock.pending = 1;
	assert_int_equal(neuron_queue_fill(queue, a, 0, 10, 5, 1), 0);
	assert_int_equal(byte_at(a, 9), 5);
	/* The same when that very job fails. */
	mock.pending = 1;
	mock.job_error = -EIO;
	mock.job_reason = TRAINIUM_REASON_TIMEOUT;
	assert_int_equal(neuron_queue_fill(queue, a, 0, 10, 5, 1), -EIO);
	assert_sentence("no progress within the limit of the driver, engine 17, cause 0x00001234");
	/* And what was told once is not told again. */
	mock.pending = 1;
	assert_int_equal(neuron_queue_fill(queue, a, 0, 10, 6, 1), 0);
	assert_int_equal(neuron_queue_drain(queue, NEURON_WAIT_FOREVER), 0);
}

static void test_run_with_timeout(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9);

	(void)state;
	mock.hold = true;
	assert_int_equal(neuron_queue_run(queue, &fill, 1, 3 * MS), -ETIME);
	assert_sentence("queue 1: work goes on after the time given");
	assert_int_equal(neuron_queue_drain(queue, 3 * MS), -ETIME);
	mock_run(~0u);
	assert_int_equal(neuron_queue_drain(queue, 0), 0);
	assert_int_equal(byte_at(a, 9), 9);
}

static void test_job_fails(void **state)
{
	struct neuron_queue_info info = { .size = sizeof(info) };

	(void)state;
	mock.job_error = -EIO;
	mock.job_reason = TRAINIUM_REASON_ABORT;
	assert_int_equal(neuron_queue_fill(queue, a, 0, 10, 5, 1), -EIO);
	assert_sentence("accel0: queue 1: work failed (EIO): the DMA engine stopped with an error, engine 17, cause 0x00001234");
	assert_int_equal(neuron_queue_get_info(queue, &info), 0);
	assert_int_equal(info.failed, 1);
	assert_int_equal(info.submitted, 1);
	assert_int_equal(info.completed, 1);
	assert_int_equal(info.error, -EIO);
	assert_int_equal(info.reason, NEURON_REASON_ABORT);
	assert_int_equal(info.engine, 17);
	assert_int_equal(neuron_queue_drain(queue, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(neuron_queue_fill(queue, a, 0, 10, 5, 1), 0);
}

static void test_drain_tells_of_failures_once(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9);

	(void)state;
	mock.job_error = -ECANCELED;
	mock.job_reason = TRAINIUM_REASON_RESET;
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, NULL), 0);
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, NULL), 0);
	assert_int_equal(neuron_queue_drain(queue, NEURON_WAIT_FOREVER), -ECANCELED);
	assert_sentence("lost to a reset");
	assert_int_equal(neuron_queue_drain(queue, NEURON_WAIT_FOREVER), 0);
	assert_int_equal(neuron_queue_drain(NULL, 0), -EINVAL);
}

static void test_each_fence_has_its_own_result(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9);
	struct neuron_fence *fence[3];
	int i;

	(void)state;
	mock.hold = true;
	for (i = 0; i < 3; i++)
		assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, &fence[i]), 0);
	mock_run(1);
	mock.job_error = -EIO;
	mock_run(~0u);
	assert_int_equal(neuron_fence_wait(fence[2], NEURON_WAIT_FOREVER), 0);
	assert_int_equal(neuron_fence_wait(fence[1], NEURON_WAIT_FOREVER), -EIO);
	assert_sentence("accel0: the work of a fence failed");
	assert_int_equal(neuron_fence_test(fence[1]), -EIO);
	assert_int_equal(neuron_fence_wait(fence[0], NEURON_WAIT_FOREVER), 0);
	for (i = 0; i < 3; i++)
		neuron_fence_destroy(fence[i]);
	assert_int_equal(neuron_queue_drain(queue, 0), -EIO);
}

static void test_device_gone(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9);
	struct neuron_fence *fence = NULL;

	(void)state;
	mock.fail_request = DRM_IOCTL_TRAINIUM_SUBMIT;
	mock.fail_error = -ENODEV;
	mock.fail_count = 3;
	assert_int_equal(neuron_queue_copy(queue, b, 0, a, 0, 16), -ENODEV);
	assert_sentence("accel0: the device is gone");
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, &fence), -ENODEV);
	assert_int_equal(neuron_queue_drain(queue, 0), -ENODEV);
	assert_null(fence);
}

static void *run_later(void *arg)
{
	struct timespec ts = { .tv_nsec = 20 * MS };

	nanosleep(&ts, NULL);
	mock_run(~0u);
	return arg;
}

static void test_wait_for_another_thread(void **state)
{
	struct neuron_op fill = fill_op(0, 10, 9);
	struct neuron_fence *fence;
	pthread_t thread;

	(void)state;
	mock.hold = true;
	assert_int_equal(neuron_queue_submit(queue, &fill, 1, NULL, 0, &fence), 0);
	pthread_create(&thread, NULL, run_later, NULL);
	assert_int_equal(neuron_fence_wait(fence, NEURON_WAIT_FOREVER), 0);
	pthread_join(thread, NULL);
	neuron_fence_destroy(fence);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_create_options),
		TEST(test_create_limits),
		TEST(test_copy_is_one_ioctl),
		TEST(test_bad_ops),
		TEST(test_timestamp),
		TEST(test_list),
		TEST(test_bad_lists),
		TEST(test_strided),
		TEST(test_bad_strided),
		TEST(test_strided_list_is_split),
		TEST(test_long_list_is_split),
		TEST(test_large_op_is_split),
		TEST(test_split_submit_is_chained),
		TEST(test_split_submit_fails_half_way),
		TEST(test_submit_and_fences),
		TEST(test_syncobjs_are_used_again),
		TEST(test_result_that_cannot_be_had_yet),
		TEST(test_exported_syncobj_is_not_used_again),
		TEST(test_fire_and_forget),
		TEST(test_fence_across_devices),
		TEST(test_many_waits),
		TEST(test_sync_file),
		TEST(test_fence_outlives_queue_and_device),
		TEST(test_pending_goes_on_waiting),
		TEST(test_run_with_timeout),
		TEST(test_job_fails),
		TEST(test_drain_tells_of_failures_once),
		TEST(test_each_fence_has_its_own_result),
		TEST(test_device_gone),
		TEST(test_wait_for_another_thread),
	};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
