// SPDX-License-Identifier: MIT
/*
 * No handle: every function that takes one says so.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mock.h"

/* What a call with NULL for a handle has returned, and what it has said */
static void refused(const char *name, int ret)
{
	if (ret != -EINVAL || !strstr(neuron_last_error(), "NULL"))
		fail_msg("%s: %d \"%s\"", name, ret, neuron_last_error());
	/* The next one has to say it itself. */
	neuron_device_open_name("?", &(struct neuron_device *){ NULL });
}

#define REFUSED(function, ...) refused(#function, function(__VA_ARGS__))

static void test_device(void **state)
{
	struct neuron_telemetry telemetry = { .size = sizeof(telemetry) };
	struct neuron_engine_info engine = { .size = sizeof(engine) };
	struct neuron_memory_info memory = { .size = sizeof(memory) };
	struct neuron_device_info info = { .size = sizeof(info) };
	struct neuron_core_info core = { .size = sizeof(core) };
	struct neuron_limits limits = { .size = sizeof(limits) };
	struct neuron_holder holder = { .size = sizeof(holder) };
	struct neuron_buffer *buffer;
	struct neuron_events *events;
	struct neuron_fence *fence;
	struct neuron_queue *queue;
	struct neuron_list *list;
	char data[8];

	(void)state;
	neuron_device_close(NULL);
	REFUSED(neuron_device_get_fd, NULL);
	REFUSED(neuron_device_get_info, NULL, &info);
	REFUSED(neuron_device_get_memory, NULL, 0, &memory);
	REFUSED(neuron_device_get_memory, NULL, NEURON_STACK_ANY, &memory);
	REFUSED(neuron_device_get_limits, NULL, &limits);
	REFUSED(neuron_device_get_engine, NULL, 0, &engine);
	REFUSED(neuron_device_get_core, NULL, 0, &core);
	REFUSED(neuron_device_get_telemetry, NULL, &telemetry);
	REFUSED(neuron_device_next_holder, NULL, 0, &holder);
	REFUSED(neuron_device_reset, NULL);
	REFUSED(neuron_device_reset_core, NULL, 0);
	REFUSED(neuron_buffer_create, NULL, NEURON_HBM, 8, NULL, &buffer);
	REFUSED(neuron_buffer_create_userptr, NULL, data, sizeof(data), 0, &buffer);
	REFUSED(neuron_buffer_import, NULL, 0, &buffer);
	REFUSED(neuron_queue_create, NULL, NULL, &queue);
	REFUSED(neuron_list_create, NULL, 0, NULL, 0, &list);
	REFUSED(neuron_fence_import_sync_file, NULL, 0, &fence);
	REFUSED(neuron_events_open, NULL, NEURON_EVENT_ALL, &events);
}

static void test_buffer(void **state)
{
	struct neuron_buffer_info info = { .size = sizeof(info) };
	void *address;
	char data[8];
	int fd;

	(void)state;
	neuron_buffer_destroy(NULL);
	assert_int_equal(neuron_buffer_get_size(NULL), 0);
	assert_non_null(strstr(neuron_last_error(), "NULL"));
	REFUSED(neuron_buffer_get_info, NULL, &info);
	REFUSED(neuron_buffer_map, NULL, &address);
	REFUSED(neuron_buffer_unmap, NULL);
	REFUSED(neuron_buffer_write, NULL, 0, data, sizeof(data));
	REFUSED(neuron_buffer_read, NULL, 0, data, sizeof(data));
	REFUSED(neuron_buffer_fill, NULL, 0, 8, 0, 1);
	REFUSED(neuron_buffer_copy, NULL, 0, NULL, 0, 8);
	REFUSED(neuron_buffer_export, NULL, &fd);
}

static void test_queue(void **state)
{
	struct neuron_queue_info info = { .size = sizeof(info) };
	struct neuron_op op = { .type = NEURON_OP_FILL };
	struct neuron_fence *fence;

	(void)state;
	neuron_queue_destroy(NULL);
	REFUSED(neuron_queue_submit, NULL, &op, 1, NULL, 0, &fence);
	REFUSED(neuron_queue_run, NULL, &op, 1, 0);
	REFUSED(neuron_queue_copy, NULL, NULL, 0, NULL, 0, 8);
	REFUSED(neuron_queue_copy_strided, NULL, NULL, 0, NULL, 0, 8, NULL);
	REFUSED(neuron_queue_fill, NULL, NULL, 0, 8, 0, 1);
	REFUSED(neuron_queue_drain, NULL, 0);
	REFUSED(neuron_queue_get_info, NULL, &info);
	neuron_list_destroy(NULL);
	REFUSED(neuron_list_submit, NULL, &fence);
	REFUSED(neuron_list_run, NULL, 0);
	REFUSED(neuron_list_drain, NULL, 0);
}

/* Handles of the queue's are there, those of its ops are not. */
static void test_ops(void **state)
{
	struct neuron_device *device;
	struct neuron_buffer *buffer;
	struct neuron_queue *queue;

	(void)state;
	assert_int_equal(neuron_device_open(0, &device), 0);
	assert_int_equal(neuron_queue_create(device, NULL, &queue), 0);
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, 4096, NULL, &buffer), 0);
	REFUSED(neuron_queue_copy, queue, NULL, 0, buffer, 0, 8);
	REFUSED(neuron_queue_copy, queue, buffer, 0, NULL, 0, 8);
	REFUSED(neuron_queue_copy_strided, queue, buffer, 0, buffer, 0, 8, NULL);
	REFUSED(neuron_queue_fill, queue, NULL, 0, 8, 0, 1);
	REFUSED(neuron_buffer_copy, buffer, 0, NULL, 0, 8);
	REFUSED(neuron_buffer_copy, NULL, 0, buffer, 0, 8);
	REFUSED(neuron_buffer_write, buffer, 0, NULL, 8);
	neuron_buffer_destroy(buffer);
	neuron_queue_destroy(queue);
	neuron_device_close(device);
}

static void test_fence_and_events(void **state)
{
	struct neuron_event event = { .size = sizeof(event) };
	int fd;

	(void)state;
	neuron_fence_destroy(NULL);
	REFUSED(neuron_fence_wait, NULL, 0);
	REFUSED(neuron_fence_wait_until, NULL, 0);
	REFUSED(neuron_fence_test, NULL);
	REFUSED(neuron_fence_export_sync_file, NULL, &fd);
	REFUSED(neuron_fence_export_syncobj, NULL, &fd);
	neuron_events_close(NULL);
	REFUSED(neuron_events_get_fd, NULL);
	REFUSED(neuron_events_read, NULL, &event, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_device, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_buffer, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_queue, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_ops, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_fence_and_events, mock_setup, mock_teardown),
	};

	return cmocka_run_group_tests_name("null", tests, NULL, NULL);
}
