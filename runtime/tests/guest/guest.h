/* SPDX-License-Identifier: MIT */
/*
 * What the tests share that run in a guest, on the real driver.
 */
#ifndef NEURON_TESTS_GUEST_H
#define NEURON_TESTS_GUEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include <neuron/neuron.h>

/* Shows the library's sentence when a call fails that should not. */
#define ok(call) \
	do { \
		int ok_ret = (call); \
		if (ok_ret) \
			fail_msg("%s: %d: %s", #call, ok_ret, neuron_last_error()); \
	} while (0)

static inline struct neuron_buffer *make(struct neuron_device *device,
					 enum neuron_placement placement, uint64_t size)
{
	struct neuron_buffer *buffer = NULL;

	ok(neuron_buffer_create(device, placement, size, NULL, &buffer));
	return buffer;
}

static inline struct neuron_buffer *make_in(struct neuron_device *device, uint32_t stack,
					    uint64_t size)
{
	struct neuron_buffer_options options = { .size = sizeof(options), .stack = stack };
	struct neuron_buffer *buffer = NULL;

	ok(neuron_buffer_create(device, NEURON_HBM, size, &options, &buffer));
	return buffer;
}

/* Bytes that follow from @seed and their place. */
static inline void scramble(void *data, size_t size, uint32_t seed)
{
	unsigned char *p = data;
	uint32_t x = seed * 2654435761u + 1;
	size_t i;

	for (i = 0; i < size; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		p[i] = (unsigned char)x;
	}
}

static inline uint64_t free_bytes(struct neuron_device *device)
{
	struct neuron_memory_info info = { .size = sizeof(info) };

	ok(neuron_device_get_memory(device, NEURON_STACK_ANY, &info));
	return info.free;
}

/* What finished work used is given back soon after its end, not with it. */
static inline void assert_all_free(struct neuron_device *device, uint64_t want)
{
	int tries = 100;

	while (free_bytes(device) != want && tries--)
		usleep(20000);
	assert_int_equal(free_bytes(device), want);
}

#endif
