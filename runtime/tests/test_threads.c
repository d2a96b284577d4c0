// SPDX-License-Identifier: MIT
/*
 * Many threads on one device, its buffers and queues. Built with
 * -Db_sanitize=thread it shows races inside the library.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mock.h"

#define THREADS 6
#define ROUNDS 60

static struct neuron_device *device;
static struct neuron_queue *queue;
static struct neuron_buffer *shared;

static void check(bool ok, const char *what)
{
	/* cmocka's asserts belong to the main thread. */
	if (!ok) {
		print_error("%s: %s\n", what, neuron_last_error());
		abort();
	}
}

static void round_trip(struct neuron_buffer *buffer, unsigned char value, size_t size)
{
	unsigned char *data = malloc(size), *back = malloc(size);

	memset(data, value, size);
	check(!neuron_buffer_write(buffer, 0, data, size), "write");
	check(!neuron_buffer_read(buffer, 0, back, size), "read");
	check(!memcmp(data, back, size), "compare");
	free(data);
	free(back);
}

static void *worker(void *arg)
{
	unsigned char id = (unsigned char)(uintptr_t)arg;
	struct neuron_buffer *own;
	struct neuron_fence *fence;
	struct neuron_op op;
	void *address, *again;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		check(!neuron_buffer_create(device, NEURON_HBM, 200000, NULL, &own), "create");
		round_trip(own, id, i % 2 ? 100 : 150000);
		op = (struct neuron_op){ .type = NEURON_OP_COPY, .dst = shared,
					 .dst_offset = id * 4096u, .src = own, .size = 64 };
		check(!neuron_queue_submit(queue, &op, 1, NULL, 0, &fence), "submit");
		check(!neuron_queue_copy(queue, shared, id * 4096u + 64, own, 0, 36), "copy");
		check(!neuron_buffer_map(shared, &address), "map");
		check(!neuron_buffer_map(shared, &again), "map");
		check(address == again, "same address");
		check(!neuron_fence_wait(fence, NEURON_WAIT_FOREVER), "wait");
		check(((unsigned char *)address)[id * 4096u + 99] == id, "bytes");
		check(!neuron_buffer_unmap(shared) && !neuron_buffer_unmap(shared), "unmap");
		check(neuron_buffer_write(own, 200000, "x", 1) < 0, "range");
		check(!!strstr(neuron_last_error(), "offset 200000"), "own sentence");
		neuron_fence_destroy(fence);
		neuron_buffer_destroy(own);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t thread[THREADS];
	uintptr_t i;

	(void)state;
	assert_int_equal(neuron_device_open(0, &device), 0);
	assert_int_equal(neuron_queue_create(device, NULL, &queue), 0);
	assert_int_equal(neuron_buffer_create(device, NEURON_HBM, THREADS * 4096, NULL, &shared),
			 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, worker, (void *)i), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	neuron_buffer_destroy(shared);
	neuron_queue_destroy(queue);
	neuron_device_close(device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threads, mock_setup, mock_teardown),
	};

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
